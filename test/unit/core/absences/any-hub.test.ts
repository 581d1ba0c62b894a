import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { VersionRow } from '../../../../src/core/absences/absence-entry.ts';
import { AbsenceIndex } from './support/absence-index.ts';
import { expectLivesInOrder } from './support/events.ts';

const numRuns = Number(process.env['RUNS'] ?? 400);
const id = fc.constantFrom<string>('A', 'B', 'C', 'D', 'Ä', '3f2504e0-4f89-41d3-9a0c-0305e82c3301');
const anyRow: fc.Arbitrary<VersionRow> = fc.record({
  id,
  replaces: fc.option(id),
  replacedBy: fc.option(id),
  isDeleted: fc.boolean(),
  student: fc.constantFrom(0, 0, 0xffffffff, null),
});
const page = fc.uniqueArray(anyRow, { selector: (row) => row.id, maxLength: 4 });
const ids = fc.uniqueArray(id, { maxLength: 4 });
const rows = fc.record({ rows: page, isFinal: fc.boolean() });
const vanished = fc.record({ ids, isFinal: fc.boolean() });
const action = fc.oneof(
  { weight: 5, arbitrary: rows },
  { weight: 2, arbitrary: vanished },
  { weight: 1, arbitrary: fc.constant('forget' as const) },
);

test('any hub: what is shown exists and is not deleted, steps have no gap, and no life of a key has two students', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 14 }), (actions) => {
      const index = new AbsenceIndex();
      const hub = new Map<string, VersionRow>();
      for (const each of actions) {
        if (each === 'forget') index.forgetDeleted();
        else if ('rows' in each) {
          for (const row of each.rows) hub.set(row.id, row);
          index[each.isFinal ? 'final' : 'page'](each.rows);
        } else {
          const gone = each.ids.filter((one) => hub.delete(one));
          index[each.isFinal ? 'final' : 'page']([], gone);
        }
        index.check();
        for (const shown of index.shown.values())
          expect(hub.get(shown)?.isDeleted === true && !index.foreign.has(shown)).toBe(false);
      }
      index.final();
      index.check();
      expectLivesInOrder(index);
      expect(new Set(index.shown.values()).size).toBe(index.shown.size);
      for (const [key, shown] of index.shown) {
        const row = hub.get(shown);
        expect(row).toMatchObject({ isDeleted: false });
        const { student = null } = index.entries.get(key) ?? {};
        expect(row?.student === null || row?.student === student).toBe(true);
      }
      const students = new Map<string, number>();
      for (const { absenceId, life, student } of index.studentsOfEvents) {
        if (student === null) continue;
        const name = `${absenceId} ${life}`;
        expect(students.get(name) ?? student).toBe(student);
        students.set(name, student);
      }
      // A link that was refused once may be free now, so only the second repetition gives no event.
      index.page([...hub.values()]);
      index.final();
      const { length } = index.events;
      index.page([...hub.values()]);
      index.final();
      expect(index.events.length).toBe(length);
    }),
    { numRuns },
  );
});

test('any hub: the same batch again at once gives no event', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(page, fc.boolean()), { maxLength: 8 }), (pages) => {
      const index = new AbsenceIndex();
      for (const [rows, isFinal] of pages) {
        const name = isFinal ? 'final' : 'page';
        // Where nothing of an absence was left, its versions are new when they come again.
        if ([...index[name](rows).entries.values()].includes(null)) continue;
        const { length } = index.events;
        index[name](rows);
        expect(index.events.length).toBe(length);
      }
    }),
    { numRuns },
  );
});

test('any hub: an absence whose records are held back is settled later, without a lost or doubled step', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(page, fc.uniqueArray(id)), { maxLength: 8 }), (pages) => {
      const index = new AbsenceIndex();
      for (const [rows, held] of pages) {
        const { steps } = index.page(rows, [], new Set(held));
        expect(steps.filter(({ versionId }) => held.includes(versionId))).toEqual([]);
        index.check();
      }
      index.final();
      expectLivesInOrder(index);
      expect([...index.entries.values()].filter(({ isOpen }) => isOpen)).toEqual([]);
    }),
    { numRuns },
  );
});
