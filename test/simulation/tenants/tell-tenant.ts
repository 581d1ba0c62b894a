import { toldBy, type Told } from '../run/told.ts';
import { problemsOfRows } from './row-problems.ts';
import { problemsAfterDelta, problemsOfEnd, problemsOfWithheld } from './state-problems.ts';
import { tellTenantHistory, type TenantHistoryOptions } from './tenant-history.ts';
import { problemsOfQuiet, problemsOfWorld } from './world-problems.ts';

/*
 * Which invariant is checked where (docs/invariants.md):
 * 1 state-problems (the index), world-problems (progress) · 2 state-problems, after a delta · 3 row-problems (removals,
 * the guard's sums, emptied values), state-problems (withheld) · 4 row-problems · 5 state-problems · 6 the histories of
 * chains · 7 world-problems · 8 row-problems (nothing twice), world-problems (at rest) · 9 told-events · 10 told-events,
 * world-problems, and the limits of virtual time within which a history must end.
 */

export function tellTenant(options: TenantHistoryOptions): Promise<Told> {
  return toldBy((note) =>
    tellTenantHistory(options, {
      afterDelta: (world) => note(problemsAfterDelta(world), world.happened),
      withheld: async (world) => note(await problemsOfWithheld(world), world.happened),
      afterFull: async (world) =>
        note([...(await problemsOfEnd(world)), ...problemsOfRows(world)], world.happened),
      afterQuiet: (world, records) => note(problemsOfQuiet(world, records), world.happened),
      atEnd: (world) => note(problemsOfWorld(world), world.happened),
      whatever: (world) => note(world.misbehaviour, world.happened),
    }),
  );
}
