import { describe, expect, it } from 'vitest';
import { startRollcall } from '../../integration/pipeline/rollcall-process.ts';
import { allProblems, readEvidence, type Evidence } from '../support/checker.ts';
import type { KillPoint } from '../support/points.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, endsSoon, expectHealsBy } from '../support/survive.ts';

const POINTS: readonly KillPoint[] = IS_FULL
  ? [
      'a page is fetched, nothing decided',
      'data sent, progress not',
      'all sent, commit not asked for',
      'commit asked for, not answered',
      'committed, index not written',
      'owner sent, not committed',
      'ends marked, not aborted',
      'during the replay',
      'replayed, not finished',
      'misses committed, memory not written',
    ]
  : ['all sent, commit not asked for', 'committed, index not written', 'during the replay'];

/** How many records each topic has; of `progress` only those about owners, as the newer process goes on writing the others. */
function sizes(evidence: Evidence): Record<string, number> {
  const owners = (evidence.get('progress') ?? []).filter(({ key }) => key === '@owner').length;
  const entries = [...evidence].map(([name, records]) => [name, records.length] as const);
  return { ...Object.fromEntries(entries), progress: owners };
}

/** A step that happens once per start, or once per collection, has no later time to stop at. */
function nthOf(point: KillPoint, round: number): number {
  if (point === 'replayed, not finished') return round;
  const isOfTheStart = point.startsWith('owner') || point.startsWith('ends') || point.startsWith('during');
  return isOfTheStart ? 1 : round * 3;
}

describe.each(ROUNDS)('a process woken after it was superseded, round %i', (round) => {
  it.each(POINTS)('%s: it commits nothing more and exits with 1', async (point) => {
    await using tenant = await churnedTenant(round);
    await using older = await tenant.stoppedAt(point, nthOf(point, round));
    await using newer = await startRollcall(['run'], tenant.configText);
    tenant.churn.step(20);
    await expectHealsBy(newer, tenant);
    const before = sizes(await readEvidence(tenant));
    older.kill('SIGCONT');
    await endsSoon(older, 1);
    expect(older.output()).toContain('OWNERSHIP_LOST');
    expect(sizes(await readEvidence(tenant))).toEqual(before);
    tenant.churn.step(20);
    await expectHealsBy(newer, tenant);
    newer.kill('SIGTERM');
    await endsSoon(newer, 0);
    expect(await allProblems(tenant)).toEqual([]);
  });
});
