import { Registry } from 'prom-client';
import { RunningConfig } from '../../../../src/config/running-config.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { DeletionState, LastCompleteFull, Progress } from '../../../../src/model/progress.ts';
import type { PipelineEvent } from '../../../../src/core/pipeline-events.ts';
import { newSyncStats } from '../../../../src/core/sync-stats.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { Board } from '../../../../src/telemetry/board.ts';
import { jsonWith, tenantOf } from '../../config/config-text.ts';
import { madeProgress } from '../../core/support/progress.ts';

const MINUTE_MS = 60_000;

export const ANSWERED: PipelineEvent = {
  type: 'hub',
  event: { type: 'request-done', target: 'users', status: 200, durationMs: 1, bytes: 2 },
};

/** A configuration of these tenants with these collections. */
export function configOf(tenants: readonly string[], collections: readonly string[]) {
  const text = jsonWith(
    tenants.map((id) => tenantOf(id, { collections, afterschools: ['a'], schedules: { students: ['x'] } })),
    { redis: { url: 'redis://localhost:6379' } },
  );
  return new RunningConfig({ path: 'rollcall.yaml', env: {}, readFile: () => text });
}

/** The process's own view of `north`, fed with events as `rollcall run` feeds it, on a clock that a test moves. */
export function boardOf(startMs: number, collections: readonly CollectionName[] = ['users', 'orgs']) {
  let nowMs = startMs;
  const now = (): number => nowMs;
  const registry = new Registry();
  const board = new Board(configOf(['north'], collections), { version: '1.2.3', now });
  board.showTenants(['north']);
  const count = createMetrics(registry, board, { process: false });
  const emit = (...events: readonly PipelineEvent[]): void => {
    for (const event of events) {
      count('north', event);
      board.note('north', event);
    }
  };
  return {
    board,
    registry,
    emit,
    passes: (ms: number): void => void (nowMs += ms),
    /** Taken over, and both collections are loaded. */
    isWell(): void {
      emit({ type: 'owned', owner: 'vm-1' });
      for (const collection of ['users', 'orgs'] as const)
        emit(caughtUp(collection, loaded(collection, nowMs)));
      emit({ type: 'session-opened' }, ANSWERED);
    },
  };
}

export function caughtUp(collection: CollectionName, progress: Progress | null): PipelineEvent {
  return {
    type: 'caught-up',
    collection,
    how: 'current',
    why: '',
    rows: 10,
    rejects: 0,
    progress,
    contradictions: null,
  };
}

type SyncEnded = Extract<PipelineEvent, { type: 'sync-ended' }>;

/** The end of a complete full sync of `users`, but for what is given. */
export function syncEnded(given: Partial<SyncEnded> = {}): SyncEnded {
  const { mode = 'FULL' } = given;
  const stats = newSyncStats({ syncId: 'p3', mode, startedAtMs: 0 });
  const rows = { durationMs: 0, rows: 10, rejects: 0, progress: null };
  return {
    type: 'sync-ended',
    mode,
    collection: 'users',
    outcome: 'complete',
    why: null,
    short: null,
    stats,
    ...rows,
    ...given,
  };
}

/** The progress of a collection some minutes after its last complete full sync; `full`: what differs of that one. */
export function loaded(
  collection: CollectionName,
  nowMs: number,
  full: Partial<LastCompleteFull> = {},
): Progress {
  const others = { rowsNotFound: 0, rowsRejected: 0, rowsWithoutId: 0, rowsOnHold: 0 };
  const began = { syncId: 'p1', startedAtMs: nowMs - 60 * MINUTE_MS, offsets: {} };
  return madeProgress({
    collection,
    sequence: 2,
    mode: 'INCREMENTAL',
    startedAtMs: nowMs - MINUTE_MS,
    rowsSeen: 3,
    rowsPublished: 2,
    watermarkMs: nowMs - 6 * MINUTE_MS,
    lastCompleteFull: { ...began, rows: 10, ...others, ...full },
  });
}

/** The progress of a collection of whose rows some are missing, by default on hold. */
export function onHoldIn(
  collection: CollectionName,
  rowsOnHold: number,
  { nowMs = 0, ...given }: Partial<DeletionState> & { nowMs?: number } = {},
): Progress {
  const deletions = { settledBy: 's', day: '', removed: 0, onHoldSinceMs: 1, why: null, ...given };
  return { ...loaded(collection, nowMs), rowsOnHold, deletions };
}
