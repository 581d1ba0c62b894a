import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { VersionRow } from '../../../../src/core/absences/absence-entry.ts';
import { AbsenceIndex } from './support/absence-index.ts';
import { expectLivesInOrder } from './support/events.ts';
import { hubAction, ObedientHub, scan, versionIds } from './support/obedient-hub.ts';

const numRuns = Number(process.env['RUNS'] ?? 400);
const size = fc.integer({ min: 1, max: 6 });

const history = fc.record({
  ids: versionIds,
  before: fc.array(hubAction, { maxLength: 12 }),
  syncs: fc.array(
    fc.record({
      size,
      during: fc.array(fc.array(hubAction, { maxLength: 2 }), { maxLength: 8 }),
      between: fc.array(hubAction, { maxLength: 4 }),
    }),
    { maxLength: 4 },
  ),
});

type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never;

/** Plays a history, and reads the hub twice at its end: the same rows again give no event. */
function play({ ids, before, syncs }: History, asks: boolean): { hub: ObedientHub; index: AbsenceIndex } {
  const hub = new ObedientHub(ids);
  const index = new AbsenceIndex();
  for (const action of before) hub.act(action);
  for (const sync of syncs) {
    scan(hub, index, { ...sync, asks });
    for (const action of sync.between) hub.act(action);
  }
  scan(hub, index, { size: 5, asks });
  const { length } = index.events;
  scan(hub, index, { size: 3, asks });
  expect(index.events.length).toBe(length);
  return { hub, index };
}

describe('a hub that keeps the spec, read page by page while it changes', () => {
  test('if it is asked for awaited ids, every version is published once, in order, under its oldest id', () => {
    fc.assert(
      fc.property(history, (given) => {
        const { hub, index } = play(given, true);
        expect([...index.shown.values()].sort()).toEqual(hub.current);
        expectLivesInOrder(index);
        expect(index.rejected + index.oddities + index.bodies.size).toBe(0);
        expect(index.lacking).toEqual([]);
        expect(index.entries.size).toBe(hub.absences.length);
        for (const chain of hub.absences) {
          const events = index.events.filter(({ versionId }) => chain.includes(versionId));
          expect(new Set(events.map(({ absenceId }) => absenceId))).toEqual(new Set([chain[0]]));
          const news = events.filter(({ operation }) => operation !== 'DELETED');
          expect(news.map(({ versionId }) => versionId)).toEqual(chain);
          expect(events.filter(({ cause }) => cause !== 'HUB')).toEqual([]);
        }
      }),
      { numRuns },
    );
  });

  test('if it is not asked, what is shown is right nevertheless, steps have no gap, and the same rows again give no event', () => {
    fc.assert(
      fc.property(history, (given) => {
        const { hub, index } = play(given, false);
        expect([...index.shown.values()].sort()).toEqual(hub.current);
        expectLivesInOrder(index);
      }),
      { numRuns },
    );
  });
});

test('a hub at rest gives the same current versions in any order, in any pages and syncs, whichever link it fills', () => {
  fc.assert(
    fc.property(
      versionIds,
      fc.array(hubAction, { maxLength: 18 }),
      fc.infiniteStream(fc.nat(2)),
      fc.infiniteStream(fc.nat()),
      fc.constantFrom('both', 'replaces', 'replacedBy'),
      (ids, actions, cuts, picks, fills) => {
        const hub = new ObedientHub(ids);
        for (const action of actions) hub.act(action);
        const rest = [...hub.versions.keys()];
        const index = new AbsenceIndex();
        while (rest.length > 0) {
          const page: VersionRow[] = [];
          do {
            const [id = ''] = rest.splice(picks.next().value % rest.length, 1);
            const { replaces, replacedBy, ...more } = hub.row(id);
            page.push({
              ...more,
              replaces: fills === 'replacedBy' ? null : replaces,
              replacedBy: fills === 'replaces' ? null : replacedBy,
            });
          } while (rest.length > 0 && cuts.next().value !== 0);
          if (cuts.next().value === 0) index.final(page);
          else index.page(page);
          index.check();
        }
        index.final();
        expect([...index.shown.values()].sort()).toEqual(hub.current);
        expectLivesInOrder(index);
      },
    ),
    { numRuns },
  );
});

test('a hub that purges whole absences, or their oldest versions, causes no false event', () => {
  const action = fc.oneof(
    { weight: 4, arbitrary: hubAction },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('purge' as const), at: fc.nat(20), isWhole: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const) }) },
  );
  const rounds = fc.array(fc.tuple(fc.array(action, { maxLength: 6 }), size, fc.boolean()), { maxLength: 6 });
  fc.assert(
    fc.property(versionIds, rounds, (ids, all) => {
      const hub = new ObedientHub(ids);
      const index = new AbsenceIndex();
      for (const [actions, pageSize, splits] of all) {
        for (const each of actions) {
          if (each.kind === 'purge') hub.purge(each.at, each.isWhole);
          else if (each.kind === 'forget') index.forgetDeleted();
          else hub.act(each);
        }
        scan(hub, index, { size: pageSize, asks: true });
        const gone = [...index.entries.values()].flatMap(({ members }) =>
          members.filter(({ id, state }) => state === 'present' && !hub.versions.has(id)).map(({ id }) => id),
        );
        if (splits) for (const id of gone) index.page([], [id]);
        index.final([], splits ? [] : gone);
        index.check();
        expect([...index.shown.values()].sort()).toEqual(hub.current);
      }
      expectLivesInOrder(index);
      expect(index.oddities).toBe(0);
      expect(
        index.events.filter(({ operation, cause }) => operation !== 'DELETED' && cause === 'VANISHED'),
      ).toEqual([]);
      expect(index.lacking.filter(({ cause }) => cause !== 'VANISHED')).toEqual([]);
      for (const { members } of index.entries.values())
        expect(members.some(({ id }) => hub.versions.has(id))).toBe(true);
    }),
    { numRuns },
  );
});
