import { describe, expect, it } from 'vitest';
import type { HubScan } from '../../../../src/pipeline/verify/hub-rows.ts';
import { readUntilComplete, type ScanFindings } from '../../../../src/pipeline/verify/read-until-complete.ts';

function scanOf(rows: number, news: number, total: number | null): ScanFindings {
  const scan: HubScan = {
    ending: rows === 0 ? 'empty' : 'hub-sign',
    byOffset: false,
    distinctRows: rows,
    rowsWithoutId: 0,
    totalAtStart: total,
    totalAtEnd: total,
    startedAtMs: 1_000,
  };
  return { scan, news, newRowsThereAtStart: news };
}

describe('a hub that is scanned until the result is certain', () => {
  it('is not empty when a scan without rows follows one that had some', async () => {
    const scans = [scanOf(16, 16, 40), scanOf(0, 0, null)];
    const doubt = await readUntilComplete(40, () => Promise.resolve(scans.shift() ?? scanOf(0, 0, null)));
    expect(doubt).toMatchObject({ isEmpty: false });
  });

  it('is empty when no scan had a row', async () => {
    expect(await readUntilComplete(40, () => Promise.resolve(scanOf(0, 0, 0)))).toMatchObject({
      isEmpty: true,
    });
  });

  it('is not known to be empty when it counts rows and gives none', async () => {
    expect(await readUntilComplete(40, () => Promise.resolve(scanOf(0, 0, 40)))).toMatchObject({
      isEmpty: false,
    });
  });
});
