import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ScanEvidence } from '../../../src/core/deletions/evidence.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import type { ReplacedSync, SyncResult } from '../../../src/sync/sync-result.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { Syncs } from '../../../src/timetable/collection-runner.ts';
import type { SyncTimetable } from '../../../src/timetable/sync-timetable.ts';
import { madeCollection } from './support/made-collection.ts';

const { signal } = new AbortController();

function statsOf(mode: SyncMode, rowsCreated: number) {
  const stats = newSyncStats({ syncId: mode, mode, startedAtMs: 0 });
  stats.rowsCreated = rowsCreated;
  return stats;
}

function complete(rowsCreated: number): SyncResult {
  return {
    kind: 'complete',
    stats: statsOf('FULL', rowsCreated),
    withheld: 0,
    short: null,
    unconfirmed: 0,
    confirmAtMs: null,
  };
}

/** Syncs that come to the given results, one after another, with the modes that ran. */
async function syncs(results: (SyncResult | ReplacedSync | Error)[]) {
  const modes: SyncMode[] = [];
  const own = await madeCollection({
    commit: () => Promise.reject(new Error('nothing is committed')),
    runtime: {
      // No incremental sync runs beside a full one.
      sleep: (_ms, aborted) =>
        new Promise((resolve) => aborted.addEventListener('abort', () => resolve(undefined))),
    },
  });
  let canBeIncremental = true;
  const timetable = {
    get canBeIncremental() {
      return canBeIncremental;
    },
    noteFilterRefused: () => {
      canBeIncremental = false;
    },
  } as unknown as SyncTimetable;
  class Given extends Syncs {
    override run(mode: SyncMode): Promise<SyncResult | ReplacedSync> {
      modes.push(mode);
      const result = results.shift() ?? new Error('no result is given');
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    }
  }
  return { made: new Given(own, timetable), modes, findings: own.findings };
}

describe('a sync and what it leads to', () => {
  it('an incremental sync with an oversized delta becomes a full one', async () => {
    const { made, modes } = await syncs([
      { kind: 'becomes-full', because: 'oversized', stats: statsOf('INCREMENTAL', 3) },
      complete(4),
    ]);
    const result = await made.withFollowUps('INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'FULL']);
    expect(result.stats.rowsCreated).toBe(4);
  });

  it('once the hub refuses the filter, a full sync takes the place of each incremental one', async () => {
    const refused = new HubError('HUB_REQUEST_REFUSED', 'refused', { remedy: '' });
    const { made, modes } = await syncs([refused, complete(1), complete(1)]);
    await made.withFollowUps('INCREMENTAL', { signal });
    await made.withFollowUps('INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'FULL', 'FULL']);
  });

  it('another failure of an incremental sync is thrown, and no full one runs', async () => {
    const failure = new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });
    const { made, modes } = await syncs([failure]);
    await expect(made.withFollowUps('INCREMENTAL', { signal })).rejects.toBe(failure);
    expect(modes).toEqual(['INCREMENTAL']);
  });

  it('a short incremental sync becomes a full one; if that is complete, the totals of filtered lists count no more', async () => {
    const scan: ScanEvidence = {
      scope: '',
      ending: 'proper',
      byOffset: false,
      isComposed: false,
      distinctRows: 2,
      rowsWithoutId: 0,
      totalAtStart: 3,
      totalAtEnd: 3,
    };
    const { made, modes, findings } = await syncs([
      { kind: 'becomes-full', because: 'short', stats: statsOf('INCREMENTAL', 1) },
      complete(1),
    ]);
    expect(findings.isShortIncremental(scan)).toBe(true);
    await made.withFollowUps('INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'FULL']);
    expect(findings.isShortIncremental(scan)).toBe(false);
    // Until the next daily sync; a confirming one changes nothing.
    findings.noteFullSync({ isInconclusive: false, scans: [], isConfirming: true });
    expect(findings.isShortIncremental(scan)).toBe(false);
    findings.noteFullSync({
      isInconclusive: false,
      scans: [{ ...scan, totalAtEnd: 40 }],
      isConfirming: false,
    });
    expect(findings.isShortIncremental(scan)).toBe(true);
    // A total that equals the unfiltered one says nothing.
    expect(findings.isShortIncremental({ ...scan, totalAtStart: 40, totalAtEnd: 40 })).toBe(false);
  });
});
