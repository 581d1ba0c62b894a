import type { LateRows } from '../core/late-rows.ts';
import type { KeyedRow, PageTally } from '../core/page-decision.ts';
import { noTally, type ChainTally } from './chains/chain-task.ts';
import type { SyncMode } from '../model/progress.ts';

/** The running numbers of one pass; what its progress records say. */
export interface SyncStats {
  readonly passId: string;
  readonly mode: SyncMode;
  /** Hub time, ms since the epoch. */
  startedAtMs: number;
  rowsSeen: number;
  rowsUnchanged: number;
  /** Older than what was published since their request was sent. */
  rowsStale: number;
  /** Listed once more, with other content. */
  rowsRepeated: number;
  rowsCreated: number;
  rowsUpdated: number;
  rowsRejected: number;
  rowsWithoutId: number;
  rowsRemoved: number;
  rowsWithheld: number;
  totalAtStart: number | null;
  totalAtEnd: number | null;
  /** Why rows were rejected, with how many of them; names fields, never values. */
  readonly rejectReasons: Map<string, number>;
  /** Of a complete full pass: rows that deltas have missed; null where there is nothing to judge by. */
  late: LateRows | null;
  /** What followed from its rows, where they are versions of absences. */
  readonly chains: ChainTally;
}

export function newSyncStats(options: { passId: string; mode: SyncMode; startedAtMs: number }): SyncStats {
  return {
    ...options,
    rowsSeen: 0,
    rowsUnchanged: 0,
    rowsStale: 0,
    rowsRepeated: 0,
    rowsCreated: 0,
    rowsUpdated: 0,
    rowsRejected: 0,
    rowsWithoutId: 0,
    rowsRemoved: 0,
    rowsWithheld: 0,
    totalAtStart: null,
    totalAtEnd: null,
    late: null,
    rejectReasons: new Map(),
    chains: noTally(),
  };
}

/** More reasons than this are not told apart: a hub could name a field anew in each row. */
const MOST_REASONS = 100;

export function countRejects(stats: SyncStats, readings: readonly KeyedRow[]): void {
  const { rejectReasons } = stats;
  for (const { decoded: reading } of readings) {
    if (reading.kind !== 'reject') continue;
    const isKept = rejectReasons.has(reading.reason) || rejectReasons.size < MOST_REASONS;
    const reason = isKept ? reading.reason : 'other reasons';
    rejectReasons.set(reason, (rejectReasons.get(reason) ?? 0) + 1);
  }
}

export interface RejectReason {
  readonly reason: string;
  readonly rows: number;
}

/** The commonest first. */
export function commonestReasons({ rejectReasons }: SyncStats, count: number): RejectReason[] {
  return [...rejectReasons]
    .map(([reason, rows]) => ({ reason, rows }))
    .sort((one, other) => other.rows - one.rows)
    .slice(0, count);
}

/** Adds what a page came to. */
export function addTally(stats: SyncStats, tally: PageTally): void {
  stats.rowsSeen += tally.seen;
  stats.rowsUnchanged += tally.unchanged;
  stats.rowsStale += tally.stale;
  stats.rowsRepeated += tally.repeated;
  stats.rowsCreated += tally.created;
  stats.rowsUpdated += tally.updated;
  stats.rowsRejected += tally.rejected;
  stats.rowsWithoutId += tally.withoutId;
}
