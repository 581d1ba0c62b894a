import type { KeyedReading } from '../../core/page-decision.ts';
import type { WalkEnd } from '../../hub/hub.ts';
import { collectionNamed } from '../../model/collections.ts';
import { classStudentsSource, nestedSource, plainSource, type Source } from '../source.ts';
import type { TenantCollection, TenantParts } from '../tenant.ts';

/** More keys than this are looked for by reading the whole list once more. */
export const ASK_AT_MOST = 2_000;

/** What the hub says of keys when it is asked again. Keys that are in neither could not be asked for. */
export interface Asked {
  readonly readings: readonly KeyedReading[];
  readonly gone: readonly string[];
}

/** A collection's rows as the hub gives them to somebody who only looks. Throws what the hub throws. */
export interface HubRows {
  /** All rows; returns why nothing is proven by them, null when they are all there are. */
  read(onReadings: (readings: readonly KeyedReading[]) => void, signal: AbortSignal): Promise<string | null>;
  /** Single rows, where the hub can be asked for them by id. */
  ask(keys: readonly string[], signal: AbortSignal): Promise<Asked>;
}

type HubParts = Pick<TenantParts, 'hub' | 'afterschoolIds'>;

/** Of any collection but `schedules`, whose rows are asked for by student. */
export function hubRows(parts: HubParts, collection: TenantCollection): HubRows {
  if (collection.name === 'class-students') return classRows(parts);
  const source = sourceOf(parts, collection);
  return {
    read: (onReadings, signal) => readWalks(source, onReadings, signal),
    async ask(keys, signal) {
      if (source.fetchRows === undefined || keys.length > ASK_AT_MOST) return NOTHING;
      const { pages, gone } = await source.fetchRows(keys, { stamp: NO_STAMP, signal });
      return { readings: pages.flatMap(({ readings }) => readings), gone };
    },
  };
}

const NOTHING: Asked = { readings: [], gone: [] };
const NO_STAMP = (): number => 0;

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
    async read(onReadings, signal) {
      const ids: string[] = [];
      const pages = hub.readPages({ collection: classes, stamp: NO_STAMP, signal });
      for (let step = await pages.next(); step.done !== true; step = await pages.next()) {
        for (const row of step.value.rows) {
          const id = (row as { sourcedId?: unknown } | null)?.sourcedId;
          if (typeof id === 'string') ids.push(id);
        }
      }
      return readWalks(sourceFor(ids), onReadings, signal);
    },
    async ask(keys, signal) {
      if (keys.length > ASK_AT_MOST) return NOTHING;
      const existing = await hub.findExisting({ collection: classes, ids: keys, signal });
      const readings: KeyedReading[] = [];
      await readWalks(sourceFor([...existing]), (page) => readings.push(...page), signal);
      return { readings, gone: keys.filter((key) => !existing.has(key)) };
    },
  };
}

async function readWalks(
  source: Source,
  onReadings: (readings: readonly KeyedReading[]) => void,
  signal: AbortSignal,
): Promise<string | null> {
  const ends: WalkEnd[] = [];
  for (const walk of await source.walks()) {
    const pages = walk.open({ modifiedAfterMs: undefined, stamp: NO_STAMP, signal });
    for (;;) {
      const step = await pages.next();
      if (step.done === true) {
        ends.push(step.value);
        break;
      }
      onReadings(step.value.readings);
    }
  }
  return whyUnproven(ends);
}

function whyUnproven(ends: readonly WalkEnd[]): string | null {
  if (ends.some(({ sign }) => sign === 'missing-list')) return 'a response of the hub had no list';
  if (ends.some(({ sign }) => sign === 'repeated-page')) return 'the hub gives the same page for ever';
  const isEmpty = ends.length > 0 && ends.every(({ sign }) => sign === 'no-rows');
  return isEmpty ? EMPTY_LIST : null;
}

/** Which may be true, or all that a token without rights is shown. */
export const EMPTY_LIST = 'the hub gives an empty list';
