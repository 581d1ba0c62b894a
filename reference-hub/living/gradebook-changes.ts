import type { District } from '../district/district.ts';
import { membershipOf } from '../district/district.ts';
import { nextId, patchRow, putRow } from '../district/district-operations.ts';
import { lineItemContent, resultContent, resultId } from '../district/generate/gradebook.ts';
import { contentOf, findRow, peekAt, referencedId } from '../district/row-store.ts';
import { osloDate } from '../district/school-calendar.ts';
import type { Random } from '../random.ts';
import type { Change } from './change.ts';
import { anyRow } from './change.ts';

export const GRADEBOOK_CHANGES: readonly Change[] = [
  { name: 'result arrived', weight: 12, make: addResult },
  { name: 'result corrected', weight: 5, make: correctResult },
  { name: 'line item added', weight: 2, make: addLineItem },
  { name: 'line item moved', weight: 1, make: moveLineItem },
];

/** Adds a result for a line item for which some students of the class have none yet. */
function addResult(district: District, random: Random): boolean {
  const { results } = district.listings;
  const lineItems = district.listings['line-items'];
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const item = anyRow(lineItems, { random });
    const classId = item === undefined ? undefined : peekAt(lineItems.store, item, 'class');
    if (item === undefined || classId === undefined) return false;
    const members = [...(membershipOf(district).studentsOfClass.get(classId)?.values() ?? [])];
    const open = members.filter(
      (student) => findRow(results, resultId(district.plan, item.id, student)) === undefined,
    );
    if (open.length === 0) continue;
    const student = random.pick(open);
    const row = resultContent({
      refer: district.refer,
      lineItem: item.id,
      student,
      classId,
      date: osloDate(district.clock.now()),
      hash: random.below(2 ** 31),
    });
    putRow(district, 'results', { row, id: resultId(district.plan, item.id, student) });
    return true;
  }
  // All results are in: the teacher has to think of something new first.
  return addLineItem(district, random);
}

function correctResult(district: District, random: Random): boolean {
  const row = anyRow(district.listings.results, { random });
  if (row === undefined) return false;
  const before = contentOf(district.listings.results.store, row)['score'];
  const score = typeof before === 'number' ? (before % 6) + 1 : 1 + random.below(6);
  return patchRow(district, 'results', {
    id: row.id,
    fields: { score, scoreStatus: 'fully graded', missing: 'false' },
  });
}

function addLineItem(district: District, random: Random): boolean {
  const { classes } = district.listings;
  const row = anyRow(classes, {
    random,
    fits: (candidate) => peekAt(classes.store, candidate, 'classType') === 'scheduled',
  });
  if (row === undefined) return false;
  const school = referencedId(contentOf(classes.store, row)['school']);
  if (school === undefined) return false;
  const item = lineItemContent({
    plan: district.plan,
    refer: district.refer,
    classId: row.id,
    school,
    number: 100 + random.below(900),
    date: osloDate(district.clock.now()),
  });
  putRow(district, 'line-items', { row: item, id: nextId(district) });
  return true;
}

function moveLineItem(district: District, random: Random): boolean {
  const row = anyRow(district.listings['line-items'], { random });
  if (row === undefined) return false;
  const dueMs = district.clock.now() + (1 + random.below(14)) * 86_400_000;
  return patchRow(district, 'line-items', { id: row.id, fields: { dueDate: new Date(dueMs).toISOString() } });
}
