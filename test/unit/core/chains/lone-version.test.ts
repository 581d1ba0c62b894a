import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { AbsenceEntry, VersionEntry } from '../../../../src/core/chains/chain-state.ts';
import { isLoneVersion, loneVersionOf } from '../../../../src/core/chains/lone-version.ts';

const published: AbsenceEntry = {
  step: 1,
  publishedVersionId: 'v',
  isPublishedAsDeleted: false,
  mergedInto: null,
  since: 1,
  student: 7,
};
const idOrNull = fc.constantFrom(null, 'v', 'w');
const version: fc.Arbitrary<VersionEntry> = fc.record({
  state: fc.constantFrom('present' as const, 'vanished' as const, 'gone' as const, 'unresolved' as const),
  replaces: idOrNull,
  replacedBy: idOrNull,
  linkedFrom: fc.constantFrom<readonly string[]>([], ['w']),
  isDeleted: fc.boolean(),
  student: fc.constantFrom(0, 7, 8),
  absenceId: idOrNull,
  isResolved: fc.boolean(),
});
const absence = fc.constantFrom<AbsenceEntry | null>(
  published,
  { ...published, step: 3 },
  { ...published, student: 0 },
  { ...published, isPublishedAsDeleted: true },
  { ...published, isPublishedAsDeleted: true, mergedInto: 'w' },
  null,
);

describe('an absence stands for the version with its id', () => {
  it('only if the entry of the version follows from its own', () => {
    fc.assert(
      fc.property(version, absence, (one, of) => {
        if (of === null || !isLoneVersion('v', one, of)) return;
        expect(loneVersionOf('v', of)).toEqual(one);
      }),
      { numRuns: 5_000 },
    );
  });

  it('if nothing links the version and it was published under its own id', () => {
    expect(isLoneVersion('v', loneVersionOf('v', published), published)).toBe(true);
    expect(
      isLoneVersion('v', loneVersionOf('v', { ...published, student: 0 }), { ...published, student: 0 }),
    ).toBe(true);
  });

  it('not once it is published as deleted, because a deleted absence is forgotten before its version', () => {
    const deleted = { ...published, isPublishedAsDeleted: true };
    expect(isLoneVersion('v', loneVersionOf('v', deleted), deleted)).toBe(false);
  });

  it('not without an entry of either', () => {
    expect(isLoneVersion('v', null, published)).toBe(false);
    expect(isLoneVersion('v', loneVersionOf('v', published), null)).toBe(false);
  });
});
