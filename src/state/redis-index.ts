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
/** A function call can have more arguments than this. */
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

/** One collection's index in Redis. Layout: `redis-keys.ts`. */
export class RedisIndex implements CollectionIndex {
  readonly #connection: RedisConnection;
  readonly #keys: CollectionKeys;
  readonly #areas: readonly IndexArea[];
  readonly #areaKeys: readonly string[];
  readonly #name: string;

  /** `name`: tenant and collection, for errors. */
  constructor(connection: RedisConnection, keys: CollectionKeys, name: string) {
    this.#connection = connection;
    this.#keys = keys;
    this.#areas = [...keys.areas.keys()];
    this.#areaKeys = [...keys.areas.values()];
    this.#name = name;
  }

  async position(): Promise<IndexPosition | null> {
    const { fields, isComplete } = await this.#read(['transactionId', 'position']);
    const [transactionId, json] = fields;
    if (!transactionId || !isComplete) return null;
    // If the text cannot be read, for example because another version wrote it, Rollcall rebuilds the index.
    const found = POSITION.safeParse(jsonOrNull(json ?? '')).data;
    return found?.transactionId === transactionId ? found : null;
  }

  async lookup(area: IndexArea, keys: readonly string[], expected: string | null): Promise<IndexValues> {
    const key = memberOf(this.#keys.areas, area);
    const { fields, isComplete, isEmpty, rest } = await this.#read(['transactionId'], (commands) =>
      askValues(commands, key, keys),
    );
    const [transactionId] = fields;
    const isThere = expected === null ? !transactionId && isEmpty : transactionId === expected && isComplete;
    if (!isThere) throw indexDiverged(this.#name);
    return valuesIn(rest);
  }

  async apply(
    previous: string | null,
    position: IndexPosition,
    changes: readonly IndexChange[],
  ): Promise<void> {
    await this.#write({ field: 'transactionId', value: previous ?? '' }, position, changes);
  }

  async count(area: IndexArea): Promise<number> {
    const key = memberOf(this.#keys.areas, area);
    return this.#connection.run((client) => client.hlen(key));
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    for await (const batch of this.entries(area)) yield batch.map(([key]) => key);
  }

  entries(area: IndexArea): AsyncGenerator<readonly IndexEntry[]> {
    return this.#connection.scan(memberOf(this.#keys.areas, area));
  }

  async rebuild(): Promise<IndexReplay> {
    return this.#beginReplay('');
  }

  async resume(from: IndexPosition): Promise<IndexReplay> {
    return this.#beginReplay(from.transactionId);
  }

  async #beginReplay(from: string): Promise<IndexReplay> {
    const token = randomUUID();
    const args = [token, from, ...this.#areas.map(countField)];
    const begun = await this.#connection.script(SCRIPTS.beginReplay, this.#scriptKeys(), args);
    if (begun !== 1) throw indexDiverged(this.#name);
    const guard: Guard = { field: 'replay', value: token };
    return {
      write: async (changes) => {
        // An empty list goes to Redis too, so that a void replay throws.
        for (let at = 0; at === 0 || at < changes.length; at += REPLAY_CHANGES_AT_ONCE) {
          await this.#write(guard, null, changes.slice(at, at + REPLAY_CHANGES_AT_ONCE));
        }
      },
      lookup: async (area, keys) => {
        const key = memberOf(this.#keys.areas, area);
        return valuesIn(await this.#connection.transaction((commands) => askValues(commands, key, keys)));
      },
      entries: (area) => this.entries(area),
      finish: async (position) => this.#write(guard, position, []),
    };
  }

  /** Reads fields of the position, the sizes of all areas, and the values of further commands, in one atomic step. */
  async #read(
    fields: readonly string[],
    askMore: (commands: ChainableCommander) => unknown = () => undefined,
  ) {
    // MULTI costs Redis about half as much as a script with the same commands.
    const [found, ...rest] = await this.#connection.transaction((commands) => {
      commands.hmget(this.#keys.position, ...fields, ...this.#areas.map(countField));
      for (const key of this.#areaKeys) commands.hlen(key);
      askMore(commands);
    });
    const values = found as (string | null)[];
    const counts = rest.splice(0, this.#areas.length);
    return {
      fields: values,
      /** Whether every area has the number of keys that the position records. */
      isComplete: counts.every((count, at) => values[fields.length + at] === String(count)),
      isEmpty: counts.every((count) => count === 0),
      rest,
    };
  }

  async #write(guard: Guard, position: IndexPosition | null, changes: readonly IndexChange[]): Promise<void> {
    const head: RedisArgument[] = [
      guard.field,
      guard.value,
      position?.transactionId ?? '',
      position === null ? '' : JSON.stringify(position),
    ];
    const { counts, entries } = changeArguments(this.#areas, changes);
    const keys = this.#scriptKeys();
    const written = await this.#connection.script(SCRIPTS.writeIndex, keys, head, counts, entries);
    if (written !== 1) throw indexDiverged(this.#name);
  }

  #scriptKeys(): readonly string[] {
    return [this.#keys.position, ...this.#areaKeys];
  }
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
