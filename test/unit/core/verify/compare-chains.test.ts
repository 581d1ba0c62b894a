import { describe, expect, it } from 'vitest';
import { chainsOf, linkedWith, type HubVersion } from '../../../../src/core/verify/chain-tails.ts';
import {
  compareChains,
  type ShownAbsence,
  type PublishedEvents,
} from '../../../../src/core/verify/compare-chains.ts';
import { topicEntry } from '../../../../src/core/verify/topic-entry.ts';

interface Version {
  readonly id: string;
  readonly replaces?: string;
  readonly replacedBy?: string;
  readonly deletedMs?: number;
}

const hashOf = (id: string): Buffer => Buffer.alloc(16, id);
const NOW = 1_000_000;

function hubOf(...versions: readonly Version[]): Map<string, HubVersion> {
  return new Map(
    versions.map(({ id, replaces = null, replacedBy = null, deletedMs = null }) => [
      id,
      {
        row: { id, replaces, replacedBy, isDeleted: deletedMs !== null, student: 1 },
        hash: hashOf(id).toString('latin1'),
        modifiedAtMs: 1,
        deletedMs,
      },
    ]),
  );
}

const shown = (versionId: string, sound = true, studentId = 'student'): ShownAbsence => ({
  entry: topicEntry(hashOf(versionId), sound),
  versionId,
  studentId,
});

const lastEvent = (versionId: string, more: Partial<PublishedEvents> = {}): PublishedEvents => ({
  entry: topicEntry(hashOf(versionId), true),
  versionId,
  isDeleted: false,
  step: 1,
  hasGap: false,
  studentId: 'student',
  isOfTwo: false,
  ...more,
});

function differences(
  versions: Map<string, HubVersion>,
  absences: Record<string, ShownAbsence>,
  changes: Record<string, PublishedEvents>,
): string[] {
  return compareChains({
    chains: chainsOf(versions),
    versions,
    topics: { absences: new Map(Object.entries(absences)), changes: new Map(Object.entries(changes)) },
    forgottenBeforeMs: NOW,
  })
    .map(({ collection, kind, key }) => `${collection} ${kind} ${key}`)
    .toSorted();
}

const CHAIN = hubOf({ id: 'a', replacedBy: 'b' }, { id: 'b', replaces: 'a' });

describe('chains compared with their topics', () => {
  it('that agree with them are not reported', () => {
    expect(differences(CHAIN, { a: shown('b') }, { a: lastEvent('b', { step: 2 }) })).toEqual([]);
    // The id was fixed before a late ancestor arrived.
    expect(differences(CHAIN, { b: shown('b') }, { b: lastEvent('b') })).toEqual([]);
  });

  it('that show another version than the tail are reported as different', () => {
    expect(differences(CHAIN, { a: shown('a') }, { a: lastEvent('a') })).toEqual([
      'absence-changes different a',
      'absences different a',
    ]);
  });

  it('that were never published are reported as missing', () => {
    expect(differences(CHAIN, {}, {})).toEqual(['absence-changes missing a', 'absences missing a']);
  });

  it('that appear under two ids are reported as left over once', () => {
    const twice = { a: shown('b'), x: shown('b') };
    expect(differences(CHAIN, twice, { a: lastEvent('b') })).toEqual(['absences left-over x']);
    // The order does not matter.
    expect(differences(CHAIN, { x: shown('b'), a: shown('b') }, { a: lastEvent('b') })).toEqual([
      'absences left-over x',
    ]);
  });

  it('that were deleted and are still current are reported as left over', () => {
    const deleted = hubOf({ id: 'a', deletedMs: NOW + 1 });
    expect(differences(deleted, { a: shown('a') }, { a: lastEvent('a') })).toEqual([
      'absence-changes left-over a',
      'absences left-over a',
    ]);
    expect(differences(deleted, {}, { a: lastEvent('a', { isDeleted: true, step: 2 }) })).toEqual([]);
    expect(differences(deleted, {}, {})).toEqual(['absence-changes missing a']);
  });

  it('that were deleted and have expired are not reported', () => {
    expect(differences(hubOf({ id: 'a', deletedMs: NOW - 1 }), {}, {})).toEqual([]);
  });

  it('whose deleted end has departed may stay deleted', () => {
    const dangling = hubOf({ id: 'a', replacedBy: 'gone' });
    expect(differences(dangling, {}, { a: lastEvent('gone', { isDeleted: true }) })).toEqual([]);
    // If it is current, it is compared like any other.
    expect(differences(dangling, { a: shown('a') }, { a: lastEvent('a') })).toEqual([]);
    expect(differences(dangling, { a: shown('a', false) }, { a: lastEvent('a') })).toEqual([
      'absences undecodable a',
    ]);
  });

  it('whose record cannot be decoded are reported once, as undecodable', () => {
    const corrupt = { entry: topicEntry(null, false), versionId: null, studentId: null };
    expect(differences(CHAIN, { a: corrupt }, { a: lastEvent('b') })).toEqual(['absences undecodable a']);
    expect(differences(CHAIN, { a: shown('b') }, { a: lastEvent('b', { ...corrupt }) })).toEqual([
      'absence-changes undecodable a',
    ]);
  });

  it('with a missing step are reported as a gap', () => {
    expect(differences(CHAIN, { a: shown('b') }, { a: lastEvent('b', { hasGap: true }) })).toEqual([
      'absence-changes gap a',
    ]);
  });

  it('with records of two students under one absence id are reported', () => {
    expect(differences(CHAIN, { a: shown('b') }, { a: lastEvent('b', { isOfTwo: true }) })).toEqual([
      'absence-changes two-students a',
    ]);
    const behind = differences(CHAIN, { a: shown('b', true, 'another') }, { a: lastEvent('a') });
    expect(behind).toContain('absences two-students a');
    // The hub has moved the record itself to another student.
    expect(differences(CHAIN, { a: shown('b', true, 'another') }, { a: lastEvent('b') })).toEqual([]);
  });

  it('that fork may have either end current', () => {
    const fork = hubOf({ id: 'a' }, { id: 'b', replaces: 'a' }, { id: 'c', replaces: 'a' });
    expect(differences(fork, { a: shown('b') }, { a: lastEvent('b') })).toEqual([]);
    expect(differences(fork, { a: shown('c') }, { a: lastEvent('c') })).toEqual([]);
  });
});

describe('linked versions', () => {
  it('stay linked through a version that is missing', () => {
    const versions = hubOf({ id: 'a', replacedBy: 'x' }, { id: 'c', replaces: 'x' }, { id: 'other' });
    expect([...linkedWith(versions, new Set(['c']))].toSorted()).toEqual(['a', 'c', 'x']);
  });
});
