import type { KeyedRow } from '../core/page-decision.ts';
import type { ScanEnd } from '../hub/hub.ts';

/** A page of a source, already read into rows with keys. */
export interface SourcePage {
  readonly readings: readonly KeyedRow[];
  readonly hubTimeMs: number | null;
  readonly total: number | null;
  readonly readVersion: number;
}

/** `isGone`: the parent itself is not there, which says nothing of its rows. */
export type SourceEnd = ScanEnd & { readonly isGone?: boolean | undefined };

/** One walk of a collection: most have one, nested ones have one for each parent. */
export interface SourceScan {
  /** No row is known below its parent: its rows tell nothing of whose they are. */
  readonly isOfNewParent?: boolean | undefined;
  open(options: {
    modifiedAfterMs: number | undefined;
    readVersion: () => number;
    signal: AbortSignal;
  }): AsyncGenerator<SourcePage, SourceEnd>;
}
