import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import { FullSyncs } from '../../../src/pipeline/full-syncs.ts';
import type { SyncResult } from '../../../src/pipeline/sync-result.ts';
import { newSyncStats } from '../../../src/pipeline/sync-stats.ts';
import { syncWithFollowUps, type FollowUpParts } from '../../../src/pipeline/sync-with-follow-ups.ts';

const { signal } = new AbortController();

function statsOf(mode: SyncMode, rowsCreated: number) {
  const stats = newSyncStats({ passId: mode, mode, startedAtMs: 0 });
  stats.rowsCreated = rowsCreated;
  return stats;
}

function complete(rowsCreated: number, more: object = {}): SyncResult {
  return {
    kind: 'complete',
    stats: statsOf('FULL', rowsCreated),
    withheld: 0,
    wantsSecondSync: false,
    ...more,
  };
}

/** Parts whose syncs come to the given results, one after another, with the modes that ran. */
function parts(results: (SyncResult | Error)[]) {
  const modes: SyncMode[] = [];
  let canBeIncremental = true;
  const made = {
    collection: 'users',
    sync: { writer: { progress: null } },
    deltaEveryMs: 1_000,
    // No incremental sync runs beside a full one.
    sleep: (_ms: number, aborted: AbortSignal) =>
      new Promise((resolve) => aborted.addEventListener('abort', resolve)),
    fullSyncs: new FullSyncs(),
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
  } as unknown as FollowUpParts;
  return { made, modes };
}

describe('a sync and what it leads to', () => {
  it('an incremental sync with an oversized delta becomes a full one, and the result counts the rows of both', async () => {
    const { made, modes } = parts([{ kind: 'oversized', stats: statsOf('DELTA', 3) }, complete(4)]);
    const result = await syncWithFollowUps(made, 'DELTA', { signal });
    expect(modes).toEqual(['DELTA', 'FULL']);
    expect(result.stats.rowsCreated).toBe(7);
  });

  it('once the hub refuses the filter, a full sync takes the place of each incremental one', async () => {
    const refused = new HubError('HUB_REQUEST_REFUSED', 'refused', { remedy: '' });
    const { made, modes } = parts([refused, complete(1), complete(1)]);
    await syncWithFollowUps(made, 'DELTA', { signal });
    await syncWithFollowUps(made, 'DELTA', { signal });
    expect(modes).toEqual(['DELTA', 'FULL', 'FULL']);
  });

  it('another failure of an incremental sync is thrown, and no full one runs', async () => {
    const failure = new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });
    const { made, modes } = parts([failure]);
    await expect(syncWithFollowUps(made, 'DELTA', { signal })).rejects.toBe(failure);
    expect(modes).toEqual(['DELTA']);
  });

  it('a full sync that wants a second one gets it, and what the first let out counts', async () => {
    const first = complete(1, { wantsSecondSync: true, approvedGone: 5 });
    const { made, modes } = parts([first, complete(2, { approvedGone: 0 })]);
    const result = await syncWithFollowUps(made, 'FULL', { signal });
    expect(modes).toEqual(['FULL', 'FULL']);
    expect(result).toMatchObject({ stats: { rowsCreated: 3 }, approvedGone: 5 });
  });

  it('a second sync that wants a third does not get it', async () => {
    const { made, modes } = parts([
      complete(1, { wantsSecondSync: true }),
      complete(1, { wantsSecondSync: true }),
    ]);
    await syncWithFollowUps(made, 'FULL', { signal });
    expect(modes).toEqual(['FULL', 'FULL']);
  });
});
