import type { ChangeKind } from '../cloud-events.ts';
import type { ReadableRow, DecodedRow, UnreadableRow } from './decoded-row.ts';

/** A row of a page with its record key. */
export interface KeyedRow {
  /** Key of the record; null for an unreadable row without an id. */
  readonly key: string | null;
  /** Second part of the key in `rejects`. */
  readonly rejectKey: string;
  readonly decoded: DecodedRow;
  /** The value is composed of several rows, and there are none. If the published value has content, this counts as a deletion (contract). */
  readonly isEmpty?: boolean | undefined;
  /** The row says that there is nothing under its key. This is news only if a value was published. */
  readonly needsKnown?: boolean | undefined;
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

/** What became of the rows of a page, as numbers. A sync has the same numbers, summed over its pages. */
export type PageTally = ReturnType<typeof noRows>;

export function noRows() {
  return {
    /** Rows that the hub lists. An identical repetition of a row does not count. */
    rowsSeen: 0,
    rowsUnchanged: 0,
    rowsCreated: 0,
    rowsUpdated: 0,
    rowsRejected: 0,
    /** Rejected rows without an id. Each of them could be any of the rows that seem to be missing. */
    rowsWithoutId: 0,
    /** Rows older than a record that was published after their request was sent. */
    rowsStale: 0,
    /** Rows that were already deleted when Rollcall first read them. They are left to the next full sync. */
    rowsAlreadyDeleted: 0,
    /** Rows, readable or not, that the hub lists again with different content. The first occurrence counts. */
    rowsRepeated: 0,
  };
}

/** The tally of a page without any change. */
export function unchangedRows(rows: number): PageTally {
  return { ...noRows(), rowsSeen: rows, rowsUnchanged: rows };
}

/**
 * Compares a page with what is published, and passes the changes to `note` in the page's order.
 *
 * `known.row` and `known.reject` return the hash according to the index and the staged changes, null for none; they must
 * also reflect the changes that this call has passed to `note`.
 *
 * When an id occurs more than once in a sync, the first occurrence counts. Otherwise a hub that lists two contents under
 * one id would cause an event at every full sync (invariant 8). An offset scan can also see a row again, with newer
 * content, because the row moved. That change is not lost: the watermark is the hub's clock at the start of the sync
 * minus the overlap, so the next incremental sync brings it; a change without a new `dateLastModified` comes with the
 * next full sync.
 */
export function findRowChanges(
  page: readonly KeyedRow[],
  known: {
    row: (key: string) => Buffer | null;
    reject: (key: string) => Buffer | null;
    /** Whether the key was published after the request for the page was sent: then the row of the page is older (invariant 4). */
    stale: (key: string) => boolean;
    /** Whether an earlier page of this sync had the key. */
    seenBefore: (key: string) => boolean;
    /** Whether to publish a row, or its reject, even if it is unchanged. Called for each row that is not stale. */
    republication?: ((key: string) => boolean) | undefined;
    /**
     * Whether a row that is not published yet is deleted already. Left out in a full sync, which publishes such rows.
     */
    isAlreadyDeleted?: ((row: ReadableRow) => boolean) | undefined;
    note: (change: Change) => void;
  },
): PageTally {
  const tally = noRows();
  const seenHere = new Set<string>();
  for (const { key, rejectKey, decoded } of page) {
    const isReject = decoded.kind === 'reject';
    const before = isReject || key === null ? known.reject(rejectKey) : known.row(key);
    const changed = kindOfChange(before, decoded.hash);
    if (key !== null && (seenHere.has(key) || known.seenBefore(key))) {
      // An identical repetition does not count: pages may overlap.
      if (changed === null) continue;
      tally.rowsSeen += 1;
      tally.rowsRepeated += 1;
      continue;
    }
    if (key !== null) seenHere.add(key);
    tally.rowsSeen += 1;
    const isStale = known.stale(key ?? rejectKey);
    if (isReject) {
      tally.rowsRejected += 1;
      if (key === null) tally.rowsWithoutId += 1;
      const isAgain = !isStale && known.republication?.(rejectKey) === true;
      const kind = changed ?? (isAgain ? 'updated' : null);
      if (kind !== null && !isStale) known.note({ area: 'rejects', key: rejectKey, kind, reject: decoded });
      continue;
    }
    if (changed === 'created' && known.isAlreadyDeleted?.(decoded) === true) {
      tally.rowsAlreadyDeleted += 1;
      continue;
    }
    const isAgain = key !== null && !isStale && known.republication?.(key) === true;
    const kind = changed ?? (isAgain ? 'updated' : null);
    if (key === null || (kind !== null && isStale)) {
      tally.rowsStale += 1;
      continue;
    }
    if (kind === null) {
      tally.rowsUnchanged += 1;
    } else {
      tally[kind === 'created' ? 'rowsCreated' : 'rowsUpdated'] += 1;
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
