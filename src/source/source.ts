import { readClassStudents } from '../core/rows/class-students.ts';
import type { KeyedRow } from '../core/rows/compare-with-published.ts';
import type { DecodedRow, RowReader } from '../core/rows/decoded-row.ts';
import { RollcallError } from '../errors.ts';
import type { Hub, ScanEnd } from '../hub/hub.ts';
import { HubError, LARGE_BYTES } from '../hub/hub-error.ts';
import type { Collection, CollectionName } from '../model/collections.ts';
import { compositeKey, keyOfAll, splitCompositeKey } from '../model/keys.ts';
import { shortfallOf } from '../core/deletions/evidence.ts';
import type { UnmetSettings } from '../core/rows/unmet-settings.ts';
import type { ChangedScopes } from '../table/tenant.ts';
import type { OpenOptions, Reading, SourceEnd, SourcePage } from './source-scan.ts';

/** Rows that were requested by their ids, as far as the hub shows them. */
export type FetchedRows = readonly { readonly rows: readonly KeyedRow[]; readonly readVersion: number }[];

/** The source of a collection's rows: scans of all rows, and requests for single rows. */
export interface Source {
  begin(): Promise<Reading>;
  /** Requests and decodes single rows; for collections whose rows refer to each other. */
  fetchRows?(
    ids: readonly string[],
    options: { readVersion: () => number; signal: AbortSignal },
  ): Promise<FetchedRows>;
  /** The collection whose rows are the scopes, such as the classes of `class-students`. */
  readonly parents?: CollectionName | undefined;
  /**
   * Only for a collection that the hub does not filter by time: an incremental sync reads the scopes that this names.
   */
  readonly changedScopes?: ChangedScopes;
  /** Whether the key of a row is only its `sourcedId`. */
  readonly hasPlainKeys?: boolean;
  /** The scope of a key: its parent's id; empty in a plain collection. */
  scopeOf(key: string): string;
  /** The key in `rejects` of a scope that cannot be read while other scopes can. */
  rejectKeyOf(scope: string): string;
}

interface RowsSource {
  readonly hub: Hub;
  readonly collection: Collection;
  readonly reader: RowReader;
  readonly parentId?: string | undefined;
}

/** A collection whose rows are records: key = `sourcedId`. */
export function plainSource(hub: Hub, collection: Collection, reader: RowReader): Source {
  return {
    hasPlainKeys: true,
    begin: async () => ({
      scopes: new Set(['']),
      open: (_, scan) => readRows({ hub, collection, reader }, scan),
    }),
    scopeOf: () => '',
    rejectKeyOf: keyOfAll,
    async fetchRows(ids, options) {
      const rows = await hub.findRows({ collection, ids, ...options });
      return rows.map(({ row, isUtf8, readVersion }) => ({
        rows: [keyed(readRow(reader, row, isUtf8), undefined)],
        readVersion,
      }));
    },
  };
}

/** A collection with a list for each parent: key = `<parent id>|<sourcedId>`. */
export function nestedSource(
  rows: Omit<RowsSource, 'parentId'> & {
    readonly parentIds: readonly string[];
    /** Learns which parents the hub finds. */
    readonly unmet?: Pick<UnmetSettings, 'noteParent'> | undefined;
  },
): Source {
  const { parentIds, unmet, ...ofAll } = rows;
  return {
    scopeOf: (key) => splitCompositeKey(key)?.[0] ?? '',
    rejectKeyOf: keyOfAll,
    begin: async () => ({
      scopes: new Set(parentIds),
      open: (parentId, scan) =>
        unlessNotFound(readRows({ ...ofAll, parentId }, { ...scan, pages: undefined }), (isFound) =>
          unmet?.noteParent(parentId, isFound),
        ),
    }),
  };
}

/** One record per class, composed from all pages of `classes/{id}/students`. */
export function classStudentsSource(options: {
  hub: Hub;
  collection: Collection;
  /** The collection of the classes. */
  classes: CollectionName;
  /** Ids of the known classes. */
  classIds: () => Promise<Iterable<string>>;
}): Source {
  const { hub, collection, classes } = options;
  return {
    begin: async () => ({
      scopes: new Set(await options.classIds()),
      open: (classId, scan) => unlessNotFound(composeClass({ hub, collection, classId }, scan)),
    }),
    scopeOf: (key) => key,
    rejectKeyOf: (classId) => classId,
    parents: classes,
  };
}

/** If the hub does not find a parent, the scan has no rows, which proves nothing. The scans of the other parents continue. */
async function* unlessNotFound(
  pages: AsyncGenerator<SourcePage, ScanEnd>,
  note?: (isFound: boolean) => void,
): AsyncGenerator<SourcePage, SourceEnd> {
  try {
    const end = yield* pages;
    note?.(true);
    return end;
  } catch (error) {
    if (!(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED') throw error;
    note?.(false);
    return { reason: 'no-rows', paging: 'offset', rows: 0, totalAtStart: 0, totalAtEnd: 0, isUnread: true };
  }
}

async function* readRows(
  { hub, collection, reader, parentId }: RowsSource,
  options: OpenOptions,
): AsyncGenerator<SourcePage, ScanEnd> {
  const pages = hub.readPages({ collection, parentId, ...options });
  try {
    let step = await pages.next();
    for (; step.done !== true; step = await pages.next()) {
      const page = step.value;
      const decode = (): readonly KeyedRow[] =>
        notTooDeep(
          () => page.rows.map((row) => keyed(readRow(reader, row, page.isUtf8), parentId)),
          collection.name,
        );
      const isLarge = page.bytes > LARGE_BYTES;
      let rows = page.known === undefined ? decode() : null;
      // The scan still refers to the undecoded rows, which nobody reads any more: they must not stay in memory.
      if (isLarge) (page.rows as unknown[]).length = 0;
      yield {
        get rows() {
          return (rows ??= decode());
        },
        hubTimeMs: page.hubTimeMs,
        total: page.total,
        readVersion: page.readVersion,
        known: page.known,
        fingerprint: page.fingerprint,
        isLarge,
      };
      // The generators that wait for the next page still refer to this page: its rows must not stay in memory.
      if (isLarge) rows = [];
    }
    return step.value;
  } finally {
    await pages.return(undefined as never);
  }
}

function readRow(reader: RowReader, row: unknown, isUtf8: boolean): DecodedRow {
  return isUtf8 || !holdsReplacement(row) ? reader.read(row) : reader.reject(row, 'its text is not UTF-8');
}

/** U+FFFD may stand for bytes that are not UTF-8: then the original text is lost. */
function holdsReplacement(row: unknown): boolean {
  return JSON.stringify(row).includes('\uFFFD');
}

function keyed(decoded: DecodedRow, parentId: string | undefined): KeyedRow {
  const inParent = (id: string): string => (parentId === undefined ? id : compositeKey(parentId, id));
  return {
    key: decoded.sourcedId === null ? null : inParent(decoded.sourcedId),
    rejectKey: inParent(decoded.kind === 'row' ? decoded.sourcedId : decoded.rejectId),
    decoded,
  };
}

/**
 * Composes the record of a class. If the list is shorter than the hub's total, there is no record: a student who is not
 * on the list may still be in the class.
 */
async function* composeClass(
  { hub, collection, classId }: { hub: Hub; collection: Collection; classId: string },
  options: OpenOptions,
): AsyncGenerator<SourcePage, SourceEnd> {
  const pages = hub.readPages({ collection, parentId: classId, ...options, pages: undefined });
  const rows: unknown[] = [];
  const askedAt = options.readVersion();
  let hubTimeMs: number | null = null;
  let step = await pages.next();
  const readVersion = step.done === true ? askedAt : step.value.readVersion;
  for (; step.done !== true; step = await pages.next()) {
    hubTimeMs ??= step.value.hubTimeMs;
    for (const row of step.value.rows) rows.push(row);
  }
  const end = { ...step.value, isComposed: true, distinctRows: distinctIds(rows) };
  if (end.reason !== 'missing-list' && shortfallOf(end) === null) {
    const decoded = readClassStudents(classId, rows);
    const isEmpty = rows.length === 0;
    const row = { key: classId, rejectKey: classId, decoded, isEmpty };
    yield { rows: [row], hubTimeMs, total: null, readVersion };
  }
  return end;
}

/** A row without an id counts as a separate row. */
function distinctIds(rows: readonly unknown[]): number {
  return new Set(rows.map((row) => (row as { sourcedId?: unknown } | null)?.sourcedId ?? row)).size;
}

/** A value that is nested thousands of levels deep cannot be written as text. */
export function notTooDeep<T>(decode: () => T, name: CollectionName): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new HubError('HUB_BODY_INVALID', `Cannot read a row of ${name}: it is nested too deeply`, {
      remedy:
        'Ask the people who run the hub to remove the deep nesting, or leave the collection out of the configuration.',
    });
  }
}
