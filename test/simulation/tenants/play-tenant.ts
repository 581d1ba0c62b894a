import { problemsOfChains } from '../chains/chain-problems.ts';
import { resultOf, type Played } from '../run/played.ts';
import { notLoaded, problemsOfOthersNamed, problemsOfUnnamed } from './afterschool-problems.ts';
import { problemsOfEndedHolds, problemsOfRows } from './row-problems.ts';
import { problemsAfterDelta, problemsOfEnd, problemsOfWithheld } from './state-problems.ts';
import { playTenantHistory, type TenantHistoryOptions } from './tenant-history.ts';
import type { TenantWorld } from './tenant-world.ts';
import { problemsOfQuiet, problemsOfWorld } from './world-problems.ts';

/*
 * Which invariant is checked where (docs/invariants.md):
 * 1 state-problems (the index), world-problems (progress) · 2 state-problems, after an incremental sync · 3 row-problems (removals,
 * limits of the guard, emptied values), state-problems (withheld), afterschool-problems · 4 row-problems · 5 state-problems
 * · 6 the histories of chains · 7 world-problems · 8 row-problems (nothing twice), world-problems (at rest) · 9 event-checks
 * · 10 event-checks, world-problems, and the limits of virtual time within which a history must end.
 */

export function playTenant(options: TenantHistoryOptions): Promise<Played> {
  return resultOf((note) =>
    playTenantHistory(options, {
      afterStart: (world, came) => note(problemsOfStart(world, came), world.happened),
      afterDelta: (world) => note(problemsAfterDelta(world), world.happened),
      withheld: async (world) => note(await problemsOfWithheld(world), world.happened),
      afterFull: async (world) =>
        note([...(await problemsOfEnd(world)), ...problemsOfRows(world)], world.happened),
      afterQuiet: (world) => note(problemsOfQuiet(world), world.happened),
      othersNamed: async (world, transactions) =>
        note(
          [
            ...problemsOfOthersNamed(world, transactions),
            ...(await problemsOfWithheld(world)),
            ...problemsOfRows(world),
          ],
          world.happened,
        ),
      atEnd: (world) =>
        note(
          [
            ...problemsOfUnnamed(world),
            ...problemsOfEndedHolds(world),
            ...problemsOfWorld(world),
            ...(world.absences === null ? [] : problemsOfChains(world.absences)),
          ],
          world.happened,
        ),
      whatever: (world) => note(world.misbehaviour, world.happened),
    }),
  );
}

/** Where the identity of the tenant is in doubt, a person decides first. */
function problemsOfStart(world: TenantWorld, came: readonly string[]): string[] {
  if (world.happened.has('foreign data refused')) return [];
  return notLoaded(world, came).map((key) => `not loaded at the start: ${key}`);
}
