import {
  indexDiverged,
  latestChanges,
  memberOf,
  type CollectionIndex,
  type IndexArea,
  type IndexChange,
  type IndexEntry,
  type IndexPosition,
  type IndexReplay,
  type IndexValues,
} from './index-store.ts';

const ENTRIES_AT_ONCE = 1_000;

/** Values are Latin-1 strings: they take a third of a Buffer's memory and do not keep a page's memory alive. */
type Values = Map<string, string>;

/** One collection's index in the memory of this process. `name`: tenant and collection, for errors. */
export function memoryIndex(name: string, areaNames: readonly IndexArea[]): CollectionIndex {
  const areas = new Map(areaNames.map((area): [IndexArea, Values] => [area, new Map()]));
  let current: IndexPosition | null = null;
  let running: IndexReplay | null = null;

  function requireAt(transactionId: string | null): void {
    const isThere =
      transactionId === null
        ? current === null && areas.values().every(({ size }) => size === 0)
        : current?.transactionId === transactionId;
    if (!isThere) throw indexDiverged(name);
  }

  function moveTo(position: IndexPosition): void {
    current = position;
    running = null;
  }

  const valuesOf = (area: IndexArea, keys: readonly string[]) => valuesIn(memberOf(areas, area), keys);
  const entries = (area: IndexArea) => entriesIn(memberOf(areas, area));

  function beginReplay(): IndexReplay {
    const requireRunning = (): void => {
      if (running !== replay) throw indexDiverged(name);
    };
    const replay: IndexReplay = {
      async write(changes) {
        requireRunning();
        writeTo(areas, changes);
      },
      lookup: async (area, keys) => valuesOf(area, keys),
      entries,
      async finish(position) {
        requireRunning();
        moveTo(position);
      },
    };
    running = replay;
    current = null;
    return replay;
  }

  return {
    position: async () => current,
    async lookup(area, keys, expected) {
      requireAt(expected);
      return valuesOf(area, keys);
    },
    async apply(previous, position, changes) {
      requireAt(previous);
      writeTo(areas, changes);
      moveTo(position);
    },
    count: async (area) => memberOf(areas, area).size,
    async *keys(area) {
      for await (const batch of entries(area)) yield batch.map(([key]) => key);
    },
    entries,
    async rebuild() {
      for (const values of areas.values()) values.clear();
      return beginReplay();
    },
    async resume(from) {
      requireAt(from.transactionId);
      return beginReplay();
    },
  };
}

function valuesIn(values: Values, keys: readonly string[]): IndexValues {
  return keys.map((key) => {
    const value = values.get(key.toWellFormed());
    return value === undefined ? null : Buffer.from(value, 'latin1');
  });
}

async function* entriesIn(values: Values): AsyncGenerator<readonly IndexEntry[]> {
  let batch: IndexEntry[] = [];
  // As many as there are now: a Map that grows meanwhile must not make this endless.
  for (const [key, value] of values.entries().take(values.size)) {
    batch.push([key, Buffer.from(value, 'latin1')]);
    if (batch.length < ENTRIES_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

function writeTo(areas: ReadonlyMap<IndexArea, Values>, changes: readonly IndexChange[]): void {
  for (const [area, latest] of latestChanges(areas.keys(), changes)) {
    const values = memberOf(areas, area);
    for (const [key, value] of latest) {
      if (value === null) values.delete(key);
      else values.set(key, value.toString('latin1'));
    }
  }
}
