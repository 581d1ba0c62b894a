import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import type { HubPage, ScanEnd, ReadOptions } from '../hub/hub.ts';

/** A page of a source, as decoded rows with keys. */
export interface SourcePage {
  readonly rows: readonly KeyedRow[];
  readonly hubTimeMs: number | null;
  readonly total: number | null;
  readonly readVersion: number;
  /** See {@link HubPage.known}: the rows are then decoded when they are first read. */
  readonly known?: HubPage['known'];
  readonly print?: HubPage['print'];
  /** The next page waits until the reader is done with this one (see {@link LARGE_BYTES}). */
  readonly isLarge?: boolean;
}

export interface SourceEnd extends ScanEnd {
  /** The hub does not find the parent, which proves nothing about its rows. */
  readonly isNotFound?: boolean | undefined;
  /** Distinct rows that the hub's totals count, where they are not the rows of the pages. */
  readonly distinctRows?: number | undefined;
}

export interface OpenOptions {
  readonly modifiedAfterMs: number | undefined;
  readonly readVersion: () => number;
  /** Left out where every page is to be parsed; used by collections whose key is the `sourcedId` alone. */
  readonly pages?: ReadOptions['pages'];
  readonly refuseLarge?: ReadOptions['refuseLarge'];
  readonly largeAfter?: ReadOptions['largeAfter'];
  readonly signal: AbortSignal;
}

/** One scan of a collection: most have one, nested ones have one per parent. */
export interface SourceScan {
  /** What the scan speaks for: the parent's id; empty for a plain collection. */
  readonly scope: string;
  open(options: OpenOptions): AsyncGenerator<SourcePage, SourceEnd>;
}

/** What an ended scan proves. `counted`: the distinct rows of its pages, and those of them without an id. */
export function evidenceOf(
  scope: string,
  end: SourceEnd,
  counted: Pick<ScanEvidence, 'distinctRows' | 'rowsWithoutId'>,
): ScanEvidence {
  const { paging, totalAtStart, totalAtEnd } = end;
  return {
    scope,
    ending: endingOf(end),
    byOffset: paging === 'offset',
    isComposed: end.distinctRows !== undefined,
    distinctRows: end.distinctRows ?? counted.distinctRows,
    rowsWithoutId: counted.rowsWithoutId,
    totalAtStart,
    totalAtEnd,
  };
}

function endingOf({ reason, isNotFound }: SourceEnd): ScanEvidence['ending'] {
  if (isNotFound === true) return 'not-found';
  if (reason === 'missing-list') return 'no-list';
  return reason === 'repeated-page' ? 'repeated' : 'proper';
}
