import { expect, it } from 'vitest';
import { startOwnRedis } from './own-redis.ts';

it('restarts after a crash with the data that it held, or with none', async () => {
  await using redis = await startOwnRedis();
  await redis.admin.set('key', 'kept');
  await redis.crash();
  await redis.comeBack({ withData: true });
  expect(await redis.admin.get('key')).toBe('kept');
  await redis.crash();
  await redis.comeBack({ withData: false });
  expect(await redis.admin.get('key')).toBeNull();
});

it('a backup taken while Redis rewrites its files restores the data of that moment', async () => {
  await using redis = await startOwnRedis();
  await redis.admin.set('key', 'older');
  await redis.admin.bgrewriteaof();
  const backup = await redis.backUp();
  await redis.admin.set('key', 'newer');
  await backup.restore();
  expect(await redis.admin.get('key')).toBe('older');
});
