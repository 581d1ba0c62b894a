import { expect, it } from 'vitest';
import { encodeVersionEntry } from '../../../src/core/chains/entry-codec.ts';
import {
  decodePublishedAbsence,
  encodePublishedAbsence,
} from '../../../src/core/chains/published-absence.ts';
import { ChainExamination } from '../../../src/pipeline/chains/chain-examination.ts';
import type { IndexArea, IndexChange } from '../../../src/state/index-store.ts';

const HASH = Buffer.alloc(16, 7);
const [A, B] = [1, 2];

/** The absence v was published when its record was A's; the record is B's now, and `absences` has the given content. */
async function studentAfter(shown: Buffer): Promise<number | undefined> {
  const entry = {
    step: 1,
    publishedVersionId: 'v',
    isPublishedAsDeleted: false,
    mergedInto: null,
    since: 1,
    student: A,
  };
  const links = { replaces: null, replacedBy: null, linkedFrom: [], isDeleted: false };
  const version = { ...links, state: 'present' as const, student: B, absenceId: 'v', isResolved: true };
  const published = encodePublishedAbsence('v', { entry, shown });
  const contents = new Map<IndexArea, Buffer>([
    ['versions', encodeVersionEntry('v', version)],
    ['rows', HASH],
    ['absences', published],
  ]);
  const replay = {
    lookup: (area: IndexArea, keys: readonly string[]) =>
      Promise.resolve(keys.map(() => contents.get(area) ?? null)),
    entries: () => Promise.reject(new Error('not asked for')) as never,
    write: (changes: readonly IndexChange[]) => {
      for (const { area, value } of changes) if (value !== null) contents.set(area, value);
      return Promise.resolve();
    },
  };
  const examination = new ChainExamination({ replay, wasComplete: true });
  await examination.examineAbsences([['v', published]]);
  return decodePublishedAbsence('v', contents.get('absences') ?? null).entry?.student;
}

it('an absence goes with its current record to the student of that record', async () => {
  expect(await studentAfter(HASH)).toBe(B);
});

it('an absence whose record changed, but was not published yet, stays with the student of its last event', async () => {
  expect(await studentAfter(Buffer.alloc(16, 8))).toBe(A);
});
