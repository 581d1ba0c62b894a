import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import type { Hub } from '../hub/hub.ts';
import { collectionNamed, type Collection } from '../model/collections.ts';
import { classStudentsSource, nestedSource, plainSource, type Source } from '../source/source.ts';
import { evidenceOf } from '../source/source-scan.ts';
import type { TenantCollection, TenantParts } from '../session/tenant-parts.ts';
import { randomSeed } from '../core/seen-keys.ts';

/** For more keys than this, a scan of the list replaces requests by id. */
export const ASK_AT_MOST = 2_000;

/** The hub's answer to requests by id. Keys in neither list have no answer. */
export interface Asked {
  readonly rows: readonly KeyedRow[];
  readonly notFound: readonly string[];
}

/** The facts of a scan that show whether it saw all rows. */
export interface HubScan {
  /** One for each scope. */
  readonly scopes: readonly ScanEvidence[];
  /** Start by the hub's clock, ms since the epoch; null when the hub sends no time. */
  readonly startedAtMs: number | null;
}

/** Read access to a collection's rows at the hub. Throws `HUB_…`. */
export interface HubRows {
  /** Reads all rows that the hub lists; null when there is no such list. */
  read(onRows: (rows: readonly KeyedRow[]) => void, signal: AbortSignal): Promise<HubScan | null>;
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
    async ask(keys, signal) {
      if (source.fetchRows === undefined || keys.length > ASK_AT_MOST) return NOTHING;
      const { pages, gone } = await source.fetchRows(keys, { readVersion: NO_READ_VERSION, signal });
      return { rows: pages.flatMap(({ rows }) => rows), notFound: gone };
    },
  };
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
      classes: 'classes',
      // eslint-disable-next-line typescript/require-await
      classIds: async function* () {
        yield ids;
      },
    });
  return {
    async read(onRows, signal) {
      const ids = new Set<string>();
      const listed = await readIds(hub, classes, { onId: (id) => ids.add(id), signal });
      const read = await readScans(sourceFor([...ids]), onRows, signal);
      return { ...listed, scopes: [...listed.scopes, ...read.scopes] };
    },
    async ask(keys, signal) {
      if (keys.length > ASK_AT_MOST) return NOTHING;
      const asked = { collection: classes, ids: keys, readVersion: NO_READ_VERSION, signal };
      const { rows: found, notFound } = await hub.findRows(asked);
      const existing = found.map(({ row }) => String((row as { sourcedId?: unknown }).sourcedId));
      const rows: KeyedRow[] = [];
      await readScans(sourceFor(existing), (page) => rows.push(...page), signal);
      return { rows, notFound };
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
      const counted = { distinctRows: met.size + rowsWithoutId, rowsWithoutId: 0 };
      return { scopes: [evidenceOf('', step.value, counted)], startedAtMs };
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
  const scopes: ScanEvidence[] = [];
  const met = new SeenKeys(randomSeed());
  let rowsWithoutId = 0;
  let startedAtMs: number | null = null;
  for (const scan of await source.scans()) {
    const before = met.size + rowsWithoutId;
    const pages = scan.open({ modifiedAfterMs: undefined, readVersion: NO_READ_VERSION, signal });
    for (;;) {
      const step = await pages.next();
      if (step.done === true) {
        // Rows without an id are compared as rejects.
        const counted = { distinctRows: met.size + rowsWithoutId - before, rowsWithoutId: 0 };
        scopes.push(evidenceOf(scan.scope, step.value, counted));
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
  return { scopes, startedAtMs };
}
