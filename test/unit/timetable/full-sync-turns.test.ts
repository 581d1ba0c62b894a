import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import { Semaphore, Turns } from '../../../src/hub/semaphore.ts';
import type { Progress, SyncMode } from '../../../src/model/progress.ts';
import type { SyncResult } from '../../../src/sync/sync-result.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { CollectionRunner, Syncs } from '../../../src/timetable/collection-runner.ts';
import type { SyncTimetable } from '../../../src/timetable/sync-timetable.ts';
import { madeCollection } from '../pipeline/support/made-collection.ts';

const never = new AbortController().signal;

/** One turn, which another tenant has until `release` is called. */
async function takenTurn() {
  const permits = new Semaphore(1);
  const release = await permits.acquire(never);
  return { permits, release, fullSyncs: new Turns(permits, 3_600_000) };
}

/** Syncs that are complete at once, with an incremental one beside a full one at each turn of the event loop. */
async function syncs(fullSyncs: Turns) {
  const modes: SyncMode[] = [];
  const own = await madeCollection({
    commit: () => Promise.reject(new Error('nothing is committed')),
    tenant: { fullSyncs },
    runtime: { sleep: () => nextTurn(undefined) },
    start: { progress: { watermarkMs: 1 } as Progress },
  });
  class Given extends Syncs {
    override run(mode: SyncMode): Promise<SyncResult> {
      modes.push(mode);
      const stats = newSyncStats({ syncId: mode, mode, startedAtMs: 0 });
      const nothing = { withheld: 0, short: null, unconfirmed: 0, confirmAtMs: null };
      return Promise.resolve({ kind: 'complete', stats, ...nothing });
    }
  }
  const timetable = { canBeIncremental: true, hasIncremental: true, mayBringChanges: true };
  return { made: new Given(own, timetable as SyncTimetable), modes };
}

describe('a full sync that is due', () => {
  it('waits for its turn, while incremental syncs go on', async () => {
    const { release, permits, fullSyncs } = await takenTurn();
    const { made, modes } = await syncs(fullSyncs);
    const full = made.withFollowUps('FULL', { signal: never, untilTurn: never });
    await vi.waitFor(() => expect(modes.length).toBeGreaterThan(5), 10_000);
    expect(modes).not.toContain('FULL');
    release();
    expect((await full).stats.mode).toBe('FULL');
    expect(modes.filter((mode) => mode === 'FULL')).toHaveLength(1);
    expect(permits.tryAcquire()).toBeTypeOf('function');
  });

  it('is given up for what comes first, without an end of the incremental sync beside it', async () => {
    const { release, permits, fullSyncs } = await takenTurn();
    const { made, modes } = await syncs(fullSyncs);
    const first = new AbortController();
    const full = made.withFollowUps('FULL', { signal: never, untilTurn: first.signal });
    await vi.waitFor(() => expect(modes).toContain('INCREMENTAL'), 10_000);
    const reason = new Error('a request comes first');
    first.abort(reason);
    await expect(full).rejects.toBe(reason);
    release();
    expect([modes.includes('FULL'), permits.tryAcquire()]).toEqual([false, expect.any(Function)]);
  });

  it('waits for nobody when a person asked for it', async () => {
    const { fullSyncs } = await takenTurn();
    const { made, modes } = await syncs(fullSyncs);
    await made.withFollowUps('FULL', { signal: never });
    expect(modes).toContain('FULL');
  });
});

describe('the loop of a collection whose full sync waits', () => {
  it('serves a request at once, ends with its signal, and leaves no place behind', async () => {
    const { permits, release, fullSyncs } = await takenTurn();
    const failure = new HubError('HUB_UNREACHABLE', 'away', { remedy: '' });
    const events: PipelineEvent[] = [];
    const own = await madeCollection({
      commit: () => Promise.reject(failure),
      tenant: { fullSyncs, emit: (event) => events.push(event) },
      own: { requireRecords: () => Promise.reject(failure) },
      runtime: {
        now: () => Date.now(),
        sleep: (_ms, signal) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('over')))),
      },
    });
    const runner = new CollectionRunner(own);
    const stop = new AbortController();
    const loop = runner.loop(stop.signal);
    const types = () => events.map(({ type }) => type);
    await vi.waitFor(() => expect(types()).toEqual(['full-sync-waits']), 10_000);
    await expect(runner.request('FULL')).rejects.toBe(failure);
    expect(types()).toEqual(['full-sync-waits', 'sync-started', 'sync-failed']);
    stop.abort(new Error('stopping'));
    await loop;
    release();
    expect(permits.tryAcquire()).toBeTypeOf('function');
  });
});
