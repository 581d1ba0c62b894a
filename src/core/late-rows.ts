import type { ReadableRow } from './decoded-row.ts';
import { isOverBeforeMet } from './deletions/over-before-met.ts';

/** The rows that a full sync found and that incremental syncs missed. */
export interface LateRows {
  readonly rows: number;
  /**
   * Upper bound of the time between a row's `dateLastModified` and its appearance, ms; each exceeds the overlap. Null if no
   * incremental sync of the session ever brought a row: then the hub's filter, not the overlap, is to be looked at.
   */
  readonly lagAtMostMs: number | null;
}

export function explainLate({ lagAtMostMs }: LateRows): string {
  const why =
    lagAtMostMs === null
      ? "and none has brought a row: the hub's filter on dateLastModified seems to select nothing"
      : 'since the hub shows them longer after their dateLastModified than deltaOverlap, or changes rows without a new one: raise deltaOverlap';
  return `incremental syncs missed rows that the last full sync found, ${why}`;
}

/** Incremental syncs should have brought every row modified in this range (hub time, ms since the epoch). */
interface Span {
  readonly afterMs: number;
  readonly upToMs: number;
}

/**
 * Counts the rows that a full sync finds and incremental syncs missed. Two things identify such a row: its content is
 * new; and its `dateLastModified` is after the start of this session's last full sync (only an incremental sync could have
 * brought it) and not after the watermark (no later one will). A row that is over already is not counted, since incremental
 * syncs leave it to the full sync.
 *
 * It cannot distinguish rows that became visible to this client alone (a right was granted), and rows that were read in
 * time and changed later without a new timestamp. It does not find rows modified before the session began or rows to which
 * the hub gives a time of its own source.
 */
export class LateRowWatch {
  #sinceMs: number | null = null;
  /** Whether an incremental sync ever brought a row. */
  #hasBrought = false;
  #span: Span | null = null;
  #rows = 0;
  #earliestMs = Number.POSITIVE_INFINITY;

  /** An incremental sync read a row. */
  noteBrought(): void {
    this.#hasBrought = true;
  }

  /** A full sync begins; `watermarkMs` is what earlier incremental syncs have reached, null when there were none. */
  beginFull(watermarkMs: number | null): void {
    this.#rows = 0;
    this.#earliestMs = Number.POSITIVE_INFINITY;
    const afterMs = this.#sinceMs;
    this.#span = afterMs === null || watermarkMs === null ? null : { afterMs, upToMs: watermarkMs };
  }

  /** The full sync read a row whose content is new. */
  noteNew(row: Pick<ReadableRow, 'value' | 'modifiedAtMs'>): void {
    const { modifiedAtMs } = row;
    if (modifiedAtMs === null || this.#span === null) return;
    if (modifiedAtMs <= this.#span.afterMs || modifiedAtMs > this.#span.upToMs) return;
    if (isOverBeforeMet(row, () => false)) return;
    this.#rows += 1;
    this.#earliestMs = Math.min(this.#earliestMs, modifiedAtMs);
  }

  /** The full sync is complete; hub times of its start and end. Null: there was nothing to judge by. */
  endFull({ startedAtMs, endedAtMs }: { startedAtMs: number; endedAtMs: number }): LateRows | null {
    const span = this.#span;
    this.#span = null;
    this.#sinceMs = startedAtMs;
    if (span === null || span.upToMs <= span.afterMs) return null;
    const rows = this.#rows;
    if (rows === 0) return { rows, lagAtMostMs: 0 };
    return { rows, lagAtMostMs: this.#hasBrought ? Math.max(0, endedAtMs - this.#earliestMs) : null };
  }

  /** An incremental sync is complete; `startedAtMs`: hub time of its start. */
  endIncremental(startedAtMs: number): void {
    this.#sinceMs ??= startedAtMs;
  }
}
