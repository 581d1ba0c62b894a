import type { FullScan } from '../core/completeness.ts';
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
}

/** `isGone`: the hub does not find the parent, which proves nothing about its rows. */
export type SourceEnd = ScanEnd & { readonly isGone?: boolean | undefined };

/** One scan of a collection: most have one, nested ones have one per parent. */
export interface SourceScan {
  open(options: {
    modifiedAfterMs: number | undefined;
    readVersion: () => number;
    /** Left out where every page is to be parsed; used by collections whose key is the `sourcedId` alone. */
    pages?: ReadOptions['pages'];
    signal: AbortSignal;
  }): AsyncGenerator<SourcePage, SourceEnd>;
}

/** How the scans of a collection ended, taken together. */
export function endingOf(ends: readonly SourceEnd[]): FullScan['ending'] {
  if (ends.some(({ reason }) => reason === 'missing-list')) return 'no-list';
  if (ends.some(({ reason }) => reason === 'repeated-page')) return 'repeated';
  if (!ends.every(({ reason }) => reason === 'no-rows')) return 'hub-sign';
  return ends.some(({ isGone }) => isGone === true) ? 'gone' : 'empty';
}
