import { canVerifyIdentity } from '../core/tenant-identity.ts';
import { RollcallError } from '../errors.ts';
import { concernsOneRequest } from '../hub/hub-error.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/** Known rows that are asked for until the hub shows one; all of them gone at once is another hub's answer. */
const ROWS_ASKED = 3;
const OTHERS_ASKED = 3;

/** A collection by whose known rows it can be told whose data the hub gives. */
export interface ControlRows {
  readonly collection: CollectionName;
  readonly knownRows: () => number;
  readonly someKeys: (count: number) => Promise<readonly string[]>;
  /** Which of these the hub still has. Throws what the hub throws. */
  readonly findExisting: (keys: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** `own`: the hub shows rows that are known; `foreign`: it has none of those asked for. */
export type IdentityVerdict = 'own' | 'wrong-tenant' | 'unknown';

/**
 * Whose data a tenant's hub gives, over all collections: a wrong base URL or mixed-up credentials concern them all.
 * Once a collection came with quite other rows, nothing of the others is published for which the hub does not show known
 * rows, and no removal of the tenant's goes out, until that collection's own rows are back or a person says that the new
 * ones are right.
 */
export class TenantIdentity {
  readonly #memory: DeletionMemory;
  readonly #now: () => number;
  readonly #flagged: Map<CollectionName, number>;
  readonly #controlRows = new Map<CollectionName, ControlRows>();
  /** The hub has shown their own rows since a collection was last flagged. */
  readonly #verified = new Set<CollectionName>();

  private constructor(memory: DeletionMemory, now: () => number, flagged: Map<CollectionName, number>) {
    this.#memory = memory;
    this.#now = now;
    this.#flagged = flagged;
  }

  /** `collections`: those mirrored; what was said of one that is not any more does not count. */
  static async open(options: {
    readonly memory: DeletionMemory;
    readonly collections: readonly CollectionName[];
    readonly now: () => number;
  }): Promise<TenantIdentity> {
    const { memory, collections, now } = options;
    const flagged = new Map(await memory.wrongTenant());
    for (const collection of flagged.keys()) {
      if (collections.includes(collection)) continue;
      flagged.delete(collection);
      await memory.setWrongTenant(collection, null);
    }
    return new TenantIdentity(memory, now, flagged);
  }

  add(controlRows: ControlRows): void {
    this.#controlRows.set(controlRows.collection, controlRows);
  }

  isFlagged(collection: CollectionName): boolean {
    return this.#flagged.has(collection);
  }

  /**
   * Throws `HUB_FOREIGN_DATA` while another collection came with quite other rows, unless the hub shows rows of this
   * one: then it is the right hub, and only the other's rows were replaced (a new school year's, say).
   */
  async require(collection: CollectionName): Promise<void> {
    const other = [...this.#flagged.keys()].find((each) => each !== collection);
    if (other === undefined || this.#verified.has(collection)) return;
    if ((await this.verify(collection)) === 'own') {
      this.#verified.add(collection);
      return;
    }
    throw new RollcallError(
      'HUB_FOREIGN_DATA',
      `Nothing of ${collection} is published while the hub gives quite other rows for ${other} than there were`,
      { remedy: WRONG_TENANT_REMEDY },
    );
  }

  async flag(collection: CollectionName): Promise<void> {
    this.#verified.clear();
    if (this.#flagged.has(collection)) return;
    const sinceMs = this.#now();
    this.#flagged.set(collection, sinceMs);
    await this.#memory.setWrongTenant(collection, sinceMs);
  }

  /** Its own rows are back, or a person says that the new ones are right. */
  async clear(collection: CollectionName): Promise<void> {
    if (!this.#flagged.delete(collection)) return;
    await this.#memory.setWrongTenant(collection, null);
  }

  /**
   * Asks the hub for rows that are known: `keys`, else some of the collection's own, else, where it has too few to
   * tell, some of others'. Throws what concerns the hub as a whole.
   */
  async verify(collection: CollectionName, keys: readonly string[] = []): Promise<IdentityVerdict> {
    const own = this.#controlRows.get(collection);
    if (own !== undefined && keys.length > 0) return ask(own, keys);
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
   * Whether the hub, asked again, has any of the rows that it has just given, as far as it can be asked for single rows.
   * To be called after {@link verify}: a page of the wrong hub must not be judged by the right one.
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
