import { describe, expect, it } from 'vitest';
import { waitingKeys } from '../../integration/support/decide-deletes.ts';
import { idOf } from '../../integration/support/rows.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, expectHealed, usersLeave, WATCHFUL } from '../support/survive.ts';

describe.each(ROUNDS)('kill -9 while missing rows are settled, round %i', (round) => {
  it.each(['misses committed, memory not written', 'missing rows written'] as const)(
    '%s: withheld deletions stay withheld, and none is published',
    async (point) => {
      await using tenant = await churnedTenant(round, WATCHFUL);
      await expectHealed(tenant);
      const rows = usersLeave(tenant, 5 + round);
      await tenant.dieAt(point, 1, { atRest: true });
      {
        await using mirror = await tenant.next();
        const ends = await mirror.ends();
        // If the list was lost with the process, this sync lists what it misses.
        const users = (await mirror.full()).get('users');
        expect(users).toMatchObject({ kind: 'complete', withheld: rows.length });
        expect(await mirror.since(ends)).toEqual([]);
        expect(await waitingKeys(mirror, 'users')).toHaveLength(rows.length);
        expect((await mirror.view('users')).size).toBe(tenant.hub.district.ids('users').length + rows.length);
      }
      for (const row of rows) tenant.hub.district.put('users', row);
      tenant.history.note();
      await expectHealed(tenant);
    },
  );

  it.each([
    'misses committed, memory not written',
    'missing rows written',
    'removals committed, memory not written',
  ] as const)('%s: each removal is published once and counts towards the limit of the day', async (point) => {
    await using tenant = await churnedTenant(round, WATCHFUL);
    await expectHealed(tenant);
    const rows = usersLeave(tenant, 2);
    await tenant.dieAt(point, 1, { atRest: true });
    await expectHealed(tenant);
    await using mirror = await tenant.next();
    const published = (await mirror.records('users')).filter(({ value }) => value === null);
    expect(published.map(({ key }) => key).toSorted()).toEqual(rows.map(idOf).toSorted());
    // Together with the first two these exceed the limit of four a day.
    usersLeave(tenant, 3);
    expect((await mirror.full()).get('users')).toMatchObject({ withheld: 3 });
  });
});
