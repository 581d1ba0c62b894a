import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ScanEvidence } from '../../../src/core/deletions/evidence.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import { HubFindings } from '../../../src/sync/hub-findings.ts';
import type { SyncResult } from '../../../src/sync/sync-result.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { syncWithFollowUps, type Syncing } from '../../../src/timetable/sync-attempt.ts';

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

/** Parts whose syncs come to the given results, one after another, with the modes that ran. */
function parts(results: (SyncResult | Error)[]) {
  const modes: SyncMode[] = [];
  const findings = new HubFindings();
  let canBeIncremental = true;
  const made = {
    collection: 'users',
    sync: { writer: { progress: null }, findings, source: {} },
    deltaEveryMs: 1_000,
    // No incremental sync runs beside a full one.
    sleep: (_ms: number, aborted: AbortSignal) =>
      new Promise((resolve) => aborted.addEventListener('abort', resolve)),
    timetable: {
      get canBeIncremental() {
        return canBeIncremental;
      },
      noteFilterRefused: () => {
        canBeIncremental = false;
      },
    },
    attempt: {
      run: (mode: SyncMode) => {
        modes.push(mode);
        const result = results.shift();
        return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
      },
    },
  } as unknown as Syncing;
  return { made, modes, findings };
}

describe('a sync and what it leads to', () => {
  it('an incremental sync with an oversized delta becomes a full one, and the result counts the rows of both', async () => {
    const { made, modes } = parts([
      { kind: 'becomes-full', because: 'oversized', stats: statsOf('INCREMENTAL', 3) },
      complete(4),
    ]);
    const result = await syncWithFollowUps(made, 'INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'FULL']);
    expect(result.stats.rowsCreated).toBe(7);
  });

  it('once the hub refuses the filter, a full sync takes the place of each incremental one', async () => {
    const refused = new HubError('HUB_REQUEST_REFUSED', 'refused', { remedy: '' });
    const { made, modes } = parts([refused, complete(1), complete(1)]);
    await syncWithFollowUps(made, 'INCREMENTAL', { signal });
    await syncWithFollowUps(made, 'INCREMENTAL', { signal });
    expect(modes).toEqual(['INCREMENTAL', 'FULL', 'FULL']);
  });

  it('another failure of an incremental sync is thrown, and no full one runs', async () => {
    const failure = new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });
    const { made, modes } = parts([failure]);
    await expect(syncWithFollowUps(made, 'INCREMENTAL', { signal })).rejects.toBe(failure);
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
    const { made, modes, findings } = parts([
      { kind: 'becomes-full', because: 'short', stats: statsOf('INCREMENTAL', 1) },
      complete(1),
    ]);
    expect(findings.isShortIncremental(scan)).toBe(true);
    await syncWithFollowUps(made, 'INCREMENTAL', { signal });
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
