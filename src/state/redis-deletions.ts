import type { ChainableCommander } from 'ioredis';
import type { CollectionName } from '../model/collections.ts';
import type { LateNote } from '../core/late-rows.ts';
import type { DeletionMemory, DeletionNote, MissingKey } from './index-store.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { TenantKeys } from './redis-keys.ts';

/** Longer than any day of a tenant lasts, plus a week of history. */
const REMOVED_KEPT_SECONDS = 8 * 24 * 60 * 60;
const FIELDS_AT_ONCE = 5_000;

/** A tenant's deletion memory in Redis. Layout: `redis-keys.ts`. */
export class RedisDeletions implements DeletionMemory {
  readonly #connection: RedisConnection;
  readonly #keys: TenantKeys;

  constructor(connection: RedisConnection, keys: TenantKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async missing(collection: CollectionName): Promise<ReadonlyMap<string, MissingKey>> {
    return this.#read(this.#keys.collection(collection).missing, readMissing);
  }

  async setMissing(collection: CollectionName, keys: ReadonlyMap<string, MissingKey>): Promise<void> {
    const values = [...keys].map(([key, missing]) => [key, missingText(missing)] as const);
    await this.#replace(this.#keys.collection(collection).missing, new Map(values));
  }

  async withheld(collection: CollectionName): Promise<ReadonlyMap<string, number>> {
    return this.#read(this.#keys.collection(collection).withheld, Number);
  }

  async setWithheld(collection: CollectionName, keys: ReadonlyMap<string, number>): Promise<void> {
    await this.#replace(this.#keys.collection(collection).withheld, keys);
  }

  tripped(): Promise<ReadonlySet<CollectionName>> {
    return this.#readSet(this.#keys.tripped);
  }

  setTripped(collection: CollectionName, isTripped: boolean): Promise<void> {
    return this.#mark(this.#keys.tripped, collection, isTripped);
  }

  notOffered(): Promise<ReadonlySet<CollectionName>> {
    return this.#readSet(this.#keys.notOffered);
  }

  setNotOffered(collection: CollectionName, isNotOffered: boolean): Promise<void> {
    return this.#mark(this.#keys.notOffered, collection, isNotOffered);
  }

  async note(collection: CollectionName): Promise<DeletionNote | null> {
    const text = await this.#connection.run((client) => client.hget(this.#keys.notes, collection));
    return text === null ? null : readNote(text);
  }

  async setNote(collection: CollectionName, note: DeletionNote | null): Promise<void> {
    const key = this.#keys.notes;
    await this.#connection.run((client) =>
      note === null ? client.hdel(key, collection) : client.hset(key, collection, JSON.stringify(note)),
    );
  }

  async wrongTenant(): Promise<ReadonlyMap<CollectionName, number>> {
    return (await this.#read(this.#keys.wrongTenant, Number)) as Map<CollectionName, number>;
  }

  async setWrongTenant(collection: CollectionName, sinceMs: number | null): Promise<void> {
    const key = this.#keys.wrongTenant;
    await this.#connection.run((client) =>
      sinceMs === null ? client.hdel(key, collection) : client.hset(key, collection, sinceMs),
    );
  }

  async late(): Promise<ReadonlyMap<CollectionName, LateNote>> {
    const late = new Map<CollectionName, LateNote>();
    for (const [collection, note] of await this.#read(this.#keys.late, readLate)) {
      if (note !== null) late.set(collection as CollectionName, note);
    }
    return late;
  }

  async setLate(collection: CollectionName, note: LateNote): Promise<void> {
    const key = this.#keys.late;
    await this.#connection.run((client) => client.hset(key, collection, JSON.stringify(note)));
  }

  async removedOn(day: string): Promise<ReadonlyMap<string, number>> {
    return this.#read(this.#keys.removed(day), Number);
  }

  async addRemoved(day: string, collection: CollectionName, count: number): Promise<void> {
    const key = this.#keys.removed(day);
    await this.#transaction((multi) =>
      multi.hincrby(key, collection, count).expire(key, REMOVED_KEPT_SECONDS),
    );
  }

  async #readSet(key: string): Promise<ReadonlySet<CollectionName>> {
    return new Set([...(await this.#read(key, Number)).keys()] as CollectionName[]);
  }

  async #mark(key: string, collection: CollectionName, isMarked: boolean): Promise<void> {
    await this.#connection.run((client) =>
      isMarked ? client.hset(key, collection, 1) : client.hdel(key, collection),
    );
  }

  /** Reads in pieces of a few thousand keys. No other process writes meanwhile, since a tenant has one owner. */
  async #read<T>(key: string, toValue: (text: string) => T): Promise<Map<string, T>> {
    const found = new Map<string, T>();
    let cursor = '0';
    do {
      const from = cursor;
      const [next, pairs] = await this.#connection.run((client) => client.hscan(key, from, 'COUNT', 1_000));
      for (let at = 0; at + 1 < pairs.length; at += 2) {
        found.set(pairs[at] as string, toValue(pairs[at + 1] as string));
      }
      cursor = next;
    } while (cursor !== '0');
    return found;
  }

  async #replace(key: string, fields: ReadonlyMap<string, string | number>): Promise<void> {
    const pairs = [...fields].flat();
    await this.#transaction((multi) => {
      multi.unlink(key);
      for (let at = 0; at < pairs.length; at += FIELDS_AT_ONCE * 2) {
        multi.hset(key, ...pairs.slice(at, at + FIELDS_AT_ONCE * 2));
      }
    });
  }

  async #transaction(fill: (multi: ChainableCommander) => unknown): Promise<void> {
    await this.#connection.run(async (client) => {
      const multi = client.multi();
      fill(multi);
      for (const [error] of (await multi.exec()) ?? []) if (error !== null) throw error;
    });
  }
}

/** Prefixes of the sync's id: the key was present but empty; the answer had no row at all. */
const EMPTY = 'empty ';
const ALL_EMPTY = 'all-empty ';

function missingText({ passId, becameEmpty, isAllEmpty }: MissingKey): string {
  return (becameEmpty ? EMPTY : isAllEmpty === true ? ALL_EMPTY : '') + passId;
}

function readMissing(text: string): MissingKey {
  const passId = text.slice(text.indexOf(' ') + 1);
  if (text.startsWith(ALL_EMPTY)) return { passId, becameEmpty: false, isAllEmpty: true };
  return { passId, becameEmpty: text.startsWith(EMPTY) };
}

/** Returns null for a note that cannot be read; a missing note only makes Rollcall more cautious. */
function readNote(text: string): DeletionNote | null {
  try {
    const { why, count, settledPassId } = JSON.parse(text) as Partial<DeletionNote>;
    return {
      why: typeof why === 'string' ? why : null,
      count: typeof count === 'number' ? count : 0,
      settledPassId: typeof settledPassId === 'string' ? settledPassId : null,
    };
  } catch {
    return null;
  }
}

/** Returns null for a note that cannot be read; the next full sync writes another. */
function readLate(text: string): LateNote | null {
  try {
    const { rows, lagAtMostMs, overlapMs } = JSON.parse(text) as Partial<LateNote>;
    if (rows === undefined || lagAtMostMs === undefined || overlapMs === undefined) return null;
    return { rows, lagAtMostMs, overlapMs };
  } catch {
    return null;
  }
}
