import { describe, expect, it } from 'vitest';
import { startRollcall, type RollcallProcess } from '../../integration/pipeline/rollcall-process.ts';
import { readTopics } from '../../integration/support/topic-reader.ts';
import { allProblems } from '../support/checker.ts';
import { LOSSES } from '../support/lose-topic.ts';
import { IS_FULL, ROUNDS } from '../support/rounds.ts';
import { CHURNED_OPTIONS } from '../support/tenants.ts';
import { churnedTenant, endsSoon, expectHealsBy, type ChurnedTenant } from '../support/survive.ts';

/** One of each kind: rows, what follows from rows, what cannot be read, how far all are. */
const TOPICS = ['users', 'absence-versions', 'absences', 'absence-changes', 'rejects', 'progress'];

/** Each topic loses its records in each way at length; each topic and each way once otherwise. */
const LOST: readonly (readonly [topic: string, how: string])[] = IS_FULL
  ? TOPICS.flatMap((topic) => Object.keys(LOSSES).map((how) => [topic, how] as const))
  : TOPICS.map((topic, at) => [topic, Object.keys(LOSSES)[at % 3] ?? ''] as const);

/** Not of the collections that are compared: a row that cannot be read, so that the rejects have something to lose. */
const UNREADABLE = { sourcedId: 42 };

async function lose(tenant: ChurnedTenant, topic: string, how: string): Promise<void> {
  await LOSSES[how]?.(`${tenant.topicPrefix}.north.${topic}`);
}

async function expectRejectsAgain(tenant: ChurnedTenant): Promise<void> {
  const rejects = await readTopics([`${tenant.topicPrefix}.north.rejects`]);
  expect(rejects.filter(({ value }) => value?.['collection'] === 'orgs')).toHaveLength(1);
}

async function withRejects(seed: number): Promise<ChurnedTenant> {
  const collections = [...CHURNED_OPTIONS.collections, 'orgs'];
  const tenant = await churnedTenant(seed, { collections });
  tenant.hub.district.put('orgs', UNREADABLE, { id: 'odd' });
  return tenant;
}

async function stop(child: RollcallProcess): Promise<void> {
  child.kill('SIGTERM');
  await endsSoon(child, 0);
}

describe.each(ROUNDS)('a topic that lost its records, round %i', (round) => {
  it.each(LOST)('%s %s under a living process: noticed, and filled again', async (topic, how) => {
    await using tenant = await withRejects(round);
    await using child = await startRollcall(['run'], tenant.configText);
    await expectHealsBy(child, tenant);
    tenant.churn.step(20);
    await expectHealsBy(child, tenant);
    await lose(tenant, topic, how);
    await expectHealsBy(child, tenant, { lost: [topic] });
    tenant.churn.step(20);
    await expectHealsBy(child, tenant, { lost: [topic] });
    await stop(child);
    expect(await allProblems(tenant, { lost: [topic] })).toEqual([]);
    await expectRejectsAgain(tenant);
  });
});
