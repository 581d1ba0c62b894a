import { MISSES_NEEDED } from '../core/deletions/evidence.ts';
import {
  decideMissing,
  MAX_UNSEEN_KEYS,
  validList,
  type FullSync,
  type Miss,
  type Missing,
  type MissingOutcome,
} from '../core/deletions/decide-missing.ts';
import type { CollectionName } from '../model/collections.ts';
import { foreignSince, type DecisionRecord, type DeletionState, type Progress } from '../model/progress.ts';
import type { DeletionMemory } from '../state/index-store.ts';

/** A person's approval, with the keys of one collection. */
export interface Approved {
  readonly keys: ReadonlySet<string>;
  readonly given: Pick<DecisionRecord, 'atMs' | 'digest' | 'by' | 'from' | 'reason'>;
}

/** A full sync whose scans have ended: what it says about missing rows. */
export interface EndedSync extends Omit<FullSync, 'approvedKeys'> {
  readonly syncId: string;
  /** `YYYY-MM-DD` in the zone of the daily full sync. */
  readonly day: string;
  /** Whether this sync has seen a row, or another sync has while this one ran. */
  readonly wasSeen: (key: string) => boolean;
  readonly short: DeletionState['short'];
  readonly approved: Approved | null;
  /**
   * When the confirming sync is due, if one is needed, ms since the epoch; null: the sync is a confirming one, and
   * needs no further one.
   */
  readonly confirmAtMs: number | null;
  /** Whether a confirming sync of every scope is needed, even if no row is missing. */
  readonly confirmsAll: boolean;
}

/** What becomes of the missing rows after a full sync, and when a confirming sync is due. */
export type Settlement = MissingOutcome & Pick<Missing, 'confirmAtMs'>;

/** What a record of `progress` says of missing rows. */
type Recorded = Pick<Progress, 'deletions' | 'rowsOnHold'>;

/** A list of missing rows. A row leaves it when the hub shows the row. */
type MissingList = Missing & { readonly keys: Map<string, Miss> };

const NOTHING_SETTLED: DeletionState = { settledBy: '', day: '', removed: 0, onHoldSinceMs: null, why: null };

/**
 * What is known of a collection's missing rows: the list of these rows, the hold, the removals of the day, and what
 * people have decided.
 *
 * The list is in Redis, and everything else is in the log. The list has an id. If the log names another id, the list is
 * void.
 * - Before a commit, the rows that any sync has seen since leave the list.
 * - The last commit of a full sync names this sync. After it, the list of the rows that the sync missed takes the place
 *   of the old list. If the process dies in between, there is no valid list.
 *
 * The list changes only in the tasks of the writer, which run one after another.
 */
export class Deletions {
  readonly #memory: DeletionMemory;
  readonly #collection: CollectionName;
  #missing: MissingList | null = null;
  /** Whether Redis has lost the list that the log names. A backup of Redis may bring this list back. */
  #isLost = false;
  /** Whether rows have left the list since Redis got it. */
  #isShorter = false;
  /** What the last transaction recorded. */
  #logged: DeletionState | undefined;
  /**
   * What the next transaction records. Any sync may commit that transaction, and with it the removals to which this
   * belongs.
   */
  #state: DeletionState | undefined;
  /** How many missing rows wait for a decision: the last full sync that settled missing rows left them, and no sync has seen them since. */
  #rowsOnHold = 0;
  #decisions: DecisionRecord[] = [];
  /** The list of a full sync that has not ended yet: Redis gets it after the last transaction of the sync. */
  #next: MissingList | null = null;

  private constructor(memory: DeletionMemory, collection: CollectionName, progress: Recorded | null) {
    this.#memory = memory;
    this.#collection = collection;
    this.restart(progress);
  }

  /** `progress`: the last record in the log; null: none. */
  static async open(
    memory: DeletionMemory,
    collection: CollectionName,
    progress: Recorded | null,
  ): Promise<Deletions> {
    const own = new Deletions(memory, collection, progress);
    if (own.#logged === undefined) return own;
    const list = validList(await memory.missing(collection), own.#logged.settledBy);
    own.#missing = list && { ...list, keys: new Map(list.keys) };
    own.#isLost = list === null;
    return own;
  }

  /** Begins again with what the log says. */
  restart(progress: Recorded | null): void {
    this.#logged = progress?.deletions;
    this.#state = this.#logged;
    this.#rowsOnHold = progress?.rowsOnHold ?? 0;
    this.#next = null;
  }

  /**
   * The list, without the rows that were seen since, and the confirming sync that is needed; null: there is no valid
   * list.
   */
  get missing(): Missing | null {
    return this.#missing;
  }

  /** When the hold in the log began, ms since the epoch; null: the collection is not on hold. */
  get onHoldSinceMs(): number | null {
    return this.#logged?.onHoldSinceMs ?? null;
  }

  /** Whether the collection is on hold, and the list of its missing rows is lost. */
  get isListLost(): boolean {
    return this.onHoldSinceMs !== null && this.#missing === null;
  }

  /** Unapproved removals of a day, `YYYY-MM-DD`, as the log has them. */
  removedOn(day: string): number {
    return this.#logged?.day === day ? this.#logged.removed : 0;
  }

  has(key: string): boolean {
    return this.#missing?.keys.has(key) === true;
  }

  /** The hub has shown these rows, so they leave the list. */
  noteSeen(keys: Iterable<string | null>): void {
    for (const key of keys) {
      if (key === null) continue;
      if (this.#missing?.keys.delete(key) === true) this.#isShorter = true;
      this.#next?.keys.delete(key);
    }
  }

  /** Whether the rows at the hub may be another tenant's. Only a full sync shows which tenant they belong to. */
  get isForeign(): boolean {
    return foreignSince({ deletions: this.#state }) !== null;
  }

  /** The next transaction records since when the hub's rows may be another tenant's. */
  noteForeign(sinceMs: number): void {
    if (!this.isForeign) this.#state = { ...(this.#state ?? NOTHING_SETTLED), foreignSinceMs: sinceMs };
  }

  /** The next transaction records that the hub's rows are this tenant's. */
  noteOwn(): void {
    if (this.isForeign) this.#state = { ...(this.#state ?? NOTHING_SETTLED), foreignSinceMs: null };
  }

  /** The next transaction records the decision, whichever sync commits that transaction. */
  decide(decision: DecisionRecord): void {
    this.#decisions.push(decision);
  }

  /** Decides what becomes of the missing rows. The next commit records this, and so does every later commit. */
  settle(sync: EndedSync): Settlement {
    const { syncId, day, approved, short, confirmsAll, wasSeen } = sync;
    this.noteSeen([...(this.#missing?.keys.keys() ?? [])].filter(wasSeen));
    const { onHoldSinceMs, isListLost } = this;
    const outcome = decideMissing({
      ...sync,
      approvedKeys: approved?.keys ?? null,
      before: this.#missing?.keys ?? new Map(),
      onHoldSinceMs,
      isListLost,
      removedToday: this.removedOn(day),
    });
    const { wait, unconfirmed, removedToday: removed, whyOnHold: why, rowsOnHold, holdBegins } = outcome;
    const at = { collection: this.#collection, atMs: sync.atMs };
    if (approved !== null) {
      const rows = approved.keys.size;
      this.decide({ ...at, ...approved.given, kind: 'approved', rows, removed: outcome.approvedGone });
    } else if (onHoldSinceMs !== null && outcome.onHoldSinceMs === null) {
      this.decide({ ...at, kind: 'healed' });
    }
    if (holdBegins) this.decide({ ...at, kind: 'hold', rows: rowsOnHold, why });
    this.#state = { settledBy: syncId, day, removed, onHoldSinceMs: outcome.onHoldSinceMs, why, short };
    this.#rowsOnHold = rowsOnHold;
    const confirmAtMs = unconfirmed > 0 || confirmsAll ? sync.confirmAtMs : null;
    this.#next = { syncId, confirmAtMs, confirmsAll, keys: new Map(wait) };
    return { ...outcome, confirmAtMs };
  }

  /** Returns what a transaction records. `endedSync`: the sync whose last transaction this is; null: no sync ends. */
  async beforeCommit(transactionId: string, endedSync: string | null) {
    const listId = await this.#dropSeen(transactionId);
    this.#countOnHold();
    const settledBy = this.#listIdToRecord(endedSync, listId) ?? '';
    const deletions = this.#state && { ...this.#state, settledBy };
    return { deletions, rowsOnHold: this.#rowsOnHold, decisions: this.#decisions.splice(0) };
  }

  /**
   * The id of the list that a transaction makes valid. `inRedis`: the id of the list in Redis, which stays valid unless
   * the full sync that settled missing rows last replaces it.
   */
  #listIdToRecord(endedSync: string | null, inRedis: string | undefined): string | undefined {
    const state = this.#state;
    // Redis gets the list of the full sync after this commit.
    const endsFull = this.#next !== null && this.#next.syncId === endedSync;
    // A hold begins, and the list in Redis lacks its rows. If the process dies before the full sync ends, there is no
    // valid list.
    const beginsHold = state?.onHoldSinceMs != null && state.onHoldSinceMs !== this.onHoldSinceMs;
    return endsFull || beginsHold ? state?.settledBy : inRedis;
  }

  /** Lowers the number of rows on hold by those that a sync has seen since. */
  #countOnHold(): void {
    if (this.#rowsOnHold === 0) return;
    const list = this.#next ?? this.#missing;
    const isOnHold = this.#state?.onHoldSinceMs != null;
    // Only a list that has all of its rows tells how many of them are left.
    if (isOnHold && (list === null || this.#rowsOnHold > MAX_UNSEEN_KEYS)) return;
    // If only another collection is on hold, a row waits for the decision once enough syncs have missed it.
    const isWaiting = ({ times }: Miss): boolean => isOnHold || times >= MISSES_NEEDED;
    const left = [...(list?.keys.values() ?? [])].filter(isWaiting).length;
    if (left >= this.#rowsOnHold) return;
    this.#rowsOnHold = left;
    // The reason has numbers of the last full sync, which no longer apply.
    if (isOnHold && this.#state) this.#state = { ...this.#state, why: 'the other missing rows are back' };
  }

  /** The log has committed what {@link beforeCommit} returned. */
  async afterCommit(progress: Recorded, endedSync: string | null): Promise<void> {
    this.#logged = progress.deletions;
    const next = this.#next;
    if (next === null || next.syncId !== endedSync) return;
    this.#next = null;
    await this.#remember(next);
  }

  /**
   * Takes rows that were seen off the list in Redis, before a transaction is committed. Returns the id of the list. If
   * rows have left the list, or Redis has lost it, this is the id of the transaction, so that the list in an older copy
   * of Redis is void.
   */
  async #dropSeen(transactionId: string): Promise<string | undefined> {
    const loggedId = this.#logged?.settledBy;
    const missing = this.#missing;
    if (this.#isLost) {
      this.#isLost = false;
      return transactionId;
    }
    if (!this.#isShorter || missing === null) return loggedId;
    // A list that the log does not name is void, and stays void.
    const isNamed = missing.syncId === loggedId;
    const ids = isNamed ? { syncId: transactionId, before: missing.syncId } : {};
    // If the commit fails, the rows are off the list nevertheless: they were seen.
    await this.#remember({ ...missing, ...ids });
    return isNamed ? transactionId : loggedId;
  }

  async #remember(missing: MissingList): Promise<void> {
    this.#missing = missing;
    this.#isShorter = false;
    await this.#memory.setMissing(this.#collection, missing);
  }
}
