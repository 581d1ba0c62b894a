import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import { describeCoordination } from '../../unit/state/coordination-contract.ts';
import { describeStateStore } from '../../unit/state/index-store-contract.ts';

const keyPrefix = `contract-${randomUUID()}`;
const open = async () => createRedisStore({ url: inject('stack').redisUrl, keyPrefix });

describeStateStore({ name: 'Redis', open, propertyRuns: 60 });
describeCoordination({ name: 'Redis', open });
