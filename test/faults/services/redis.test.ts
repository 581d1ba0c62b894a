import { describe, it } from 'vitest';
import { startOwnRedis, type OwnRedis } from '../support/own-redis.ts';
import { ROUNDS } from '../support/rounds.ts';
import { startMirrored, type Mirrored } from './support/mirrored.ts';

interface Strike {
  readonly redis: OwnRedis;
  readonly mirrored: Mirrored;
}

/** What a process says that goes on with an index made again: it may be so soon that no probe sees it unready. */
const INDEX_LOST = '"code":"INDEX_';

/** What happens to the Redis of a process at work. */
const FAULTS: Readonly<Record<string, (strike: Strike) => Promise<void>>> = {
  async flushed({ redis, mirrored }) {
    await redis.admin.flushall();
    await mirrored.child.says(INDEX_LOST);
  },
  async 'set back to what it was some seconds ago'({ redis, mirrored }) {
    const backup = await redis.backUp();
    await mirrored.flows();
    await mirrored.flows();
    await backup.restore();
    await mirrored.child.says(INDEX_LOST);
  },
  async 'killed, and back with its data'({ redis, mirrored }) {
    await redis.crash();
    await mirrored.notReady('redis');
    await redis.comeBack({ withData: true });
  },
  async 'killed, and back with nothing'({ redis, mirrored }) {
    await redis.crash();
    await mirrored.notReady('redis');
    await redis.comeBack({ withData: false });
  },
  async full({ redis, mirrored }) {
    await redis.admin.config('SET', 'maxmemory', '1');
    await mirrored.notReady('redis');
    await redis.admin.config('SET', 'maxmemory', '0');
  },
  async 'held, and going on with what it had been asked'({ redis, mirrored }) {
    redis.service.kill('SIGSTOP');
    await mirrored.notReady('redis');
    redis.service.kill('SIGCONT');
  },
};

describe.each(ROUNDS)('round %i', (seed) => {
  it.concurrent.each(Object.entries(FAULTS))(
    'Redis %s: the topics suffer nothing of it',
    async (_, strike) => {
      await using redis = await startOwnRedis();
      await using mirrored = await startMirrored({ seed, servers: { redisUrl: redis.url } });
      await mirrored.begun();
      {
        using _ = mirrored.churn.live(50);
        await strike({ redis, mirrored });
        await mirrored.ready();
        await mirrored.flows();
      }
      await mirrored.heals();
    },
  );
});
