import { networkFault, strikeEach, type Fault } from '../support/faults.ts';
import { startOwnRedis, type OwnRedis } from '../support/own-redis.ts';

/** A process that continues with a rebuilt index says so; it may be so fast that no probe sees it unready. */
const INDEX_LOST = '"code":"INDEX_';

type RedisFault = Fault<{ redis: OwnRedis }>;

const REDIS: readonly RedisFault[] = [
  {
    name: 'Redis was flushed',
    async strike({ child }, { redis }) {
      await redis.admin.flushall();
      await child.says(INDEX_LOST);
    },
  },
  {
    name: 'Redis was restored to a state of seconds ago',
    async strike(tenant, { redis }) {
      const copy = await redis.copyData();
      await tenant.flows();
      await tenant.flows();
      await redis.restartWith(copy);
      await tenant.child.says(INDEX_LOST);
    },
  },
  ...[true, false].map((withData): RedisFault => ({
    name: `Redis was killed and restarted ${withData ? 'with its data' : 'empty'}`,
    isBrief: !withData,
    async strike(tenant, { redis }) {
      redis.service.kill('SIGKILL');
      await tenant.notReady('redis');
      await (withData ? redis.service.restart() : redis.restartWith(null));
    },
  })),
  {
    name: 'Redis was full',
    async strike(tenant, { redis }) {
      await redis.admin.config('SET', 'maxmemory', '1');
      await tenant.notReady('redis');
      await redis.admin.config('SET', 'maxmemory', '0');
    },
  },
  {
    name: 'Redis hung and then served the waiting requests',
    async strike(tenant, { redis }) {
      redis.service.kill('SIGSTOP');
      await tenant.notReady('redis');
      redis.service.kill('SIGCONT');
    },
  },
];

/** A process that knows the schemas goes on, and one that does not takes no tenant over. */
const REGISTRY = (['cut', 'stall', 'slow'] as const).map((trouble): Fault => ({
  name: `a take-over amid a registry network fault: ${trouble}`,
  isBrief: trouble === 'cut',
  async strike(tenant) {
    const older = tenant.child;
    const newer = tenant.start();
    await newer.says('no tenant is assigned to this process');
    tenant.proxies.registry.begin(trouble);
    await tenant.flows(older);
    older.kill('SIGTERM');
    await older.endsWith(0);
    if (trouble !== 'slow') await tenant.notReady('registry');
    else await tenant.ready();
    tenant.proxies.registry.mend();
  },
}));

const NETWORK = (['hub', 'redis'] as const).map((part) => networkFault(part, ({ proxies }) => proxies[part]));

strikeEach<{ redis: OwnRedis }>([...REDIS, ...REGISTRY, ...NETWORK], async (strike) => {
  await using redis = await startOwnRedis();
  await strike({ redis });
});
