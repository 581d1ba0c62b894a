import type { LateNote } from '../core/late-rows.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory, DeletionNote, MissingKey } from './index-store.ts';

/** Older days count no more. */
const DAYS_KEPT = 8;

/** The memory of one collection; an undefined field has the value of the memory below. */
interface Noted {
  missing?: ReadonlyMap<string, MissingKey>;
  withheld?: ReadonlyMap<string, number>;
  isTripped?: boolean;
  note?: { readonly value: DeletionNote | null };
  wrongTenant?: { readonly sinceMs: number | null };
  isNotOffered?: boolean;
  late?: LateNote;
  readonly removed: Map<string, number>;
}

/**
 * A tenant's deletion memory in this process. For a reader that must change nothing, it lies on top of another process's
 * memory and keeps only its own changes.
 */
export class MemoryDeletions implements DeletionMemory {
  readonly #base: DeletionMemory | null;
  readonly #noted = new Map<CollectionName, Noted>();

  constructor(base: DeletionMemory | null = null) {
    this.#base = base;
  }

  /** Drops the own changes for a collection. */
  discard(collection: CollectionName): void {
    this.#noted.delete(collection);
  }

  async missing(collection: CollectionName): Promise<ReadonlyMap<string, MissingKey>> {
    return new Map(this.#noted.get(collection)?.missing ?? (await this.#base?.missing(collection)));
  }

  async setMissing(collection: CollectionName, keys: ReadonlyMap<string, MissingKey>): Promise<void> {
    this.#of(collection).missing = new Map(keys);
  }

  async withheld(collection: CollectionName): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#noted.get(collection)?.withheld ?? (await this.#base?.withheld(collection)));
  }

  async setWithheld(collection: CollectionName, keys: ReadonlyMap<string, number>): Promise<void> {
    this.#of(collection).withheld = new Map(keys);
  }

  async tripped(): Promise<ReadonlySet<CollectionName>> {
    return this.#members(await this.#base?.tripped(), ({ isTripped }) => isTripped);
  }

  async setTripped(collection: CollectionName, isTripped: boolean): Promise<void> {
    this.#of(collection).isTripped = isTripped;
  }

  async note(collection: CollectionName): Promise<DeletionNote | null> {
    const noted = this.#noted.get(collection)?.note;
    return noted === undefined ? ((await this.#base?.note(collection)) ?? null) : noted.value;
  }

  async setNote(collection: CollectionName, value: DeletionNote | null): Promise<void> {
    this.#of(collection).note = { value };
  }

  async wrongTenant(): Promise<ReadonlyMap<CollectionName, number>> {
    const found = new Map(await this.#base?.wrongTenant());
    for (const [collection, { wrongTenant }] of this.#noted) {
      if (wrongTenant === undefined) continue;
      if (wrongTenant.sinceMs === null) found.delete(collection);
      else found.set(collection, wrongTenant.sinceMs);
    }
    return found;
  }

  async setWrongTenant(collection: CollectionName, sinceMs: number | null): Promise<void> {
    this.#of(collection).wrongTenant = { sinceMs };
  }

  async notOffered(): Promise<ReadonlySet<CollectionName>> {
    return this.#members(await this.#base?.notOffered(), ({ isNotOffered }) => isNotOffered);
  }

  async setNotOffered(collection: CollectionName, isNotOffered: boolean): Promise<void> {
    this.#of(collection).isNotOffered = isNotOffered;
  }

  async late(): Promise<ReadonlyMap<CollectionName, LateNote>> {
    const found = new Map(await this.#base?.late());
    for (const [collection, { late }] of this.#noted) if (late !== undefined) found.set(collection, late);
    return found;
  }

  async setLate(collection: CollectionName, late: LateNote): Promise<void> {
    this.#of(collection).late = late;
  }

  async removedOn(day: string): Promise<ReadonlyMap<string, number>> {
    const found = new Map(await this.#base?.removedOn(day));
    for (const [collection, { removed }] of this.#noted) {
      const count = removed.get(day) ?? 0;
      if (count > 0) found.set(collection, (found.get(collection) ?? 0) + count);
    }
    return found;
  }

  async addRemoved(day: string, collection: CollectionName, count: number): Promise<void> {
    const { removed } = this.#of(collection);
    removed.set(day, (removed.get(day) ?? 0) + count);
    const [oldest] = [...removed.keys()].sort();
    if (removed.size > DAYS_KEPT && oldest !== undefined) removed.delete(oldest);
  }

  #of(collection: CollectionName): Noted {
    const noted = this.#noted.get(collection) ?? { removed: new Map<string, number>() };
    this.#noted.set(collection, noted);
    return noted;
  }

  #members(
    base: ReadonlySet<CollectionName> | undefined,
    isMember: (noted: Noted) => boolean | undefined,
  ): ReadonlySet<CollectionName> {
    const found = new Set(base);
    for (const [collection, noted] of this.#noted) {
      const is = isMember(noted);
      if (is === true) found.add(collection);
      else if (is === false) found.delete(collection);
    }
    return found;
  }
}
