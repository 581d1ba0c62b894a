import { describe, it } from 'vitest';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { CATCH_UP_POINTS } from '../support/points.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, expectHealed } from '../support/survive.ts';

describe.each(ROUNDS)('kill -9 while catching up, round %i', (round) => {
  it.each(CATCH_UP_POINTS)('%s: the next start brings index and topics up to date', async (point) => {
    await using tenant = await churnedTenant(round);
    // An index behind the log by one transaction.
    await tenant.dieAt('committed, index not written', 3 * round);
    await tenant.dieAt(point, 1);
    await expectHealed(tenant);
    if (!IS_FULL) return;
    // No index at all.
    tenant.churn.step(20);
    await flushRedis(tenant.topicPrefix);
    await tenant.dieAt(point, point === 'during the replay' ? 1 + round : 1);
    await expectHealed(tenant);
  });
});
