import { randomInt } from 'node:crypto';
import type { FullScan } from '../../core/completeness.ts';
import type { KeyedRow } from '../../core/page-decision.ts';
import { SeenKeys } from '../../core/seen-keys.ts';
import { sumOrNull } from '../../core/sum-or-null.ts';
import type { Hub } from '../../hub/hub.ts';
import { collectionNamed, type Collection } from '../../model/collections.ts';
import { classStudentsSource, nestedSource, plainSource, type Source } from '../source.ts';
import type { SourceEnd } from '../source-page.ts';
import type { TenantCollection, TenantParts } from '../tenant-parts.ts';

/** More keys than this are looked for by reading the whole list once more. */
export const ASK_AT_MOST = 2_000;

/** What the hub says of keys when it is asked again. Keys that are in neither could not be asked for. */
export interface Asked {
  readonly readings: readonly KeyedRow[];
  readonly gone: readonly string[];
}

/** How a collection was read, as far as it tells whether all was seen; a row without an id counts as one more. */
export interface HubScan extends Omit<FullScan, 'knownRows'> {
  /** By the hub's clock, ms since the epoch; null where it does not tell. */
  readonly startedAtMs: number | null;
}

/** A collection's rows as the hub gives them to somebody who only looks. Throws what the hub throws. */
export interface HubRows {
  /** All rows that the hub lists; null where there is no such list. */
  read(onRows: (readings: readonly KeyedRow[]) => void, signal: AbortSignal): Promise<HubScan | null>;
  /** Whether the configuration still wants a key: the hub is not asked for any other. */
  isWanted(key: string): boolean;
  /** Single rows, where the hub can be asked for them by id. */
  ask(keys: readonly string[], signal: AbortSignal): Promise<Asked>;
}

type HubParts = Pick<TenantParts, 'hub' | 'afterschoolIds'>;

/** Of any collection but `schedules`, whose rows are asked for by student. */
export function hubRows(parts: HubParts, collection: TenantCollection): HubRows {
  if (collection.name === 'class-students') return classRows(parts);
  const source = sourceOf(parts, collection);
  return {
    read: (onRows, signal) => readScans(source, onRows, signal),
    isWanted: (key) => source.isWanted?.(key) ?? true,
    async ask(keys, signal) {
      if (source.fetchRows === undefined || keys.length > ASK_AT_MOST) return NOTHING;
      const { pages, gone } = await source.fetchRows(keys, { readVersion: NO_STAMP, signal });
      return { readings: pages.flatMap(({ readings }) => readings), gone };
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

const NOTHING: Asked = { readings: [], gone: [] };
const NO_STAMP = (): number => 0;
const SEEDS = 2 ** 31;

function sourceOf({ hub, afterschoolIds }: HubParts, { name, reader }: TenantCollection): Source {
  const collection = collectionNamed(name);
  if (name !== 'afterschool-users') return plainSource(hub, collection, reader);
  return nestedSource({ hub, collection, reader, parentIds: afterschoolIds });
}

/** The classes are the hub's, not those that the index knows. */
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
      // One record a class: they are all there where all classes were. A class that went meanwhile was looked at.
      return listed.ending === 'hub-sign' ? { ...listed, ending: read.ending } : listed;
    },
    async ask(keys, signal) {
      if (keys.length > ASK_AT_MOST) return NOTHING;
      const existing = await hub.findExisting({ collection: classes, ids: keys, signal });
      const readings: KeyedRow[] = [];
      await readScans(sourceFor([...existing]), (page) => readings.push(...page), signal);
      return { readings, gone: keys.filter((key) => !existing.has(key)) };
    },
  };
}

/** Reads a collection for its ids alone. */
export async function readIds(
  hub: Hub,
  collection: Collection,
  { onId, signal }: { onId: (id: string) => void; signal: AbortSignal },
): Promise<HubScan> {
  const met = new Set<string>();
  let rowsWithoutId = 0;
  let startedAtMs: number | null = null;
  const pages = hub.readPages({ collection, readVersion: NO_STAMP, signal });
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
  onRows: (readings: readonly KeyedRow[]) => void,
  signal: AbortSignal,
): Promise<HubScan> {
  const ends: SourceEnd[] = [];
  const met = new SeenKeys(randomInt(SEEDS));
  let rowsWithoutId = 0;
  let startedAtMs: number | null = null;
  for (const scan of await source.scans()) {
    const pages = scan.open({ modifiedAfterMs: undefined, readVersion: NO_STAMP, signal });
    for (;;) {
      const step = await pages.next();
      if (step.done === true) {
        ends.push(step.value);
        break;
      }
      const { readings, hubTimeMs } = step.value;
      startedAtMs ??= hubTimeMs;
      for (const { key } of readings) {
        if (key === null) rowsWithoutId += 1;
        else met.add(key);
      }
      onRows(readings);
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

function endingOf(ends: readonly SourceEnd[]): HubScan['ending'] {
  if (ends.some(({ reason }) => reason === 'missing-list')) return 'no-list';
  if (ends.some(({ reason }) => reason === 'repeated-page')) return 'repeated';
  if (!ends.every(({ reason }) => reason === 'no-rows')) return 'hub-sign';
  return ends.some(({ isGone }) => isGone === true) ? 'gone' : 'empty';
}
