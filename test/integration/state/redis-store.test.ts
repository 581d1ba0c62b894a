import { randomUUID } from 'node:crypto';
import { afterAll, inject } from 'vitest';
import type { RedisServers } from '../../../src/state/redis-client.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import { startRedisCluster } from '../../faults/support/redis-cluster.ts';
import { startSentinelRedis } from '../../faults/support/redis-sentinel.ts';
import { describeCoordination } from '../../unit/state/coordination-contract.ts';
import { describeStateStore } from '../../unit/state/index-store-contract.ts';

const parts = new AsyncDisposableStack();
afterAll(() => parts.disposeAsync());
const watched = parts.use(await startSentinelRedis());
const divided = parts.use(await startRedisCluster());

const SERVERS: readonly (readonly [name: string, servers: RedisServers, propertyRuns: number])[] = [
  ['Redis', { url: inject('stack').redisUrl }, 60],
  ['Redis by Sentinel', { url: watched.url, sentinel: watched.sentinel }, 10],
  ['Redis Cluster', { url: divided.url, cluster: true }, 30],
];
for (const [name, servers, propertyRuns] of SERVERS) {
  const keyPrefix = `contract-${randomUUID()}`;
  const open = async () => createRedisStore({ ...servers, keyPrefix });
  describeStateStore({ name, open, propertyRuns });
  describeCoordination({ name, open });
}
