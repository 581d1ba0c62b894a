import { SeenKeys } from './seen-keys.ts';

/** What a full pass says of rows that the hub showed later behind their stamps than deltas reach back. */
export interface LateRows {
  readonly rows: number;
  /** None of them was shown later than this behind its stamp, ms; each was shown later than the overlap. */
  readonly lagAtMostMs: number;
}

/** The stamps, hub time in ms, between which a row that is new to us should have come by a delta: after, up to. */
interface Span {
  readonly afterMs: number;
  readonly upToMs: number;
}

/** Rows met by deltas that are remembered, 17 MB at most; many times what changes between two daily full passes. */
const MET_AT_MOST = 500_000;

/**
 * Finds the rows that deltas have missed, when a full pass brings them. Such a row has content that is new to us and a
 * stamp that is covered: newer than the beginning of the last full pass of this session, so that only deltas could have
 * brought it, and not newer than the watermark, so that no later delta will. No delta has met the row with this stamp.
 * The last rule tells it from a row that was read in time and whose content changed later under the same stamp.
 *
 * Where full passes fail for so long that deltas meet more rows than are remembered, nothing is said of that time.
 *
 * It cannot know: rows that became visible to this client alone (a right that was granted), which look the same; rows
 * stamped before the session began; rows that a hub stamps with a time of its source.
 */
export class LateRowWatch {
  readonly #newSeed: () => number;
  readonly #metAtMost: number;
  /** Rows that deltas met, with their stamps, since {@link #sinceMs}; null: they were too many. */
  #met: SeenKeys | null;
  /** The same since the full pass at hand began; null also when none is under way. */
  #metSinceFull: SeenKeys | null = null;
  #sinceMs: number | null = null;
  #span: Span | null = null;
  #rows = 0;
  #earliestMs = Number.POSITIVE_INFINITY;

  /** `newSeed`: any 32-bit integer, random. */
  constructor(newSeed: () => number, metAtMost = MET_AT_MOST) {
    this.#newSeed = newSeed;
    this.#metAtMost = metAtMost;
    this.#met = new SeenKeys(newSeed());
  }

  /** A delta met a row. */
  noteMet(key: string, stampMs: number): void {
    const met = `${stampMs} ${key}`;
    this.#met = this.#withOne(this.#met, met);
    if (this.#met === null) this.#span = null;
    this.#metSinceFull = this.#withOne(this.#metSinceFull, met);
  }

  #withOne(all: SeenKeys | null, met: string): SeenKeys | null {
    all?.add(met);
    return all !== null && all.size > this.#metAtMost ? null : all;
  }

  /** A full pass begins; `watermarkMs` is what the deltas before it have reached, null where there were none. */
  beginFull(watermarkMs: number | null): void {
    this.#metSinceFull = new SeenKeys(this.#newSeed());
    this.#rows = 0;
    this.#earliestMs = Number.POSITIVE_INFINITY;
    const afterMs = this.#met === null ? null : this.#sinceMs;
    this.#span = afterMs === null || watermarkMs === null ? null : { afterMs, upToMs: watermarkMs };
  }

  /** The full pass met a row whose content is new to us. */
  noteNew(key: string, stampMs: number | null): void {
    if (stampMs === null || this.#span === null) return;
    if (stampMs <= this.#span.afterMs || stampMs > this.#span.upToMs) return;
    if (this.#met?.has(`${stampMs} ${key}`) === true) return;
    this.#rows += 1;
    this.#earliestMs = Math.min(this.#earliestMs, stampMs);
  }

  /** The full pass is complete; hub times of its start and end. Null: there was nothing to judge by. */
  endFull({ startedAtMs, endedAtMs }: { startedAtMs: number; endedAtMs: number }): LateRows | null {
    const span = this.#span;
    this.#met = this.#metSinceFull;
    this.#metSinceFull = null;
    this.#span = null;
    this.#sinceMs = startedAtMs;
    if (span === null || span.upToMs <= span.afterMs) return null;
    const rows = this.#rows;
    return { rows, lagAtMostMs: rows === 0 ? 0 : Math.max(0, endedAtMs - this.#earliestMs) };
  }

  /** A delta is complete; `startedAtMs` is when it began. */
  endDelta(startedAtMs: number): void {
    this.#sinceMs ??= startedAtMs;
  }
}
