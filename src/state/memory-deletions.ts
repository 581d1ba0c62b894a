import type { CollectionName } from '../model/collections.ts';
import type { LateNote } from '../core/late-rows.ts';
import type { DeletionMemory, DeletionNote, MissingKey } from './index-store.ts';

const DAYS_KEPT = 8;

/** A tenant's deletion memory in this process. */
export class MemoryDeletions implements DeletionMemory {
  readonly #missing = new Map<CollectionName, ReadonlyMap<string, MissingKey>>();
  readonly #withheld = new Map<CollectionName, ReadonlyMap<string, number>>();
  readonly #tripped = new Set<CollectionName>();
  readonly #notes = new Map<CollectionName, DeletionNote>();
  readonly #wrongTenant = new Map<CollectionName, number>();
  readonly #notOffered = new Set<CollectionName>();
  readonly #late = new Map<CollectionName, LateNote>();
  readonly #removed = new Map<string, Map<string, number>>();

  async missing(collection: CollectionName): Promise<ReadonlyMap<string, MissingKey>> {
    return new Map(this.#missing.get(collection));
  }

  async setMissing(collection: CollectionName, keys: ReadonlyMap<string, MissingKey>): Promise<void> {
    this.#missing.set(collection, new Map(keys));
  }

  async withheld(collection: CollectionName): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#withheld.get(collection));
  }

  async setWithheld(collection: CollectionName, keys: ReadonlyMap<string, number>): Promise<void> {
    this.#withheld.set(collection, new Map(keys));
  }

  async tripped(): Promise<ReadonlySet<CollectionName>> {
    return new Set(this.#tripped);
  }

  async setTripped(collection: CollectionName, isTripped: boolean): Promise<void> {
    if (isTripped) this.#tripped.add(collection);
    else this.#tripped.delete(collection);
  }

  async note(collection: CollectionName): Promise<DeletionNote | null> {
    return this.#notes.get(collection) ?? null;
  }

  async setNote(collection: CollectionName, note: DeletionNote | null): Promise<void> {
    if (note === null) this.#notes.delete(collection);
    else this.#notes.set(collection, note);
  }

  async wrongTenant(): Promise<ReadonlyMap<CollectionName, number>> {
    return new Map(this.#wrongTenant);
  }

  async setWrongTenant(collection: CollectionName, sinceMs: number | null): Promise<void> {
    if (sinceMs === null) this.#wrongTenant.delete(collection);
    else this.#wrongTenant.set(collection, sinceMs);
  }

  async notOffered(): Promise<ReadonlySet<CollectionName>> {
    return new Set(this.#notOffered);
  }

  async setNotOffered(collection: CollectionName, isNotOffered: boolean): Promise<void> {
    if (isNotOffered) this.#notOffered.add(collection);
    else this.#notOffered.delete(collection);
  }

  async late(): Promise<ReadonlyMap<CollectionName, LateNote>> {
    return new Map(this.#late);
  }

  async setLate(collection: CollectionName, note: LateNote): Promise<void> {
    this.#late.set(collection, note);
  }

  async removedOn(day: string): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#removed.get(day));
  }

  async addRemoved(day: string, collection: CollectionName, count: number): Promise<void> {
    const counts = this.#removed.get(day) ?? new Map<string, number>();
    counts.set(collection, (counts.get(collection) ?? 0) + count);
    this.#removed.set(day, counts);
    const [oldest] = [...this.#removed.keys()].sort();
    if (this.#removed.size > DAYS_KEPT && oldest !== undefined) this.#removed.delete(oldest);
  }
}
