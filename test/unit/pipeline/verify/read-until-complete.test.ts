import { describe, expect, it } from 'vitest';
import { readUntilComplete, type ScanFindings } from '../../../../src/audit/read-until-complete.ts';

function scanOf(rows: number, news: number, total: number | null): ScanFindings {
  const scope = {
    scope: '',
    ending: 'proper',
    byOffset: false,
    isComposed: false,
    distinctRows: rows,
    rowsWithoutId: 0,
    totalAtStart: total,
    totalAtEnd: total,
  } as const;
  return { scan: { scopes: [scope], startedAtMs: 1_000 }, news, newRowsThereAtStart: news };
}

async function read(...scans: ScanFindings[]): Promise<string | null> {
  return readUntilComplete(() => Promise.resolve(scans.shift() ?? scanOf(0, 0, 0)));
}

describe('a hub that is scanned until the result is certain', () => {
  it('is read once where as many rows come as it counts', async () => {
    expect(await read(scanOf(16, 16, 16))).toBeNull();
  });

  it('is empty when two scans had no row', async () => {
    expect(await read(scanOf(0, 0, 0), scanOf(0, 0, 0))).toBeNull();
  });

  it('is not known to be empty when it counts rows and gives none', async () => {
    expect(await read(scanOf(0, 0, 40), scanOf(0, 0, 40))).toBe('0 of 40 rows came');
  });
});
