import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { KeyedRow } from '../core/rows/row-changes.ts';
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
  /** Keys in `rejects` that can be read again, apart from those of the rows themselves. */
  readonly readAgain?: readonly string[];
}

export interface SourceEnd extends ScanEnd {
  /** Nothing of this parent could be read. This proves nothing about its rows, and says nothing about other parents. */
  readonly isUnread?: boolean | undefined;
  /** The number of distinct rows that the hub's totals count, if these are not the rows of the pages. */
  readonly distinctRows?: number | undefined;
}

/** How the hub is read, but not what is read. Only collections whose key is the `sourcedId` alone use `pages`. */
export type OpenOptions = Omit<ReadOptions, 'collection' | 'parentId'>;

/** One scan of a collection. */
export interface SourceScan {
  readonly scope: string;
  open(options: OpenOptions): AsyncGenerator<SourcePage, SourceEnd>;
}

/** Opens scans in their order, and some of them ahead of their turn. Otherwise each of many short scans would wait for its first page. */
export async function* scansAhead(
  scans: readonly SourceScan[],
  options: { readonly ahead: number; readonly open: (scope: string) => OpenOptions },
): AsyncGenerator<{ readonly scope: string; readonly pages: AsyncGenerator<SourcePage, SourceEnd> }, void> {
  const left = scans.values();
  const opened: (ReturnType<typeof openNow> & { readonly scope: string; readonly begin: () => void })[] = [];
  try {
    for (;;) {
      for (const scan of left.take(options.ahead + 1 - opened.length)) {
        const { promise: turn, resolve: begin } = Promise.withResolvers<void>();
        const { scope } = scan;
        opened.push({ scope, begin, ...openNow(scan.open({ ...options.open(scope), turn })) });
      }
      const next = opened.shift();
      if (next === undefined) return;
      next.begin();
      yield { scope: next.scope, pages: pagesOf(next) };
    }
  } finally {
    for (const { begin } of opened) begin();
    await Promise.all(opened.map(({ pages }) => pages.return(undefined as never).catch(() => undefined)));
  }
}

/** Asks for the first page, which may fail before anyone awaits it. */
function openNow(pages: AsyncGenerator<SourcePage, SourceEnd>) {
  const first = pages.next();
  first.catch(() => undefined);
  return { pages, first };
}

async function* pagesOf({ pages, first }: ReturnType<typeof openNow>): AsyncGenerator<SourcePage, SourceEnd> {
  try {
    for (let step = await first; ; step = await pages.next()) {
      if (step.done === true) return step.value;
      yield step.value;
    }
  } finally {
    await pages.return(undefined as never).catch(() => undefined);
  }
}

/** What a sync reads. It is decided when the sync begins. */
export interface Reading {
  /** What each scan speaks for: the ids of the parents, or for a plain collection only the empty text. */
  readonly scopes: ReadonlySet<string>;
  /** The scans of some of the scopes, in the order in which they are read. */
  readonly scans: (scopes: ReadonlySet<string>) => readonly SourceScan[];
  /**
   * Whether a published key is outside what is mirrored, by the configuration or by the day. A full sync removes such
   * keys when it begins.
   */
  readonly isOutside?: (key: string) => boolean;
}

/** What a scan proves that has ended. `counted`: the distinct rows of its pages, and those of them without an id. */
export function evidenceOf(
  scope: string,
  end: SourceEnd,
  counted: Pick<ScanEvidence, 'distinctRows' | 'rowsWithoutId'>,
): ScanEvidence {
  const { paging, totalAtStart, totalAtEnd } = end;
  const distinctRows = end.distinctRows ?? counted.distinctRows;
  return {
    scope,
    ending: endingOf(end),
    byOffset: paging === 'offset',
    isComposed: end.distinctRows !== undefined,
    distinctRows,
    repeatedRows: Math.max(0, end.rows - distinctRows),
    rowsWithoutId: counted.rowsWithoutId,
    totalAtStart,
    totalAtEnd,
  };
}

function endingOf({ reason, isUnread }: SourceEnd): ScanEvidence['ending'] {
  if (isUnread === true) return 'unread';
  if (reason === 'missing-list') return 'no-list';
  return reason === 'repeated-page' ? 'repeated' : 'proper';
}
