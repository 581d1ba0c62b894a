import type { FullScan } from '../../core/completeness.ts';
import type { KeyedRow } from '../../core/row-changes.ts';
import { SeenKeys } from '../../core/seen-keys.ts';
import { sumOrNull } from '../../core/sum-or-null.ts';
import type { Hub } from '../../hub/hub.ts';
import { collectionNamed, type Collection } from '../../model/collections.ts';
import { classStudentsSource, nestedSource, plainSource, type Source } from '../source.ts';
import { endingOf, type SourceEnd } from '../source-scan.ts';
import type { TenantCollection, TenantParts } from '../tenant-parts.ts';
import { randomSeed } from '../random-seed.ts';

/** For more keys than this, a scan of the list replaces requests by id. */
export const ASK_AT_MOST = 2_000;

/** The hub's answer to requests by id. Keys in neither list have no answer. */
export interface Asked {
  readonly rows: readonly KeyedRow[];
  readonly notFound: readonly string[];
}

/** The facts of a scan that show whether it saw all rows; each row without an id counts as a distinct row. */
export interface HubScan extends Omit<FullScan, 'knownRows'> {
  /** Start by the hub's clock, ms since the epoch; null when the hub sends no time. */
  readonly startedAtMs: number | null;
}

/** Read access to a collection's rows at the hub. Throws `HUB_…`. */
export interface HubRows {
  /** Reads all rows that the hub lists; null when there is no such list. */
  read(onRows: (rows: readonly KeyedRow[]) => void, signal: AbortSignal): Promise<HubScan | null>;
  /** Whether the configuration still wants a key; other keys are never requested. */
  isWanted(key: string): boolean;
  /** Requests single rows by id, if the hub supports it. */
  ask(keys: readonly string[], signal: AbortSignal): Promise<Asked>;
}

type HubParts = Pick<TenantParts, 'hub'>;

/** For any collection except `schedules`, whose requests name a student. */
export function hubRows(parts: HubParts, collection: TenantCollection): HubRows {
  if (collection.name === 'class-students') return classRows(parts);
  const source = sourceOf(parts, collection);
  return {
    read: (onRows, signal) => readScans(source, onRows, signal),
    isWanted: (key) => source.isWanted?.(key) ?? true,
    async ask(keys, signal) {
      if (source.fetchRows === undefined || keys.length > ASK_AT_MOST) return NOTHING;
      const { pages, gone } = await source.fetchRows(keys, { readVersion: NO_READ_VERSION, signal });
      return { rows: pages.flatMap(({ rows }) => rows), notFound: gone };
    },
  };
}

/** How many of these keys the configuration still wants. */
export function wantedSize(
  entries: Pick<ReadonlyMap<string, unknown>, 'keys' | 'size'>,
  { isWanted }: Pick<HubRows, 'isWanted'>,
): number {
  let unwanted = 0;
  for (const key of entries.keys()) if (!isWanted(key)) unwanted += 1;
  return entries.size - unwanted;
}

const NOTHING: Asked = { rows: [], notFound: [] };
const NO_READ_VERSION = (): number => 0;

function sourceOf({ hub }: HubParts, { name, reader, parentIds = [] }: TenantCollection): Source {
  const collection = collectionNamed(name);
  if (name !== 'afterschool-users') return plainSource(hub, collection, reader);
  return nestedSource({ hub, collection, reader, parentIds });
}

/** Takes the classes from the hub, not from the index. */
function classRows({ hub }: HubParts): HubRows {
  const classes = collectionNamed('classes');
  const sourceFor = (ids: readonly string[]): Source =>
    classStudentsSource({
      hub,
      collection: collectionNamed('class-students'),
      classes,
      // eslint-disable-next-line typescript/require-await
      classIds: async function* () {
        yield ids;
      },
    });
  return {
    isWanted: () => true,
    async read(onRows, signal) {
      const ids = new Set<string>();
      const listed = await readIds(hub, classes, { onId: (id) => ids.add(id), signal });
      const read = await readScans(sourceFor([...ids]), onRows, signal);
      // There is one record per class, so the scan of the classes decides. A class that left since was still requested.
      return listed.ending === 'hub-sign' ? { ...listed, ending: read.ending } : listed;
    },
    async ask(keys, signal) {
      if (keys.length > ASK_AT_MOST) return NOTHING;
      const existing = await hub.findExisting({ collection: classes, ids: keys, signal });
      const rows: KeyedRow[] = [];
      await readScans(sourceFor([...existing]), (page) => rows.push(...page), signal);
      return { rows, notFound: keys.filter((key) => !existing.has(key)) };
    },
  };
}

/** Scans a collection for its ids only. */
export async function readIds(
  hub: Hub,
  collection: Collection,
  { onId, signal }: { onId: (id: string) => void; signal: AbortSignal },
): Promise<HubScan> {
  const met = new Set<string>();
  let rowsWithoutId = 0;
  let startedAtMs: number | null = null;
  const pages = hub.readPages({ collection, readVersion: NO_READ_VERSION, signal });
  for (;;) {
    const step = await pages.next();
    if (step.done === true) {
      return scanOf([step.value], { distinctRows: met.size + rowsWithoutId, startedAtMs });
    }
    startedAtMs ??= step.value.hubTimeMs;
    for (const row of step.value.rows) {
      const id = (row as { sourcedId?: unknown } | null)?.sourcedId;
      if (typeof id !== 'string') rowsWithoutId += 1;
      else if (!met.has(id)) {
        met.add(id);
        onId(id);
      }
    }
  }
}

async function readScans(
  source: Source,
  onRows: (rows: readonly KeyedRow[]) => void,
  signal: AbortSignal,
): Promise<HubScan> {
  const ends: SourceEnd[] = [];
  const met = new SeenKeys(randomSeed());
  let rowsWithoutId = 0;
  let startedAtMs: number | null = null;
  for (const scan of await source.scans()) {
    const pages = scan.open({ modifiedAfterMs: undefined, readVersion: NO_READ_VERSION, signal });
    for (;;) {
      const step = await pages.next();
      if (step.done === true) {
        ends.push(step.value);
        break;
      }
      const { rows, hubTimeMs } = step.value;
      startedAtMs ??= hubTimeMs;
      for (const { key } of rows) {
        if (key === null) rowsWithoutId += 1;
        else met.add(key);
      }
      onRows(rows);
    }
  }
  return scanOf(ends, { distinctRows: met.size + rowsWithoutId, startedAtMs });
}

function scanOf(ends: readonly SourceEnd[], counted: Pick<HubScan, 'distinctRows' | 'startedAtMs'>): HubScan {
  return {
    ...counted,
    ending: endingOf(ends),
    byOffset: ends.some(({ paging }) => paging === 'offset'),
    rowsWithoutId: 0,
    totalAtStart: sumOrNull(ends.map(({ totalAtStart }) => totalAtStart)),
    totalAtEnd: sumOrNull(ends.map(({ totalAtEnd }) => totalAtEnd)),
  };
}
