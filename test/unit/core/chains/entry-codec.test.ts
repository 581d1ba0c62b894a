import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  decodeAbsenceEntry,
  decodeVersionEntry,
  encodeAbsenceEntry,
  encodeVersionEntry,
  hasLoneVersion,
} from '../../../../src/core/chains/entry-codec.ts';
import type { VersionEntry } from '../../../../src/core/chains/chain-state.ts';

const anyId = fc.oneof(
  fc.uuid(),
  fc.uuid().map((id) => id.toUpperCase()),
  fc.string({ unit: 'grapheme' }),
);
const idOrNull = fc.option(anyId);
const entry = fc.record({
  state: fc.constantFrom('present' as const, 'vanished' as const, 'gone' as const, 'unresolved' as const),
  replaces: idOrNull,
  replacedBy: idOrNull,
  linkedFrom: fc.array(anyId),
  isDeleted: fc.boolean(),
  student: fc.nat({ max: 0xffffffff }),
  absenceId: idOrNull,
  isResolved: fc.boolean(),
});
const [A, B, C] = [1, 2, 3].map((digit) => `${digit}0000000-0000-4000-8000-000000000000`) as [
  string,
  string,
  string,
];
const plain: VersionEntry = {
  state: 'present',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: 1,
  absenceId: A,
  isResolved: true,
};

describe('entries of the chain index', () => {
  it('of a version are decoded as they were encoded', () => {
    fc.assert(
      fc.property(anyId, entry, fc.constantFrom('other', 'own', 'replaces'), (id, any, absence) => {
        const absenceId = absence === 'own' ? id : absence === 'replaces' ? any.replaces : any.absenceId;
        const given = { ...any, absenceId };
        expect(decodeVersionEntry(id, encodeVersionEntry(id, given))).toEqual(given);
      }),
    );
  });

  it('of an absence are decoded as they were encoded', () => {
    const absence = fc.record({
      step: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      publishedVersionId: anyId,
      isPublishedAsDeleted: fc.boolean(),
      mergedInto: idOrNull,
      since: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
      student: fc.nat({ max: 0xffffffff }),
    });
    fc.assert(
      fc.property(anyId, absence, fc.boolean(), fc.boolean(), (id, any, isOwn, standsForVersion) => {
        const given = isOwn ? { ...any, publishedVersionId: id } : any;
        const bytes = encodeAbsenceEntry(id, given, standsForVersion);
        expect(decodeAbsenceEntry(id, bytes)).toEqual(given);
        expect(hasLoneVersion(bytes)).toBe(standsForVersion);
      }),
    );
  });

  it('of an absence that stands for its version have a format that earlier versions of Rollcall refuse', () => {
    const entry = {
      step: 1,
      publishedVersionId: A,
      isPublishedAsDeleted: false,
      mergedInto: null,
      since: 1,
      student: 1,
    };
    expect((encodeAbsenceEntry(A, entry)[0] ?? 0) >> 4).toBe(1);
    expect((encodeAbsenceEntry(A, entry, true)[0] ?? 0) >> 4).toBe(2);
  });

  it('take exactly the promised number of bytes', () => {
    const bytes = (id: string, fields: Partial<VersionEntry>): number =>
      encodeVersionEntry(id, { ...plain, ...fields }).length;
    expect(bytes(A, {})).toBe(6);
    expect(bytes(A, { replacedBy: B })).toBe(23);
    expect(bytes(B, { replaces: A })).toBe(23);
    expect(bytes(B, { replaces: A, replacedBy: C })).toBe(40);
    expect(bytes(C, { replaces: B })).toBe(40);
    expect(bytes(C, { replaces: B, replacedBy: A, absenceId: B.replace('2', '4') })).toBe(57);
    const entry = {
      step: 1,
      publishedVersionId: A,
      isPublishedAsDeleted: false,
      mergedInto: null,
      since: 1_000_000,
      student: 1,
    };
    expect(encodeAbsenceEntry(A, entry)).toHaveLength(9);
    expect(encodeAbsenceEntry(B, entry)).toHaveLength(26);
  });

  it.each([
    ['cut short', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['with trailing bytes', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from([0])])],
    ['of another format', (bytes: Buffer) => Buffer.concat([Buffer.from([0xf0]), bytes.subarray(1)])],
    ['without any bytes', () => Buffer.alloc(0)],
  ])('%s are refused', (_, spoil) => {
    expect(() => decodeVersionEntry(B, spoil(encodeVersionEntry(B, { ...plain, replaces: A })))).toThrow(
      RangeError,
    );
  });
});
