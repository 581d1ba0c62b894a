import { canVerifyIdentity, overlapsEnough } from '../core/tenant-identity.ts';
import { concernsOneRequest } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';
import { RollcallError } from '../errors.ts';

/**
 * Ends an incremental sync that a full one serves better: it would bring most of the collection, or rows that only a
 * full sync can distinguish from another tenant's (`isOversized` in core/watermark.ts, and {@link IdentityGate} decide). Only
 * {@link runSync} catches it, and turns it into a result.
 */
export class BecomesFull extends Error {
  constructor() {
    super('the incremental sync becomes a full one');
  }
}

/** Published rows to ask the hub for; a hub that shows none of them serves another tenant. */
const ROWS_ASKED = 3;

/** A collection whose published rows identify the tenant. */
export interface PublishedRows {
  readonly collection: CollectionName;
  readonly knownRows: () => number;
  readonly someKeys: (count: number) => Promise<readonly string[]>;
  /** How many of the keys the hub shows. Throws `HUB_…`. */
  readonly find: (keys: readonly string[]) => Promise<number>;
  /** Whether published rows are on the first page of a list of the hub: some hubs cannot be asked. Throws `HUB_…`. */
  readonly beginWithKnown: () => Promise<boolean>;
}

/**
 * Recognises another tenant's rows: a wrong base URL or mixed-up credentials. While a collection is flagged, only a full sync
 * shows whether its own rows are back.
 */
export class IdentityCheck {
  readonly #flagged = new Set<CollectionName>();
  readonly #published = new Map<CollectionName, PublishedRows>();

  add(published: PublishedRows): void {
    this.#published.set(published.collection, published);
  }

  isFlagged(collection: CollectionName): boolean {
    return this.#flagged.has(collection);
  }

  flag(collection: CollectionName): void {
    this.#flagged.add(collection);
  }

  /** Its own rows are back, or a person has confirmed the new ones. */
  clear(collection: CollectionName): void {
    this.#flagged.delete(collection);
  }

  /**
   * Whether the hub still has this tenant's rows: those of the collection, or of another one if it has too few. True where none
   * has enough. Throws errors that concern the hub, not a single request.
   */
  async isOwn(collection: CollectionName): Promise<boolean> {
    const all = [...this.#published.values()].filter(({ knownRows }) => canVerifyIdentity(knownRows()));
    const published =
      all.find((each) => each.collection === collection) ??
      all.find((each) => !this.isFlagged(each.collection));
    if (published === undefined) return !this.#isAnyFlagged;
    return (await showsOne(published)) || published.beginWithKnown();
  }

  get #isAnyFlagged(): boolean {
    return this.#flagged.size > 0;
  }
}

export const WRONG_TENANT_REMEDY =
  'Check hub.baseUrl and the credentials; if the data was replaced on purpose: rollcall pull --full --accept-new.';

async function showsOne({ find, someKeys }: PublishedRows): Promise<boolean> {
  try {
    return (await find(await someKeys(ROWS_ASKED))) > 0;
  } catch (error) {
    if (concernsOneRequest(error)) return false;
    throw error;
  }
}

/**
 * Stops another tenant's rows before any of them is published (design, "Guard"). A page passes if enough of its rows
 * are published ones. Before any other page, the gate asks whether the hub still has published rows. A full sync of another
 * tenant's rows throws `HUB_FOREIGN_DATA`; an incremental one {@link BecomesFull}.
 */
export class IdentityGate {
  readonly #identity: IdentityCheck | null;
  readonly #collection: CollectionName;
  readonly #isFull: boolean;
  readonly #knownRows: number;
  #isProven = false;

  /** `identity`: null where the rows cannot be another tenant's, or a person has accepted them. */
  constructor(
    identity: IdentityCheck | null,
    sync: { readonly collection: CollectionName; readonly isFull: boolean; readonly knownRowsBefore: number },
  ) {
    this.#identity = identity;
    this.#collection = sync.collection;
    this.#isFull = sync.isFull;
    this.#knownRows = sync.knownRowsBefore;
  }

  /** Whether a page needs no {@link prove}: `knownAmongThem` of its rows are published. */
  readonly overlaps = (rows: number, knownAmongThem: number): boolean => {
    const knownRows = this.#knownRows;
    // Hardly a page of a first load has a published row: the first one is proven for all.
    if (this.#identity === null || (knownRows === 0 && this.#isProven)) return true;
    return overlapsEnough({ rows, knownAmongThem, knownRows });
  };

  /** A page of new rows may be another tenant's: an incremental sync would take them for changes. */
  async prove(): Promise<void> {
    const collection = this.#collection;
    if (this.#identity === null) return;
    if (await this.#identity.isOwn(collection)) {
      this.#isProven = true;
      return;
    }
    if (!this.#isFull) throw new BecomesFull();
    this.#identity.flag(collection);
    throw new RollcallError(
      'HUB_FOREIGN_DATA',
      `Almost none of the rows that the hub returned for ${collection} match the ${this.#knownRows} already published, and the ` +
        `hub shows none of those. They may be another tenant's`,
      { remedy: `None of them was published. ${WRONG_TENANT_REMEDY}` },
    );
  }

  /** A page of so many rows was accepted: in a full sync, the collection's own rows are back. */
  noteOwn(rows: number): void {
    if (this.#isFull && rows > 0) this.#identity?.clear(this.#collection);
  }
}
