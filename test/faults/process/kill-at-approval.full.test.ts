import { describe, expect, it } from 'vitest';
import { approve, waitingKeys } from '../../integration/support/decide-deletes.ts';
import { idOf } from '../../integration/support/rows.ts';
import { allProblems } from '../support/checker.ts';
import type { KillPoint } from '../support/points.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, expectHealed, usersLeave, WATCHFUL } from '../support/survive.ts';

const POINTS: readonly KillPoint[] = [
  'decided, nothing sent',
  'all sent, commit not asked for',
  'commit asked for, not answered',
  'committed, index not written',
  'removals committed, memory not written',
];

describe.each(ROUNDS)('kill -9 while approved deletions are published, round %i', (round) => {
  it.each(POINTS)('%s: each listed deletion is published once, and no other', async (point) => {
    await using tenant = await churnedTenant(round, WATCHFUL);
    await expectHealed(tenant);
    const listed = usersLeave(tenant, 6 + round).map(idOf);
    {
      await using mirror = await tenant.next();
      await mirror.full();
      expect(await waitingKeys(mirror, 'users')).toEqual(listed.toSorted());
    }
    const [unlisted] = usersLeave(tenant, 1).map(idOf);
    await tenant.dieAt(point, 1, { atRest: true, decision: 'approve' });
    await using mirror = await tenant.next();
    const published = async () =>
      (await mirror.records('users')).flatMap(({ key, value }) => (value === null ? [key] : [])).toSorted();
    const before = await published();
    expect([[], listed.toSorted()]).toContainEqual(before.filter((key) => key !== unlisted));
    // The command got no answer and is given again; rows that are gone already do no harm.
    await approve(mirror);
    await mirror.full();
    // A list that was lost with the process is what this full sync missed.
    if ((await waitingKeys(mirror, 'users')).length > 0) await approve(mirror);
    expect((await published()).filter((key) => key !== unlisted)).toEqual(listed.toSorted());
    expect(await allProblems(tenant)).toEqual([]);
  });
});
