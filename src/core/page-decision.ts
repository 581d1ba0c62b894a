import type { ChangeKind } from './cloud-events.ts';
import type { ReadableRow, DecodedRow, UnreadableRow } from './decoded-row.ts';

/** A row of a page with its record key. */
export interface KeyedRow {
  /** Key of the record; null for an unreadable row without an id. */
  readonly key: string | null;
  /** Second part of the key in `rejects`. */
  readonly rejectKey: string;
  readonly decoded: DecodedRow;
  /** A composed value that holds nothing: where it held something before, that counts as a deletion (design). */
  readonly becameEmpty?: boolean | undefined;
}

export type Change =
  | {
      readonly area: 'rows';
      readonly key: string;
      readonly kind: 'created' | 'updated';
      readonly row: ReadableRow;
    }
  | { readonly area: 'rows'; readonly key: string; readonly kind: 'deleted' }
  | {
      readonly area: 'rejects';
      readonly key: string;
      readonly kind: 'created' | 'updated';
      readonly reject: UnreadableRow;
    }
  | { readonly area: 'rejects'; readonly key: string; readonly kind: 'deleted' };

export interface PageTally {
  /** Rows that the hub lists; one that it lists once more, as it was, counts once. */
  seen: number;
  unchanged: number;
  created: number;
  updated: number;
  rejected: number;
  /** Of the rejected: those that cannot be told apart from a row that is gone. */
  withoutId: number;
  /** Rows older than what was published since their request was sent. */
  stale: number;
  /** Rows, readable or not, that the hub lists once more, with other content: their first place counts. */
  repeated: number;
}

/**
 * The changes that a page's rows amount to, in the page's order.
 *
 * `known…` give the hash as of the index and everything about to be committed, null for none; they must also reflect
 * the changes this very page leads to, which `note` is told of.
 *
 * Of an id that a pass meets more than once the first place counts: else a hub that lists two contents under one id
 * would be published anew at every full pass (invariant 8). A walk by offset may also meet a row again because it moved
 * under the walk, then with newer content. Nothing of that is lost: the watermark is the hub's clock at the pass's start,
 * less the overlap, so that the next delta brings the change; a change without a stamp comes with the next full pass.
 */
export function decidePage(
  page: readonly KeyedRow[],
  known: {
    row: (key: string) => Buffer | null;
    reject: (key: string) => Buffer | null;
    /** Published after the page's request was sent: the page's row is the older one (invariant 4). */
    stale: (key: string) => boolean;
    /** Met on an earlier page of this pass. */
    metBefore: (key: string) => boolean;
    /** To be told even if it is as it was; asked of each row that can be. */
    republication?: ((key: string) => boolean) | undefined;
    note: (change: Change) => void;
  },
): PageTally {
  const tally: PageTally = {
    seen: 0,
    unchanged: 0,
    created: 0,
    updated: 0,
    rejected: 0,
    withoutId: 0,
    stale: 0,
    repeated: 0,
  };
  const metHere = new Set<string>();
  for (const { key, rejectKey, decoded } of page) {
    const isReject = decoded.kind === 'reject';
    const before = isReject || key === null ? known.reject(rejectKey) : known.row(key);
    const changed = kindOfChange(before, decoded.hash);
    if (key !== null && (metHere.has(key) || known.metBefore(key))) {
      // Pages that overlap bring the same row twice, which is one row.
      if (changed === null) continue;
      tally.seen += 1;
      tally.repeated += 1;
      continue;
    }
    if (key !== null) metHere.add(key);
    tally.seen += 1;
    const isStale = known.stale(key ?? rejectKey);
    if (isReject) {
      tally.rejected += 1;
      if (key === null) tally.withoutId += 1;
      if (changed !== null && !isStale) {
        known.note({ area: 'rejects', key: rejectKey, kind: changed, reject: decoded });
      }
      continue;
    }
    const isAgain = key !== null && !isStale && known.republication?.(key) === true;
    const kind = changed ?? (isAgain ? 'updated' : null);
    if (key === null || (kind !== null && isStale)) {
      tally.stale += 1;
      continue;
    }
    if (kind === null) {
      tally.unchanged += 1;
    } else {
      tally[kind] += 1;
      known.note({ area: 'rows', key, kind, row: decoded });
    }
    const wasReject = !isStale && known.reject(rejectKey) !== null;
    if (wasReject) known.note({ area: 'rejects', key: rejectKey, kind: 'deleted' });
  }
  return tally;
}

function kindOfChange(before: Buffer | null, now: Buffer): Exclude<ChangeKind, 'deleted'> | null {
  if (before === null) return 'created';
  return before.equals(now) ? null : 'updated';
}
