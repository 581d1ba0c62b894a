import { indexDiverged, tooManyChanges } from './index-errors.ts';
import { positionFromJson, positionToJson } from './index-position.ts';
import type { CollectionIndex, IndexArea, IndexChange, IndexPosition, IndexReplay } from './index-store.ts';
import { latestChanges } from './latest-changes.ts';
import type { RedisArgument, RedisConnection } from './redis-connection.ts';
import type { CollectionKeys } from './redis-keys.ts';
import { SCRIPTS } from './redis-scripts.ts';

/** Redis takes 1,048,576 arguments in one command; a change takes two. */
const CHANGES_AT_ONCE = 250_000;
/** A replay needs no atomic step, and Redis is shared with other tenants: about 15 ms of its time each. */
const REPLAY_CHANGES_AT_ONCE = 5_000;
/** Fewer than a call may have arguments. */
const LOOKUP_KEYS_AT_ONCE = 5_000;
const SCAN_COUNT = 1_000;

/** Where the index must be for a write to happen; see `scripts/write-index.lua`. */
type Guard = { readonly field: 'transactionId' | 'replay'; readonly value: string };

type Reply = readonly [error: Error | null, value: unknown];

export interface RedisIndexOptions {
  readonly connection: RedisConnection;
  readonly keys: CollectionKeys;
  /** Tenant and collection, for errors. */
  readonly name: string;
  /** A random token that no other replay has. */
  readonly newToken: () => string;
}

/** One collection's index in Redis. Layout: `redis-keys.ts`. */
export class RedisIndex implements CollectionIndex {
  readonly #connection: RedisConnection;
  readonly #keys: CollectionKeys;
  readonly #name: string;
  readonly #newToken: () => string;

  constructor(options: RedisIndexOptions) {
    this.#connection = options.connection;
    this.#keys = options.keys;
    this.#name = options.name;
    this.#newToken = options.newToken;
  }

  async position(): Promise<IndexPosition | null> {
    const { position, rows, rejects } = this.#keys;
    const [held, rowCount, rejectCount] = await this.#connection.run(async (client) =>
      valuesOf(
        await client
          .multi()
          .hmget(position, 'transactionId', 'rowCount', 'rejectCount', 'position')
          .hlen(rows)
          .hlen(rejects)
          .exec(),
      ),
    );
    const [transactionId, rowsThen, rejectsThen, json] = held as (string | null)[];
    if (!transactionId || rowsThen !== String(rowCount) || rejectsThen !== String(rejectCount)) return null;
    const found = positionFromJson(json ?? '');
    return found?.transactionId === transactionId ? found : null;
  }

  async lookup(
    area: IndexArea,
    keys: readonly string[],
    expected: string | null,
  ): Promise<readonly (Buffer | null)[]> {
    const { position, rows, rejects } = this.#keys;
    // MULTI costs Redis about half of what a script with the same commands does.
    const [held, rowCount, rejectCount, ...hashes] = await this.#connection.run(async (client) => {
      const multi = client
        .multi()
        .hmget(position, 'transactionId', 'rowCount', 'rejectCount')
        .hlen(rows)
        .hlen(rejects);
      for (let at = 0; at < keys.length; at += LOOKUP_KEYS_AT_ONCE) {
        multi.hmgetBuffer(this.#keys[area], ...keys.slice(at, at + LOOKUP_KEYS_AT_ONCE));
      }
      return valuesOf(await multi.exec());
    });
    const [transactionId, rowsThen, rejectsThen] = held as (string | null)[];
    const isThere =
      expected === null
        ? !transactionId && rowCount === 0 && rejectCount === 0
        : transactionId === expected && rowsThen === String(rowCount) && rejectsThen === String(rejectCount);
    if (!isThere) throw indexDiverged(this.#name);
    return hashes.length === 1 ? (hashes[0] as (Buffer | null)[]) : (hashes.flat() as (Buffer | null)[]);
  }

  async apply(
    previous: string | null,
    position: IndexPosition,
    changes: readonly IndexChange[],
  ): Promise<void> {
    await this.#write({ field: 'transactionId', value: previous ?? '' }, position, changes);
  }

  async count(area: IndexArea): Promise<number> {
    return this.#connection.run((client) => client.hlen(this.#keys[area]));
  }

  async *keys(area: IndexArea): AsyncGenerator<readonly string[]> {
    const key = this.#keys[area];
    let withoutValues = true;
    let cursor = '0';
    do {
      const [next, found] = await this.#connection.run(async (client) => {
        if (withoutValues) {
          try {
            return await client.hscan(key, cursor, 'COUNT', SCAN_COUNT, 'NOVALUES');
          } catch (error) {
            // NOVALUES came with Redis 7.4; anything else that is wrong shows again at once below.
            if (!(error instanceof Error) || error.name !== 'ReplyError') throw error;
            withoutValues = false;
          }
        }
        const [next, pairs] = await client.hscan(key, cursor, 'COUNT', SCAN_COUNT);
        return [next, pairs.filter((_, at) => at % 2 === 0)] as const;
      });
      cursor = next;
      if (found.length > 0) yield found;
    } while (cursor !== '0');
  }

  async rebuild(): Promise<IndexReplay> {
    return this.#beginReplay('');
  }

  async resume(from: IndexPosition): Promise<IndexReplay> {
    return this.#beginReplay(from.transactionId);
  }

  async #beginReplay(from: string): Promise<IndexReplay> {
    const token = this.#newToken();
    const begun = await this.#connection.script(SCRIPTS.beginReplay, this.#scriptKeys(), [token, from]);
    if (begun !== 1) throw indexDiverged(this.#name);
    const guard: Guard = { field: 'replay', value: token };
    return {
      write: async (changes) => {
        // No changes ask Redis too: whoever goes on must hear that the replay is void.
        for (let at = 0; at === 0 || at < changes.length; at += REPLAY_CHANGES_AT_ONCE) {
          await this.#write(guard, null, changes.slice(at, at + REPLAY_CHANGES_AT_ONCE));
        }
      },
      finish: async (position) => this.#write(guard, position, []),
    };
  }

  async #write(guard: Guard, position: IndexPosition | null, changes: readonly IndexChange[]): Promise<void> {
    if (changes.length > CHANGES_AT_ONCE) throw tooManyChanges(this.#name, CHANGES_AT_ONCE);
    const head: RedisArgument[] = [
      guard.field,
      guard.value,
      position?.transactionId ?? '',
      position === null ? '' : positionToJson(position),
    ];
    const args = head.concat(changeArguments(changes));
    const written = await this.#connection.script(SCRIPTS.writeIndex, this.#scriptKeys(), args);
    if (written !== 1) throw indexDiverged(this.#name);
  }

  #scriptKeys(): readonly string[] {
    return [this.#keys.position, this.#keys.rows, this.#keys.rejects];
  }
}

/** ARGV[5] onwards of `scripts/write-index.lua`. */
function changeArguments(changes: readonly IndexChange[]): RedisArgument[] {
  const latest = latestChanges(changes);
  const counts: number[] = [];
  const rest: RedisArgument[] = [];
  for (const area of [latest.rows, latest.rejects]) {
    const start = rest.length;
    for (const [key, hash] of area) if (hash !== null) rest.push(key, hash);
    const removedFrom = rest.length;
    for (const [key, hash] of area) if (hash === null) rest.push(key);
    counts.push(removedFrom - start, rest.length - removedFrom);
  }
  return (counts as RedisArgument[]).concat(rest);
}

/** Values of a MULTI's replies; throws the first error among them. */
function valuesOf(replies: readonly Reply[] | null): readonly unknown[] {
  if (replies === null) throw new Error('Redis discarded a transaction');
  return replies.map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
}
