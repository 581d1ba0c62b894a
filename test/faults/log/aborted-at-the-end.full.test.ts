import { describe, expect, inject, it } from 'vitest';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { startRollcall } from '../../integration/pipeline/rollcall-process.ts';
import { allProblems } from '../support/checker.ts';
import { appendAborted } from '../support/compaction.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, endsSoon, expectHealed, expectHealsBy } from '../support/survive.ts';
import { CHURNED_OPTIONS } from '../support/tenants.ts';

describe.each(ROUNDS)('partitions that end in an aborted transaction, round %i', (round) => {
  it('are read to their end: with an index, with one that is a transaction behind, without one, and by a running process', async () => {
    await using tenant = await churnedTenant(round);
    const suffixes = [...CHURNED_OPTIONS.collections, 'rejects', 'progress'];
    const topics = suffixes.map((suffix) => `${tenant.topicPrefix}.north.${suffix}`);
    const abort = () => appendAborted(inject('stack').kafkaBrokers, topics);
    await expectHealed(tenant);
    await abort();
    await expectHealed(tenant);
    await tenant.dieAt('committed, index not written', round);
    await abort();
    await expectHealed(tenant);
    await flushRedis(tenant.topicPrefix);
    await abort();
    await expectHealed(tenant);
    await using child = await startRollcall(['run'], tenant.configText);
    await expectHealsBy(child, tenant);
    await abort();
    tenant.churn.step(20);
    await expectHealsBy(child, tenant);
    child.kill('SIGTERM');
    await endsSoon(child, 0);
    expect(await allProblems(tenant)).toEqual([]);
  });
});
