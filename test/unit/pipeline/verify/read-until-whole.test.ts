import { describe, expect, it } from 'vitest';
import type { HubWalk } from '../../../../src/pipeline/verify/hub-rows.ts';
import { readUntilWhole, type WalkNews } from '../../../../src/pipeline/verify/read-until-whole.ts';

function walkOf(rows: number, news: number, total: number | null): WalkNews {
  const walk: HubWalk = {
    ending: rows === 0 ? 'empty' : 'hub-sign',
    byOffset: false,
    distinctRows: rows,
    rowsWithoutId: 0,
    totalAtStart: total,
    totalAtEnd: total,
    startedAtMs: 1_000,
  };
  return { walk, news, oldNews: news };
}

describe('a hub that is scanned until the result is certain', () => {
  it('is not empty when a scan without rows follows one that had some', async () => {
    const walks = [walkOf(16, 16, 40), walkOf(0, 0, null)];
    const doubt = await readUntilWhole(40, () => Promise.resolve(walks.shift() ?? walkOf(0, 0, null)));
    expect(doubt).toMatchObject({ isEmpty: false });
  });

  it('is empty when no scan had a row', async () => {
    expect(await readUntilWhole(40, () => Promise.resolve(walkOf(0, 0, 0)))).toMatchObject({ isEmpty: true });
  });

  it('is not known to be empty when it counts rows and gives none', async () => {
    expect(await readUntilWhole(40, () => Promise.resolve(walkOf(0, 0, 40)))).toMatchObject({
      isEmpty: false,
    });
  });
});
