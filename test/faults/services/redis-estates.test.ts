import { afterAll, describe } from 'vitest';
import { makeCertificates } from '../../integration/security/support/certificates.ts';
import { IS_FULL } from '../../run/rounds.ts';
import { strikeEach, type Fault } from '../support/faults.ts';
import { startRedisCluster, type RedisCluster } from '../support/redis-cluster.ts';
import { redisFolder } from '../support/redis-node.ts';
import { startSentinelRedis, type SentinelRedis } from '../support/redis-sentinel.ts';
import type { TroubledTenant } from '../support/tenant.ts';

type SentinelFault = Fault<{ redis: SentinelRedis }>;

const SENTINEL: readonly SentinelFault[] = [
  {
    name: 'the primary of Sentinels was killed and came back',
    isBrief: true,
    async strike(tenant, { redis }) {
      const old = await redis.primary();
      old.service.kill('SIGKILL');
      await redis.failedOver(old);
      await tenant.ready();
      await tenant.flows();
      await old.service.restart();
    },
  },
  {
    name: 'the primary of Sentinels hung and went on',
    async strike(tenant, { redis }) {
      const old = await redis.primary();
      old.service.kill('SIGSTOP');
      await redis.failedOver(old);
      old.service.kill('SIGCONT');
    },
  },
];

function slotOf(tenant: TroubledTenant, redis: RedisCluster): Promise<number> {
  return redis.slotOf(`{${tenant.topicPrefix}:${tenant.topicPrefix}:north}:owner`);
}

type ClusterFault = Fault<{ redis: RedisCluster }>;

const CLUSTER: readonly ClusterFault[] = [
  {
    name: 'the Cluster slot of the tenant moved and returned',
    isBrief: true,
    async strike(tenant, { redis }) {
      const slot = await slotOf(tenant, redis);
      for (let times = 0; times < 2; times += 1) {
        await redis.move(slot, () => tenant.child.says('is moving keys'));
        await tenant.ready();
        await tenant.flows();
      }
    },
  },
  {
    name: 'the Cluster node of the tenant was killed',
    async strike(tenant, { redis }) {
      const slot = await slotOf(tenant, redis);
      const old = await redis.primaryOf(slot);
      old.service.kill('SIGKILL');
      await tenant.notReady('redis');
      await tenant.ready();
      await tenant.flows();
      await old.service.restart();
    },
  },
];

const parts = new AsyncDisposableStack();
afterAll(() => parts.disposeAsync());
const WITHOUT_TLS = { way: 'without TLS', certificates: undefined };
const OVER_TLS = async () => ({
  way: 'over TLS with client certificates',
  certificates: await makeCertificates(await redisFolder(parts)),
});

describe.each(IS_FULL ? [WITHOUT_TLS, await OVER_TLS()] : [WITHOUT_TLS])('$way', ({ certificates }) => {
  describe('Sentinel', () => {
    strikeEach<{ redis: SentinelRedis }>(SENTINEL, async (strike) => {
      await using redis = await startSentinelRedis(certificates);
      await strike({ redis });
    });
  });

  describe('Cluster', () => {
    strikeEach<{ redis: RedisCluster }>(CLUSTER, async (strike) => {
      await using redis = await startRedisCluster({ replicas: IS_FULL ? 1 : 0, certificates });
      await strike({ redis });
    });
  });
});
