import { describe, expect, it } from 'vitest';
import { MOST_READ, readContradictions } from '../../../../src/cli/status/read-contradictions.ts';
import type { IndexEntry } from '../../../../src/state/index-store.ts';

interface Reported {
  readonly kind: string;
  readonly absenceId: string | null;
  readonly versionIds: readonly string[];
}

function indexOf(batches: readonly (readonly IndexEntry[])[], count = batches.flat().length) {
  let read = 0;
  return {
    index: {
      count: async () => count,
      async *entries() {
        for (const batch of batches) {
          read += 1;
          yield batch;
        }
      },
    },
    batchesRead: () => read,
  };
}

function entry(...shown: readonly Reported[]): IndexEntry {
  return [shown[0]?.versionIds[0] ?? '', Buffer.from(JSON.stringify(shown))];
}

const FORK: Reported = { kind: 'fork', absenceId: 'a', versionIds: ['a', 'b', 'c'] };
const PASSING: Reported = { kind: 'replaces-only', absenceId: 'a', versionIds: ['a', 'b'] };
const FOREIGN: Reported = { kind: 'other-student', absenceId: null, versionIds: ['x', 'y'] };

describe('contradictions in the index', () => {
  it('of one absence count as one absence', async () => {
    const { index } = indexOf([[entry(FORK, PASSING), entry(FOREIGN)]]);
    expect(await readContradictions(index)).toMatchObject({
      isAtLeast: false,
      absences: 2,
      passing: 0,
      versions: 5,
      byKind: { fork: 1, 'replaces-only': 1, 'other-student': 1 },
    });
  });

  it('between two writes of the hub count as passing, unless the absence has another one', async () => {
    const other: Reported = { ...PASSING, absenceId: 'other', versionIds: ['o', 'p'] };
    const { index } = indexOf([[entry(FORK, PASSING), entry(other)]]);
    expect(await readContradictions(index)).toMatchObject({ absences: 2, passing: 1 });
  });

  it('of the gravest kinds come first', async () => {
    const passing = Array.from({ length: 20 }, (_each, at): IndexEntry => {
      const id = `p${at}`;
      return entry({ kind: 'replaces-only', absenceId: id, versionIds: [id, `${id}-2`] });
    });
    const { first, byKind } = await readContradictions(
      indexOf([passing, [entry(FORK)], [entry(FOREIGN)]]).index,
    );
    expect(first.map(({ kind }) => kind).slice(0, 3)).toEqual(['other-student', 'fork', 'replaces-only']);
    expect(first).toHaveLength(5);
    expect(Object.keys(byKind)).toEqual(['other-student', 'fork', 'replaces-only']);
  });

  it('that the scan of a changing index returns twice count once', async () => {
    const { index } = indexOf([[entry(FORK)], [entry(FORK)]], 1);
    expect(await readContradictions(index)).toMatchObject({ absences: 1, byKind: { fork: 1 } });
  });

  it('beyond the limit are not read, and the result says "at least"', async () => {
    const batch = (number: number) =>
      Array.from({ length: 1_000 }, (_each, at): IndexEntry => {
        const id = `${number}-${at}`;
        return entry({ kind: 'fork', absenceId: id, versionIds: [id, `${id}-2`, `${id}-3`] });
      });
    const { index, batchesRead } = indexOf(
      Array.from({ length: 9 }, (_each, number) => batch(number)),
      9_000,
    );
    expect(await readContradictions(index)).toMatchObject({
      isAtLeast: true,
      absences: MOST_READ,
      byKind: { fork: MOST_READ },
    });
    expect(batchesRead()).toBe(MOST_READ / 1_000);
  });

  it('of very many versions show only the first few ids', async () => {
    const versionIds = Array.from({ length: 500 }, (_each, at) => `v${at}`);
    const { first } = await readContradictions(indexOf([[entry({ ...FORK, versionIds })]]).index);
    expect(first[0]?.versionIds).toHaveLength(8);
    expect(first[0]?.versions).toBe(500);
  });

  it('in an entry that cannot be decoded do not hide the others', async () => {
    const { index } = indexOf([[['broken', Buffer.from('[')], entry(FORK)]]);
    expect(await readContradictions(index)).toMatchObject({
      absences: 2,
      byKind: { unreadable: 1, fork: 1 },
    });
  });

  it('are not read where the index counts none', async () => {
    const { index, batchesRead } = indexOf([[entry(FORK)]], 0);
    expect(await readContradictions(index)).toMatchObject({ absences: 0, first: [] });
    expect(batchesRead()).toBe(0);
  });
});
