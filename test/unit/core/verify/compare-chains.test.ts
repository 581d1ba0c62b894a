import { describe, expect, it } from 'vitest';
import { chainsOf, linkedWith, type HubVersion } from '../../../../src/core/verify/chain-tails.ts';
import {
  compareChains,
  type ShownAbsence,
  type ToldEvents,
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
        row: { id, replaces, replacedBy, isDeleted: deletedMs !== null, studentId: 'student' },
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

const told = (versionId: string, more: Partial<ToldEvents> = {}): ToldEvents => ({
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
  changes: Record<string, ToldEvents>,
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

describe('chains beside their topics', () => {
  it('that are as they should be are reported', () => {
    expect(differences(CHAIN, { a: shown('b') }, { a: told('b', { step: 2 }) })).toEqual([]);
    // An id that was frozen before a late ancestor came.
    expect(differences(CHAIN, { b: shown('b') }, { b: told('b') })).toEqual([]);
  });

  it('that show another version than the tail are taken for right', () => {
    expect(differences(CHAIN, { a: shown('a') }, { a: told('a') })).toEqual([
      'absence-changes different a',
      'absences different a',
    ]);
  });

  it('that nobody was told of are missed', () => {
    expect(differences(CHAIN, {}, {})).toEqual(['absence-changes missing a', 'absences missing a']);
  });

  it('that are shown twice are taken for two', () => {
    const twice = { a: shown('b'), x: shown('b') };
    expect(differences(CHAIN, twice, { a: told('b') })).toEqual(['absences left-over x']);
    // Whichever comes first.
    expect(differences(CHAIN, { x: shown('b'), a: shown('b') }, { a: told('b') })).toEqual([
      'absences left-over x',
    ]);
  });

  it('that were deleted and are shown still are taken for current', () => {
    const deleted = hubOf({ id: 'a', deletedMs: NOW + 1 });
    expect(differences(deleted, { a: shown('a') }, { a: told('a') })).toEqual([
      'absence-changes left-over a',
      'absences left-over a',
    ]);
    expect(differences(deleted, {}, { a: told('a', { isDeleted: true, step: 2 }) })).toEqual([]);
    expect(differences(deleted, {}, {})).toEqual(['absence-changes missing a']);
  });

  it('that were forgotten are told as missing', () => {
    expect(differences(hubOf({ id: 'a', deletedMs: NOW - 1 }), {}, {})).toEqual([]);
  });

  it('whose deleted end has left the hub live again', () => {
    const dangling = hubOf({ id: 'a', replacedBy: 'gone' });
    expect(differences(dangling, {}, { a: told('gone', { isDeleted: true }) })).toEqual([]);
    // Shown as current, it is compared like any other.
    expect(differences(dangling, { a: shown('a') }, { a: told('a') })).toEqual([]);
    expect(differences(dangling, { a: shown('a', false) }, { a: told('a') })).toEqual([
      'absences undecodable a',
    ]);
  });

  it('whose record cannot be read are missed, or told twice', () => {
    const spoilt = { entry: topicEntry(null, false), versionId: null, studentId: null };
    expect(differences(CHAIN, { a: spoilt }, { a: told('b') })).toEqual(['absences undecodable a']);
    expect(differences(CHAIN, { a: shown('b') }, { a: told('b', { ...spoilt }) })).toEqual([
      'absence-changes undecodable a',
    ]);
  });

  it('with a step that is not among those told pass', () => {
    expect(differences(CHAIN, { a: shown('b') }, { a: told('b', { hasGap: true }) })).toEqual([
      'absence-changes gap a',
    ]);
  });

  it('finds records of two students under one absence id', () => {
    expect(differences(CHAIN, { a: shown('b') }, { a: told('b', { isOfTwo: true }) })).toEqual([
      'absence-changes two-students a',
    ]);
    const behind = differences(CHAIN, { a: shown('b', true, 'another') }, { a: told('a') });
    expect(behind).toContain('absences two-students a');
    // The hub has given the record itself to another student.
    expect(differences(CHAIN, { a: shown('b', true, 'another') }, { a: told('b') })).toEqual([]);
  });

  it('that fork are held against one of two ends', () => {
    const fork = hubOf({ id: 'a' }, { id: 'b', replaces: 'a' }, { id: 'c', replaces: 'a' });
    expect(differences(fork, { a: shown('b') }, { a: told('b') })).toEqual([]);
    expect(differences(fork, { a: shown('c') }, { a: told('c') })).toEqual([]);
  });
});

describe('versions that hang together', () => {
  it('are lost from each other by a version that is not there', () => {
    const versions = hubOf({ id: 'a', replacedBy: 'x' }, { id: 'c', replaces: 'x' }, { id: 'other' });
    expect([...linkedWith(versions, new Set(['c']))].toSorted()).toEqual(['a', 'c', 'x']);
  });
});
