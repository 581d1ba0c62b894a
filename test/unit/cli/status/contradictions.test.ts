import { describe, expect, it } from 'vitest';
import { MOST_READ, readContradictions } from '../../../../src/cli/status/ask-index.ts';
import { encodeOddities } from '../../../../src/core/absences/entry-codec.ts';
import type { IndexEntry } from '../../../../src/state/index-store.ts';

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

function entry(absenceId: string, links: number, students: number): IndexEntry {
  return [absenceId, encodeOddities({ links, students })];
}

describe('contradictions in the index', () => {
  it('are counted by absence, with links that are not followed and versions of another student', async () => {
    const { index } = indexOf([[entry('a', 2, 0), entry('b', 0, 1)]]);
    expect(await readContradictions(index)).toMatchObject({
      isAtLeast: false,
      absences: 2,
      links: 2,
      students: 1,
    });
  });

  it('with another student come first', async () => {
    const links = Array.from({ length: 20 }, (_each, at) => entry(`l${at}`, 1 + (at % 3), 0));
    const { first } = await readContradictions(indexOf([links, [entry('z', 0, 1)]]).index);
    expect(first[0]?.absenceId).toBe('z');
    expect(first.map((each) => each.links)).toEqual([0, 3, 3, 3, 3]);
  });

  it('that the scan of a changing index returns twice count once', async () => {
    const { index } = indexOf([[entry('a', 1, 0)], [entry('a', 1, 0)]], 1);
    expect(await readContradictions(index)).toMatchObject({ absences: 1, links: 1 });
  });

  it('beyond the limit are not read, and the result says "at least"', async () => {
    const batch = (number: number) =>
      Array.from({ length: 1_000 }, (_each, at) => entry(`${number}-${at}`, 1, 0));
    const { index, batchesRead } = indexOf(
      Array.from({ length: 9 }, (_each, number) => batch(number)),
      9_000,
    );
    expect(await readContradictions(index)).toMatchObject({ isAtLeast: true, absences: MOST_READ });
    expect(batchesRead()).toBe(MOST_READ / 1_000);
  });

  it('are not read where the index counts none', async () => {
    const { index, batchesRead } = indexOf([[entry('a', 1, 0)]], 0);
    expect(await readContradictions(index)).toMatchObject({ absences: 0, first: [] });
    expect(batchesRead()).toBe(0);
  });
});
