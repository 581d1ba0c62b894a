import { randomUUID } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import { z } from 'zod';
import { jsonOrNull } from '../core/json-or-null.ts';
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
import type { RedisArgument, RedisConnection } from './redis-connection.ts';
import { countField, type CollectionKeys } from './redis-keys.ts';
import { SCRIPTS } from './redis-scripts.ts';

/** A replay needs no atomic step, and other tenants share Redis: this many changes take about 15 ms of its time. */
const REPLAY_CHANGES_AT_ONCE = 5_000;
/** Keys are passed as the arguments of a function call, whose number is limited. Node allows more than this. */
const LOOKUP_KEYS_AT_ONCE = 5_000;

const POSITION = z.object({
  sequence: z.number(),
  transactionId: z.string().min(1),
  committedAtMs: z.number(),
  offsets: z.record(z.string(), z.number()),
  firstOffsets: z.record(z.string(), z.number()).optional(),
});

/** The condition of a write; see `scripts/write-index.lua`. */
type Guard = { readonly field: 'transactionId' | 'replay'; readonly value: string };

/** One collection's index in Redis. Layout: `redis-keys.ts`. `name`: tenant and collection, for errors. */
export function redisIndex(connection: RedisConnection, keys: CollectionKeys, name: string): CollectionIndex {
  const areas = [...keys.areas.keys()];
  const scriptKeys = [keys.position, ...keys.areas.values()];

  async function write(
    guard: Guard,
    position: IndexPosition | null,
    changes: readonly IndexChange[],
  ): Promise<void> {
    const json = position === null ? '' : JSON.stringify(position);
    const head = [guard.field, guard.value, position?.transactionId ?? '', json];
    const { counts, entries: changed } = changeArguments(areas, changes);
    const written = await connection.script(SCRIPTS.writeIndex, scriptKeys, head, counts, changed);
    if (written !== 1) throw indexDiverged(name);
  }

  function entries(area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    return connection.scan(memberOf(keys.areas, area));
  }

  async function beginReplay(from: string): Promise<IndexReplay> {
    const token = randomUUID();
    const args = [token, from, ...areas.map(countField)];
    const begun = await connection.script(SCRIPTS.beginReplay, scriptKeys, args);
    if (begun !== 1) throw indexDiverged(name);
    const guard: Guard = { field: 'replay', value: token };
    return {
      async write(changes) {
        // An empty list goes to Redis too, so that a void replay throws.
        for (let at = 0; at === 0 || at < changes.length; at += REPLAY_CHANGES_AT_ONCE)
          await write(guard, null, changes.slice(at, at + REPLAY_CHANGES_AT_ONCE));
      },
      async lookup(area, wanted) {
        const key = memberOf(keys.areas, area);
        return valuesIn(await connection.transaction((commands) => askValues(commands, key, wanted)));
      },
      entries,
      finish: (position) => write(guard, position, []),
    };
  }

  return {
    async position() {
      const { fields, isComplete } = await readTogether(connection, keys, ['transactionId', 'position']);
      const [transactionId, json] = fields;
      if (!transactionId || !isComplete) return null;
      // If the text cannot be read, for example because another version wrote it, Rollcall rebuilds the index.
      const found = POSITION.safeParse(jsonOrNull(json ?? '')).data;
      return found?.transactionId === transactionId ? found : null;
    },
    async lookup(area, wanted, expected) {
      const key = memberOf(keys.areas, area);
      const { fields, isComplete, isEmpty, rest } = await readTogether(
        connection,
        keys,
        ['transactionId'],
        (commands) => askValues(commands, key, wanted),
      );
      const [transactionId] = fields;
      const isThere =
        expected === null ? !transactionId && isEmpty : transactionId === expected && isComplete;
      if (!isThere) throw indexDiverged(name);
      return valuesIn(rest);
    },
    apply: (previous, position, changes) =>
      write({ field: 'transactionId', value: previous ?? '' }, position, changes),
    count: (area) => connection.run((client) => client.hlen(memberOf(keys.areas, area))),
    async *keys(area) {
      for await (const batch of entries(area)) yield batch.map(([key]) => key);
    },
    entries,
    rebuild: () => beginReplay(''),
    resume: (from) => beginReplay(from.transactionId),
  };
}

/** Reads fields of the position, the sizes of all areas, and the values of further commands, in one atomic step. */
async function readTogether(
  connection: RedisConnection,
  { position, areas }: CollectionKeys,
  fields: readonly string[],
  askMore: (commands: ChainableCommander) => unknown = () => undefined,
) {
  // MULTI costs Redis about half as much as a script with the same commands.
  const [found, ...rest] = await connection.transaction((commands) => {
    commands.hmget(position, ...fields, ...areas.keys().map(countField));
    for (const key of areas.values()) commands.hlen(key);
    askMore(commands);
  });
  const values = found as (string | null)[];
  const counts = rest.splice(0, areas.size);
  return {
    fields: values,
    /** Whether every area has the number of keys that the position records. */
    isComplete: counts.every((count, at) => values[fields.length + at] === String(count)),
    isEmpty: counts.every((count) => count === 0),
    rest,
  };
}

/** ARGV[5] onwards of `scripts/write-index.lua`. */
function changeArguments(
  areas: readonly IndexArea[],
  changes: readonly IndexChange[],
): { readonly counts: readonly RedisArgument[]; readonly entries: readonly RedisArgument[] } {
  const counts: RedisArgument[] = [];
  const entries: RedisArgument[] = [];
  for (const [area, latest] of latestChanges(areas, changes)) {
    const start = entries.length;
    for (const [key, value] of latest) if (value !== null) entries.push(key, value);
    const removedFrom = entries.length;
    for (const [key, value] of latest) if (value === null) entries.push(key);
    counts.push(countField(area), removedFrom - start, entries.length - removedFrom);
  }
  return { counts, entries };
}

function askValues(commands: ChainableCommander, key: string, fields: readonly string[]): void {
  for (let at = 0; at < fields.length; at += LOOKUP_KEYS_AT_ONCE)
    commands.hmgetBuffer(key, ...fields.slice(at, at + LOOKUP_KEYS_AT_ONCE));
}

/** Reads the replies to {@link askValues}. */
function valuesIn(replies: readonly unknown[]): IndexValues {
  const values = replies as readonly IndexValues[];
  return values.length === 1 ? (values[0] ?? []) : values.flat();
}
