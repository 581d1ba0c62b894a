import { describe, expect, it } from 'vitest';
import type { AbsenceEntry, VersionEntry } from '../../../../src/core/chains/chain-state.ts';
import type { ChainStep } from '../../../../src/core/chains/chain-steps.ts';
import { missing } from '../../../../src/core/chains/missing.ts';
import { resolve } from '../../../../src/core/chains/chain-rules.ts';
import { publishedNames } from '../../../../src/core/chains/published-names.ts';

const version = (fields: Partial<VersionEntry>): VersionEntry => ({
  state: 'present',
  replaces: null,
  replacedBy: null,
  linkedFrom: [],
  isDeleted: false,
  student: 1,
  absenceId: null,
  isResolved: true,
  ...fields,
});

const publishedAs = (publishedVersionId: string, fields: Partial<AbsenceEntry> = {}): AbsenceEntry => ({
  step: 1,
  publishedVersionId,
  isPublishedAsDeleted: false,
  mergedInto: null,
  since: 1,
  student: 1,
  ...fields,
});

/** a ← b was published as the absence b; c was split off from a and was published as the absence a. */
function knowledgeWith(
  changes: Record<string, Partial<VersionEntry>> = {},
  entries: Record<string, AbsenceEntry> = {},
) {
  const rows: Record<string, Partial<VersionEntry>> = {
    a: { absenceId: 'a', linkedFrom: ['b'] },
    b: { absenceId: 'b', replaces: 'a' },
    c: { absenceId: 'a' },
  };
  const ids = Object.keys(rows);
  const versions = new Map<string, VersionEntry | null>(
    ids.map((id) => [id, version({ ...rows[id], ...changes[id] })]),
  );
  const absences = new Map<string, AbsenceEntry | null>(
    Object.entries({ a: publishedAs('c'), b: publishedAs('b'), c: null, ...entries }),
  );
  return { versions, absences };
}

function namesIn(chainState: ReturnType<typeof knowledgeWith>): Record<string, string | null> {
  const named = publishedNames({ rows: [], revisit: ['a', 'c'], chainState });
  return Object.fromEntries([...named].map(([id, { absenceId }]) => [id, absenceId]));
}

function stepsFrom({ versions, absences }: ReturnType<typeof knowledgeWith>): readonly ChainStep[] {
  const input = { rows: [], revisit: ['a', 'b', 'c'], chainState: { versions, absences } };
  for (;;) {
    const wanted = missing(input);
    if (wanted.versions.length + wanted.absences.length === 0) break;
    for (const id of wanted.versions) versions.set(id, null);
    for (const id of wanted.absences) absences.set(id, null);
  }
  return resolve({ ...input, mode: 'final', sequence: 2 }).steps;
}

describe('in a rebuilt index', () => {
  it('a version belongs to the absence that its chain was last published as, whatever older events say', () => {
    expect(namesIn(knowledgeWith())).toEqual({ a: 'b' });
    expect(namesIn(knowledgeWith({ a: { absenceId: null } }))).toEqual({ a: 'b' });
  });

  it('a chain that was split off and published publishes nothing more', () => {
    const chainState = knowledgeWith();
    const named = publishedNames({ rows: [], revisit: ['a', 'c'], chainState });
    for (const [id, entry] of named) chainState.versions.set(id, entry);
    expect(stepsFrom(chainState)).toEqual([]);
  });

  it('a version that arrived after its chain was published gets no absence', () => {
    expect(namesIn(knowledgeWith({ a: { absenceId: null, isResolved: false } }))).toEqual({});
  });

  it('a chain that was published as two absences gives its versions no absence', () => {
    const entries = { b: publishedAs('b'), a: publishedAs('a') };
    expect(namesIn(knowledgeWith({ a: { absenceId: 'a' } }, entries))).toEqual({});
  });

  it('a chain that was published as deleted keeps its own absence, not the one that ended in it earlier', () => {
    const entries = {
      a: publishedAs('a', { isPublishedAsDeleted: true }),
      b: publishedAs('b', { isPublishedAsDeleted: true }),
    };
    const isDeleted = true;
    const chainState = knowledgeWith({ a: { isDeleted }, b: { isDeleted }, c: { absenceId: 'c' } }, entries);
    expect(namesIn(chainState)).toEqual({ a: 'b' });
    const named = publishedNames({ rows: [], revisit: ['a', 'c'], chainState });
    for (const [id, entry] of named) chainState.versions.set(id, entry);
    expect(stepsFrom(chainState).filter(({ absenceId }) => absenceId !== 'c')).toEqual([]);
  });

  it('an absence whose last record moved to another absence keeps the versions that lead to it', () => {
    const entries = { a: publishedAs('c'), c: publishedAs('c') };
    expect(namesIn(knowledgeWith({ c: { absenceId: 'c' } }, entries))).toEqual({});
  });

  it('an absence that ended before its record moved to another absence takes nothing back', () => {
    const entries = {
      a: publishedAs('b', { isPublishedAsDeleted: true, since: 0, student: 0 }),
      b: publishedAs('b'),
      c: publishedAs('c'),
    };
    expect(stepsFrom(knowledgeWith({ c: { absenceId: 'c' }, a: { absenceId: 'b' } }, entries))).toEqual([]);
  });
});
