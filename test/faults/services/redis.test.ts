import { describe, it } from 'vitest';
import { startOwnRedis, type OwnRedis } from '../support/own-redis.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { startMirrored, type Mirrored } from './support/mirrored.ts';

interface Strike {
  readonly redis: OwnRedis;
  readonly mirrored: Mirrored;
}

/** The message of a process that continues with a rebuilt index; it may be so fast that no probe sees it unready. */
const INDEX_LOST = '"code":"INDEX_';

/** What happens to the Redis of a running process. */
const FAULTS: Readonly<Record<string, (strike: Strike) => Promise<void>>> = {
  async flushed({ redis, mirrored }) {
    await redis.admin.flushall();
    await mirrored.child.says(INDEX_LOST);
  },
  async 'set back to its state of some seconds ago'({ redis, mirrored }) {
    const backup = await redis.backUp();
    await mirrored.flows();
    await mirrored.flows();
    await backup.restore();
    await mirrored.child.says(INDEX_LOST);
  },
  async 'killed and restarted with its data'({ redis, mirrored }) {
    await redis.crash();
    await mirrored.notReady('redis');
    await redis.comeBack({ withData: true });
  },
  async 'killed and restarted empty'({ redis, mirrored }) {
    await redis.crash();
    await mirrored.notReady('redis');
    await redis.comeBack({ withData: false });
  },
  async full({ redis, mirrored }) {
    await redis.admin.config('SET', 'maxmemory', '1');
    await mirrored.notReady('redis');
    await redis.admin.config('SET', 'maxmemory', '0');
  },
  async 'stopped and resumed with the requests that it had received'({ redis, mirrored }) {
    redis.service.kill('SIGSTOP');
    await mirrored.notReady('redis');
    redis.service.kill('SIGCONT');
  },
};

describe.each(ROUNDS)('round %i', (seed) => {
  it.concurrent.each(Object.entries(FAULTS))(
    'Redis %s: the topics equal the hub afterwards',
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
