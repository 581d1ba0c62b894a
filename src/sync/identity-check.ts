import { canVerifyIdentity } from '../core/tenant-identity.ts';
import { concernsOneRequest } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';

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
