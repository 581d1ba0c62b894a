import { afterAll, afterEach, expect, it } from 'vitest';
import type { StateStore } from '../../../src/state/index-store.ts';
import type { RedisServers } from '../../../src/state/redis-client.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import { startOwnRedis } from '../../faults/support/own-redis.ts';
import { SLOTS, startRedisCluster } from '../../faults/support/redis-cluster.ts';
import { portForNode, redisFolder, startRedisNode } from '../../faults/support/redis-node.ts';
import { startSentinelRedis } from '../../faults/support/redis-sentinel.ts';
import { positionAt, set } from '../../unit/state/index-store-contract.ts';
import { redisRights } from '../security/support/documented-rights.ts';

const parts = new AsyncDisposableStack();
afterAll(() => parts.disposeAsync());
const single = parts.use(await startOwnRedis());
const watched = parts.use(await startSentinelRedis());
const divided = parts.use(await startRedisCluster());

const { sentinel } = watched;
const oneOf = (url: string) => url.split(',')[0] ?? '';
const PLACES: readonly (readonly [what: string, servers: RedisServers, says: string, remedy: string])[] = [
  [
    'a Cluster node configured as a single Redis',
    { url: oneOf(divided.url) },
    'a Redis Cluster',
    'redis.cluster',
  ],
  ['a Sentinel configured as a Redis', { url: oneOf(watched.url) }, 'is a Sentinel', 'redis.sentinel.master'],
  [
    'a replica configured as a single Redis',
    { url: watched.replicaUrl },
    'a read-only replica',
    'redis.url to the primary',
  ],
  [
    'a Redis configured as a Cluster',
    { url: single.url, cluster: true },
    'is not a Redis Cluster',
    'redis.cluster',
  ],
  [
    'a Redis configured as a Sentinel',
    { url: single.url, sentinel },
    'is not a Sentinel',
    'redis.url to the Sentinels',
  ],
  [
    'a primary name that Sentinels do not know',
    { url: watched.url, sentinel: { master: 'nobody' } },
    'know no primary of that name',
    'redis.sentinel.master',
  ],
  [
    'Sentinels that do not answer',
    { url: 'redis://127.0.0.1:1', sentinel },
    'no Sentinel answers',
    'redis.url',
  ],
  [
    'a Cluster that does not answer',
    { url: 'redis://127.0.0.1:1', cluster: true },
    'does not answer',
    'redis.url',
  ],
];

const opened: StateStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

function storeAt(servers: RedisServers): StateStore {
  const store = createRedisStore({ ...servers, keyPrefix: 'rollcall:rollcall' });
  opened.push(store);
  return store;
}

it.each(PLACES)('the error for %s names the setting to change', async (_, servers, says, remedy) => {
  const error: unknown = await storeAt(servers)
    .ready()
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: expect.stringContaining(says),
    remedy: expect.stringContaining(remedy),
  });
});

it('a Redis Cluster is refused even if only one of its primaries may evict keys', async () => {
  const { admin } = await divided.primaryOf(16_000);
  await storeAt({ url: divided.url, cluster: true }).ready();
  await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  await expect(storeAt({ url: divided.url, cluster: true }).ready()).rejects.toMatchObject({
    message: expect.stringContaining('allkeys-lru'),
  });
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
});

it('the documented Redis rights are enough on a Cluster, even while a slot moves', async () => {
  for (const { admin } of divided.nodes)
    await admin.acl('SETUSER', 'rollcall', 'reset', 'on', '>p', ...redisRights());
  const { url } = divided;
  const { coordination, ...store } = storeAt({
    url,
    cluster: true,
    username: 'rollcall',
    password: () => 'p',
  });
  await store.ready();
  const index = store.tenant('north').collection('users');
  await index.apply(null, positionAt(1), [set('a')]);
  const ids = ['1', '2', '3', '4', '5', '6'];
  const answer = { state: 'done', owner: 'me', result: 1 } as const;
  for (const id of ids) await coordination.answer('north', id, answer);
  await divided.move(await divided.slotOf('{rollcall:rollcall:north}:owner'), async () => {
    for (const id of ids) expect(await coordination.answerTo('north', id)).toEqual(answer);
  });
  expect(await index.lookup('rows', ['a', 'b'], 'tx-1')).toEqual([expect.any(Buffer), null]);
});

it('a Redis Cluster whose nodes name no address is reported as unreachable', async () => {
  const settings = { port: String(await portForNode()), 'cluster-enabled': 'yes' };
  const { admin, port } = await startRedisNode(parts, await redisFolder(parts), { settings });
  await admin.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: SLOTS }, (_, slot) => slot));
  await expect(storeAt({ url: `redis://127.0.0.1:${port}`, cluster: true }).ready()).rejects.toMatchObject({
    code: 'INDEX_UNREACHABLE',
  });
});

it('Rollcall logs in to Sentinels with their own user, and an error names a wrong password', async () => {
  const rights = ['-@all', '+auth', '+sentinel|get-master-addr-by-name'];
  for (const [, port] of watched.url.matchAll(/:(\d+)/g)) {
    const admin = watched.admin.duplicate({ port: Number(port) });
    await admin.acl('SETUSER', 'finder', 'reset', 'on', '>right', ...rights);
    await admin.acl('SETUSER', 'default', '-@all', '+auth', '+sentinel|get-master-addr-by-name', '+ping');
    admin.disconnect();
  }
  const withPassword = (password: string) =>
    storeAt({
      url: watched.url,
      sentinel: { ...sentinel, username: 'finder', password: () => password },
    });
  await withPassword('right').ready();
  await expect(withPassword('wrong').ready()).rejects.toMatchObject({
    code: 'INDEX_REFUSED',
    message: expect.stringContaining('the Sentinels refuse the user name or password'),
    remedy: expect.stringContaining('redis.sentinel.password'),
  });
});
