import { Registry } from 'prom-client';
import { ConfigFile } from '../../../../src/config/config-file.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { Progress } from '../../../../src/model/progress.ts';
import type { PipelineEvent } from '../../../../src/core/pipeline-events.ts';
import { newSyncStats } from '../../../../src/core/sync-stats.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { Board } from '../../../../src/telemetry/board.ts';
import { jsonWith, tenantOf } from '../../config/config-text.ts';

const MINUTE_MS = 60_000;

/** A configuration of these tenants with these collections. */
export function configOf(tenants: readonly string[], collections: readonly string[]) {
  const text = jsonWith(tenants.map((id) => tenantOf(id, { collections, afterschools: ['a'] })));
  return new ConfigFile({ path: 'rollcall.yaml', env: {}, readFile: () => text });
}

/** The process's own view of `north`, fed with events as `rollcall run` feeds it, on a clock that a test moves. */
export function boardOf(startMs: number, collections: readonly CollectionName[] = ['users', 'orgs']) {
  let nowMs = startMs;
  const now = (): number => nowMs;
  const registry = new Registry();
  const board = new Board(configOf(['north'], collections), { version: '1.2.3', now });
  board.hold(['north']);
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
      emit({ type: 'session-opened' });
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

export function loaded(collection: CollectionName, nowMs: number): Progress {
  return {
    collection,
    sequence: 2,
    transactionId: 't2',
    syncId: 'p2',
    mode: 'INCREMENTAL',
    complete: true,
    startedAtMs: nowMs - MINUTE_MS,
    rowsSeen: 3,
    rowsPublished: 2,
    rowsRejected: 0,
    rowsRemoved: 0,
    rowsWithheld: 0,
    totalAtStart: null,
    totalAtEnd: null,
    watermarkMs: nowMs - 6 * MINUTE_MS,
    offsets: {},
    lastCompleteFull: {
      syncId: 'p1',
      startedAtMs: nowMs - 60 * MINUTE_MS,
      offsets: {},
      rows: 10,
      rowsNotFound: 0,
      rowsRejected: 0,
      rowsWithoutId: 0,
      rowsWithheld: 0,
    },
  };
}
