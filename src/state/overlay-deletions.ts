import type { CollectionName } from '../model/collections.ts';
import type { LateNote } from '../core/late-rows.ts';
import type { DeletionMemory, DeletionNote, MissingKey } from './index-store.ts';

/** A reader's own changes to the memory of one collection; an undefined field has the value of the memory below. */
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

/** Reads another process's deletion memory and keeps its own changes in this process. */
export class OverlayDeletions implements DeletionMemory {
  readonly #base: DeletionMemory;
  readonly #noted = new Map<CollectionName, Noted>();

  constructor(base: DeletionMemory) {
    this.#base = base;
  }

  /** Drops the own changes for a collection. */
  discard(collection: CollectionName): void {
    this.#noted.delete(collection);
  }

  async missing(collection: CollectionName): Promise<ReadonlyMap<string, MissingKey>> {
    return new Map(this.#noted.get(collection)?.missing ?? (await this.#base.missing(collection)));
  }

  async setMissing(collection: CollectionName, keys: ReadonlyMap<string, MissingKey>): Promise<void> {
    this.#of(collection).missing = new Map(keys);
  }

  async withheld(collection: CollectionName): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#noted.get(collection)?.withheld ?? (await this.#base.withheld(collection)));
  }

  async setWithheld(collection: CollectionName, keys: ReadonlyMap<string, number>): Promise<void> {
    this.#of(collection).withheld = new Map(keys);
  }

  async tripped(): Promise<ReadonlySet<CollectionName>> {
    return this.#members(await this.#base.tripped(), ({ isTripped }) => isTripped);
  }

  async setTripped(collection: CollectionName, isTripped: boolean): Promise<void> {
    this.#of(collection).isTripped = isTripped;
  }

  async note(collection: CollectionName): Promise<DeletionNote | null> {
    const noted = this.#noted.get(collection)?.note;
    return noted === undefined ? this.#base.note(collection) : noted.value;
  }

  async setNote(collection: CollectionName, value: DeletionNote | null): Promise<void> {
    this.#of(collection).note = { value };
  }

  async wrongTenant(): Promise<ReadonlyMap<CollectionName, number>> {
    const found = new Map(await this.#base.wrongTenant());
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
    return this.#members(await this.#base.notOffered(), ({ isNotOffered }) => isNotOffered);
  }

  async setNotOffered(collection: CollectionName, isNotOffered: boolean): Promise<void> {
    this.#of(collection).isNotOffered = isNotOffered;
  }

  async late(): Promise<ReadonlyMap<CollectionName, LateNote>> {
    const found = new Map(await this.#base.late());
    for (const [collection, { late }] of this.#noted) if (late !== undefined) found.set(collection, late);
    return found;
  }

  async setLate(collection: CollectionName, late: LateNote): Promise<void> {
    this.#of(collection).late = late;
  }

  async removedOn(day: string): Promise<ReadonlyMap<string, number>> {
    const found = new Map(await this.#base.removedOn(day));
    for (const [collection, { removed }] of this.#noted) {
      const count = removed.get(day) ?? 0;
      if (count > 0) found.set(collection, (found.get(collection) ?? 0) + count);
    }
    return found;
  }

  async addRemoved(day: string, collection: CollectionName, count: number): Promise<void> {
    const { removed } = this.#of(collection);
    removed.set(day, (removed.get(day) ?? 0) + count);
  }

  #of(collection: CollectionName): Noted {
    const noted = this.#noted.get(collection) ?? { removed: new Map<string, number>() };
    this.#noted.set(collection, noted);
    return noted;
  }

  #members(
    base: ReadonlySet<CollectionName>,
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
