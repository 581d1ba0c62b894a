import { describe, expect, it } from 'vitest';
import { findRowChanges, type Change, type KeyedRow } from '../../../src/core/row-changes.ts';

const hash = (text: string) => Buffer.alloc(16, text);

function row(key: string, content: string): KeyedRow {
  return {
    key,
    rejectKey: key,
    decoded: {
      kind: 'row',
      sourcedId: key,
      value: {},
      hash: hash(content),
      modifiedAtMs: null,
    },
  };
}

function unreadable(key: string | null, content: string): KeyedRow {
  const rejectKey = key ?? `sha256:${content}`;
  return {
    key,
    rejectKey,
    decoded: {
      kind: 'reject',
      sourcedId: key,
      rejectId: rejectKey,
      reason: 'r',
      text: null,
      modifiedAtMs: null,
      hash: hash(content),
    },
  };
}

function decide(
  page: readonly KeyedRow[],
  known: {
    rows?: Record<string, string>;
    rejects?: Record<string, string>;
    stale?: readonly string[];
  } = {},
) {
  const rows = new Map(Object.entries(known.rows ?? {}));
  const rejects = new Map(Object.entries(known.rejects ?? {}));
  const changes: string[] = [];
  const textOf = ({ reading }: { reading: KeyedRow['decoded'] }) => String.fromCharCode(reading.hash[0] ?? 0);
  const note = (change: Change) => {
    changes.push(`${change.area} ${change.key} ${change.kind}`);
    const area = change.area === 'rows' ? rows : rejects;
    if (change.kind === 'deleted') area.delete(change.key);
    else area.set(change.key, textOf({ reading: change.area === 'rows' ? change.row : change.reject }));
  };
  const hashIn = (area: ReadonlyMap<string, string>) => (key: string) => {
    const content = area.get(key);
    return content === undefined ? null : hash(content);
  };
  const stale = (key: string) => known.stale?.includes(key) ?? false;
  const tally = findRowChanges(page, {
    row: hashIn(rows),
    reject: hashIn(rejects),
    stale,
    seenBefore: () => false,
    note,
  });
  return { changes, tally };
}

describe('the decision on a page', () => {
  it('an unchanged row publishes nothing', () => {
    const { changes, tally } = decide([row('a', 'x')], { rows: { a: 'x' } });
    expect(changes).toEqual([]);
    expect(tally).toMatchObject({ seen: 1, unchanged: 1 });
  });

  it('new rows are created and changed rows updated, in the order of the page', () => {
    const { changes, tally } = decide([row('b', 'y'), row('a', 'x')], { rows: { b: 'x' } });
    expect(changes).toEqual(['rows b updated', 'rows a created']);
    expect(tally).toMatchObject({ seen: 2, created: 1, updated: 1, unchanged: 0 });
  });

  it('of an id that a page holds twice, the first row counts', () => {
    const { changes, tally } = decide([row('a', 'x'), row('a', 'y'), row('a', 'x')]);
    expect(changes).toEqual(['rows a created']);
    expect(tally).toMatchObject({ seen: 2, created: 1, repeated: 1, unchanged: 0 });
    expect(decide([row('a', 'x'), row('a', 'y')], { rows: { a: 'x' } }).changes).toEqual([]);
    expect(decide([row('a', 'x'), row('a', 'y')], { rows: { a: 'y' } }).changes).toEqual(['rows a updated']);
  });

  it('of an id that a page holds as a readable and an unreadable row, the first row counts', () => {
    expect(decide([row('a', 'x'), unreadable('a', 'r')], { rows: { a: 'x' } }).changes).toEqual([]);
    const second = decide([unreadable('a', 'r'), row('a', 'x')], { rejects: { a: 'r' } });
    expect(second.changes).toEqual([]);
    expect(second.tally).toMatchObject({ rejected: 1, repeated: 1 });
  });

  it('a stale page overwrites no newer row and removes no newer reject', () => {
    const { changes, tally } = decide([row('a', 'old')], {
      rows: { a: 'new' },
      rejects: { a: 'r' },
      stale: ['a'],
    });
    expect(changes).toEqual([]);
    expect(tally).toMatchObject({ seen: 1, stale: 1, updated: 0 });
  });

  it('an unreadable row goes to the rejects once, and leaves the row as it was', () => {
    const page = [unreadable('a', 'x')];
    expect(decide(page, { rows: { a: 'x' } }).changes).toEqual(['rejects a created']);
    expect(decide(page, { rejects: { a: 'x' } }).changes).toEqual([]);
    expect(decide(page, { rejects: { a: 'y' } }).changes).toEqual(['rejects a updated']);
  });

  it('a row that can be read again removes its reject, changed or not', () => {
    const known = { rows: { a: 'x' }, rejects: { a: 'r' } };
    expect(decide([row('a', 'x')], known).changes).toEqual(['rejects a deleted']);
    expect(decide([row('a', 'y')], known).changes).toEqual(['rows a updated', 'rejects a deleted']);
  });

  it('a row without an id is rejected and counted', () => {
    const { changes, tally } = decide([unreadable(null, 'x'), unreadable('b', 'x')]);
    expect(changes).toEqual(['rejects sha256:x created', 'rejects b created']);
    expect(tally).toMatchObject({ seen: 2, rejected: 2, withoutId: 1 });
  });
});
