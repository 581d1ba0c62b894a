import { ofLog, type Missing, type MissingKeys } from '../core/deletions/missing.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/**
 * The missing rows of a collection, as remembered between syncs. Keys that were seen, by whatever sync, leave it before the
 * commit; keys that were missed enter it after the commit that names their sync: a crash in between makes it void.
 */
export class MissingRows {
  readonly #memory: DeletionMemory;
  readonly #collection: CollectionName;
  #missing: Missing | null = null;
  /** The log names a sync of which Redis remembers nothing: it lost the list, and may be restored with it. */
  #isLost = false;
  readonly #seen = new Set<string>();

  private constructor(memory: DeletionMemory, collection: CollectionName) {
    this.#memory = memory;
    this.#collection = collection;
  }

  /** `settledBy`: the sync that the log names; null: none. */
  static async open(
    memory: DeletionMemory,
    collection: CollectionName,
    settledBy: string | null,
  ): Promise<MissingRows> {
    const rows = new MissingRows(memory, collection);
    if (settledBy === null) return rows;
    rows.#missing = ofLog(await memory.missing(collection), settledBy);
    rows.#isLost = rows.#missing === null;
    return rows;
  }

  /** Without those seen since; null: what was remembered is lost or void. */
  get keys(): MissingKeys | null {
    if (this.#missing === null || this.#seen.size === 0) return this.#missing?.keys ?? null;
    return new Map([...this.#missing.keys].filter(([key]) => !this.#seen.has(key)));
  }

  /** The confirming sync that is owed: when it is due (ms since the epoch), and whether it reads every scope; null: none. */
  get owed(): { readonly atMs: number; readonly isOfAll: boolean } | null {
    const atMs = this.#missing?.confirmAtMs ?? null;
    return atMs === null ? null : { atMs, isOfAll: this.#missing?.confirmsAll === true };
  }

  has(key: string): boolean {
    return this.#missing?.keys.has(key) === true && !this.#seen.has(key);
  }

  /** The hub has shown rows. */
  noteSeen(keys: Iterable<string | null>): void {
    const missing = this.#missing?.keys;
    if (missing === undefined || missing.size === 0) return;
    for (const key of keys) if (key !== null && missing.has(key)) this.#seen.add(key);
  }

  /**
   * Forgets those that were seen, before a transaction that names what is left by its own id: what an older Redis remembers is
   * void. Returns that id; null: nothing was seen, or the log names a sync of which nothing is remembered yet.
   * The first transaction after Redis lost the list returns its id, too, so that a backup that brings the list back is void.
   */
  async dropSeen(transactionId: string, settledBy: string | undefined): Promise<string | null> {
    if (this.#isLost) {
      this.#isLost = false;
      return transactionId;
    }
    const [missing, keys] = [this.#missing, this.keys];
    if (this.#seen.size === 0 || missing === null || keys === null) return null;
    const isNamed = missing.syncId === settledBy;
    const ids = isNamed ? { syncId: transactionId, before: missing.syncId } : {};
    await this.replace({ ...missing, ...ids, keys });
    return isNamed ? transactionId : null;
  }

  /** Called after the commit that names the sync. What is seen meanwhile is noted. */
  async replace(missing: Missing): Promise<void> {
    this.#missing = missing;
    this.#seen.clear();
    await this.#memory.setMissing(this.#collection, missing);
  }
}
