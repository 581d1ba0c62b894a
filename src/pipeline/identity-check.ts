import { canVerifyIdentity } from '../core/tenant-identity.ts';
import { concernsOneRequest } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/** Control rows to request until the hub finds one; a hub that has none of them serves another tenant. */
const ROWS_ASKED = 3;
const OTHERS_ASKED = 3;

/** A collection whose published rows identify the tenant. */
export interface ControlRows {
  readonly collection: CollectionName;
  readonly knownRows: () => number;
  readonly someKeys: (count: number) => Promise<readonly string[]>;
  /** The keys that the hub still has. Throws `HUB_…`. */
  readonly findExisting: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** `own`: the hub has published rows; `wrong-tenant`: it has none of the requested ones. */
export type IdentityVerdict = 'own' | 'wrong-tenant' | 'unknown';

/**
 * Verifies, over all collections, that the hub serves this tenant: a wrong base URL or mixed-up credentials concern them
 * all. When almost none of a collection's rows match the published ones, the collection is flagged. Until its own rows are
 * back, or a person confirms the new ones, Rollcall publishes no removal of the tenant.
 */
export class IdentityCheck {
  readonly #memory: DeletionMemory;
  readonly #now: () => number;
  readonly #flagged: Map<CollectionName, number>;
  readonly #controlRows = new Map<CollectionName, ControlRows>();

  private constructor(memory: DeletionMemory, now: () => number, flagged: Map<CollectionName, number>) {
    this.#memory = memory;
    this.#now = now;
    this.#flagged = flagged;
  }

  /** `collections`: the mirrored ones; drops the flags of others. */
  static async open(options: {
    readonly memory: DeletionMemory;
    readonly collections: readonly CollectionName[];
    readonly now: () => number;
  }): Promise<IdentityCheck> {
    const { memory, collections, now } = options;
    const flagged = new Map(await memory.wrongTenant());
    for (const collection of flagged.keys()) {
      if (collections.includes(collection)) continue;
      flagged.delete(collection);
      await memory.setWrongTenant(collection, null);
    }
    return new IdentityCheck(memory, now, flagged);
  }

  add(controlRows: ControlRows): void {
    this.#controlRows.set(controlRows.collection, controlRows);
  }

  isFlagged(collection: CollectionName): boolean {
    return this.#flagged.has(collection);
  }

  isOtherFlagged(collection: CollectionName): boolean {
    return [...this.#flagged.keys()].some((each) => each !== collection);
  }

  async flag(collection: CollectionName): Promise<void> {
    if (this.#flagged.has(collection)) return;
    const sinceMs = this.#now();
    this.#flagged.set(collection, sinceMs);
    await this.#memory.setWrongTenant(collection, sinceMs);
  }

  /** Its own rows are back, or a person has confirmed the new ones. */
  async clear(collection: CollectionName): Promise<void> {
    if (!this.#flagged.delete(collection)) return;
    await this.#memory.setWrongTenant(collection, null);
  }

  /**
   * Requests published rows from the hub: some of the collection's own or, when it has too few, of other collections. Throws errors that concern the hub, not a single request.
   */
  async verify(collection: CollectionName): Promise<IdentityVerdict> {
    const own = this.#controlRows.get(collection);
    if (own !== undefined && canVerifyIdentity(own.knownRows()))
      return ask(own, await own.someKeys(ROWS_ASKED));
    let verdict: IdentityVerdict = 'unknown';
    const others = [...this.#controlRows.values()].filter(
      (each) =>
        each.collection !== collection &&
        canVerifyIdentity(each.knownRows()) &&
        !this.#flagged.has(each.collection),
    );
    for (const other of others.slice(0, OTHERS_ASKED)) {
      const answer = await ask(other, await other.someKeys(ROWS_ASKED));
      if (answer === 'own') return answer;
      if (answer === 'wrong-tenant') verdict = answer;
    }
    return verdict;
  }

  /**
   * Whether the hub, asked again, has any of the rows that it has just returned; true when it has no requests for single
   * rows. Call this after {@link verify}: the right hub must not vouch for a page of the wrong one.
   */
  async stillHas(collection: CollectionName, keys: readonly string[]): Promise<boolean> {
    const controlRows = this.#controlRows.get(collection);
    if (controlRows === undefined) return true;
    return (
      (await ask(controlRows, [...new Set([...keys.slice(0, 1), ...keys.slice(-1)])])) !== 'wrong-tenant'
    );
  }
}

export const WRONG_TENANT_REMEDY =
  'Check hub.baseUrl and the credentials; if the data was replaced on purpose: rollcall pull --full --accept-new.';

async function ask(controlRows: ControlRows, keys: readonly string[]): Promise<IdentityVerdict> {
  try {
    for (const key of keys) {
      const existing = await controlRows.findExisting([key]);
      if (existing.size > 0) return 'own';
    }
    return keys.length === 0 ? 'unknown' : 'wrong-tenant';
  } catch (error) {
    if (concernsOneRequest(error)) return 'unknown';
    throw error;
  }
}
