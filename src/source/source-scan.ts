import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { KeyedRow } from '../core/rows/compare-with-published.ts';
import type { HubPage, ScanEnd, ReadOptions } from '../hub/hub.ts';

/** A page of a source, as decoded rows with keys. */
export interface SourcePage extends Pick<
  HubPage,
  'hubTimeMs' | 'total' | 'readVersion' | 'known' | 'fingerprint'
> {
  /** Decoded when they are first read, if the page is {@link known}. */
  readonly rows: readonly KeyedRow[];
  /** The next page waits until the reader is done with this one (see {@link LARGE_BYTES}). */
  readonly isLarge?: boolean;
  /**
   * Keys of rejects that this page makes obsolete although it stages no row for them, such as that of a day that can be
   * read now, and has no lessons.
   */
  readonly readAgain?: readonly string[];
}

/** `distinctRows`: the number of distinct rows that the hub's totals count, if these are not the rows of the pages. */
export type SourceEnd = ScanEnd & Partial<Pick<ScanEvidence, 'isUnread' | 'isComposed' | 'distinctRows'>>;

/** How the hub is read, but not what is read. Only collections whose key is the `sourcedId` alone use `pages`. */
export type OpenOptions = Omit<ReadOptions, 'collection' | 'parentId'>;

/** What a sync reads. It is decided when the sync begins. */
export interface Reading {
  /** One scope for each scan: the ids of the parents, or, in a plain collection, only the empty string. */
  readonly scopes: ReadonlySet<string>;
  /** Opens the scan of a scope. */
  readonly open: (scope: string, options: OpenOptions) => AsyncGenerator<SourcePage, SourceEnd>;
  /**
   * Only for lessons. Whether a published key is outside what is mirrored: its student is not wanted any more, or its
   * day has left the window. A full sync removes such keys when it begins.
   */
  readonly isOutside?: (key: string) => boolean;
}
