import { MISSES_NEEDED } from '../core/deletions/evidence.ts';
import {
  decideMissing,
  MAX_UNSEEN_KEYS,
  ofLog,
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

/** A full sync whose scans have ended. */
export interface EndedSync extends Omit<FullSync, 'approvedKeys'> {
  readonly syncId: string;
  /** `YYYY-MM-DD` in the zone of the daily full sync. */
  readonly day: string;
  /** Whether the sync has seen a row, or another sync while it ran. */
  readonly wasSeen: (key: string) => boolean;
  readonly short: DeletionState['short'];
  readonly approved: Approved | null;
  /**
   * When the confirming sync is due, if one is needed, ms since the epoch; null: the sync is a confirming one, and
   * needs no further one.
   */
  readonly confirmAtMs: number | null;
  /** A confirming sync is needed even if no row is missing, and reads every scope. */
  readonly confirmsAll: boolean;
}

/** What becomes of the missing rows after a full sync, and when another one is to confirm it. */
export type Settlement = MissingOutcome & Pick<Missing, 'confirmAtMs'>;

/** What a record of `progress` says of missing rows. */
type Recorded = Pick<Progress, 'deletions' | 'rowsOnHold'>;

/** A list that gets shorter when the hub shows its rows. */
type MissingList = Missing & { readonly keys: Map<string, Miss> };

const NOTHING_SETTLED: DeletionState = { settledBy: '', day: '', removed: 0, onHoldSinceMs: null, why: null };

/**
 * What is known of a collection's missing rows: the list of them, the hold, the removals of the day, and what people have decided.
 *
 * The list is in Redis, all else in the log. Rows that were seen, by whatever sync, leave the list before the commit; rows that were
 * missed enter it after the commit that names their sync: a crash in between makes it void. The list changes only in the tasks of the
 * writer, which run one after another.
 */
export class Deletions {
  readonly #memory: DeletionMemory;
  readonly #collection: CollectionName;
  #missing: MissingList | null = null;
  /**
   * The log names a sync of which Redis remembers nothing: Redis lost the list, and a backup may bring the list back.
   */
  #isForgotten = false;
  /** Rows have left the list since it was remembered. */
  #isShorter = false;
  /** What the log holds. */
  #logged: DeletionState | undefined;
  /** What the next transaction records, whichever sync commits it: it may hold removals. */
  #state: DeletionState | undefined;
  /** Rows whose removal waits for a decision: those that the last full sync that settled missing rows left, and that nobody has seen since. */
  #rowsOnHold = 0;
  #decisions: DecisionRecord[] = [];
  /** The list to remember after the last transaction of the full sync that missed its rows; those seen meanwhile leave it. */
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
    const list = ofLog(await memory.missing(collection), own.#logged.settledBy);
    own.#missing = list && { ...list, keys: new Map(list.keys) };
    own.#isForgotten = list === null;
    return own;
  }

  /** The log was read again. */
  restart(progress: Recorded | null): void {
    this.#logged = progress?.deletions;
    this.#state = this.#logged;
    this.#rowsOnHold = progress?.rowsOnHold ?? 0;
    this.#next = null;
  }

  /** The list, without rows seen since, and the confirming sync that is needed; null: it is lost or void, or there is none. */
  get missing(): Missing | null {
    return this.#missing;
  }

  /** Since when the log has it on hold, ms since the epoch; null: it is not on hold. */
  get onHoldSinceMs(): number | null {
    return this.#logged?.onHoldSinceMs ?? null;
  }

  /** A hold stands, and what was missing at its begin is not known any more. */
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

  /** The hub has shown rows. */
  noteSeen(keys: Iterable<string | null>): void {
    for (const key of keys) {
      if (key === null) continue;
      if (this.#missing?.keys.delete(key) === true) this.#isShorter = true;
      this.#next?.keys.delete(key);
    }
  }

  /** Whether its rows at the hub may be another tenant's: only a full sync shows which tenant they belong to. */
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

  /**
   * Decides what becomes of the missing rows. Each commit, from the one with the first removal on, records the
   * decision.
   */
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

  /** What a transaction records. `endedSync`: id of the sync whose last transaction it is; null: it is none. */
  async beforeCommit(transactionId: string, endedSync: string | null) {
    const isRenamed = await this.#dropSeen(transactionId);
    this.#countOnHold();
    const settledBy = this.#namedBy(transactionId, endedSync, isRenamed) ?? '';
    const deletions = this.#state && { ...this.#state, settledBy };
    return { deletions, rowsOnHold: this.#rowsOnHold, decisions: this.#decisions.splice(0) };
  }

  /** The id that a transaction names as the one that last settled the missing rows: what is remembered under another id is void. */
  #namedBy(transactionId: string, endedSync: string | null, isRenamed: boolean): string | undefined {
    const state = this.#state;
    // The sync that settled them ends: its own list is remembered after the commit.
    if (this.#next !== null && this.#next.syncId === endedSync) return state?.settledBy;
    // A hold begins, of which the remembered rows say nothing. A crash before the end of the sync loses the list of the hold.
    if (state?.onHoldSinceMs != null && state.onHoldSinceMs !== this.onHoldSinceMs) return state.settledBy;
    // The remembered rows have the id of this transaction now, or are lost: an older copy of Redis is void.
    if (isRenamed) return transactionId;
    // The remembered rows stay as they are, those of the last sync that settled any.
    return this.#logged?.settledBy;
  }

  /** Rows that a later sync has seen are on hold no more. */
  #countOnHold(): void {
    const list = this.#next ?? this.#missing;
    const isOnHold = this.#state?.onHoldSinceMs != null;
    // Only a list that has all of its rows tells how many of them are left.
    if (isOnHold && (list === null || this.#rowsOnHold > MAX_UNSEEN_KEYS)) return;
    const isWaiting = ({ times }: Miss): boolean => isOnHold || times >= MISSES_NEEDED;
    const left = this.#rowsOnHold === 0 ? 0 : [...(list?.keys.values() ?? [])].filter(isWaiting).length;
    if (left >= this.#rowsOnHold) return;
    this.#rowsOnHold = left;
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
   * Forgets rows that were seen, before a transaction is committed. Returns whether the transaction is to name the
   * remaining rows by its own id, so that what an older copy of Redis remembers is void.
   */
  async #dropSeen(transactionId: string): Promise<boolean> {
    // Redis has lost the list, and a backup may bring it back.
    if (this.#isForgotten) {
      this.#isForgotten = false;
      return true;
    }
    const missing = this.#missing;
    if (!this.#isShorter || missing === null) return false;
    // A list that the log does not name is void already.
    const isNamed = missing.syncId === this.#logged?.settledBy;
    const ids = isNamed ? { syncId: transactionId, before: missing.syncId } : {};
    // What was seen may be forgotten although the commit fails.
    await this.#remember({ ...missing, ...ids });
    return isNamed;
  }

  async #remember(missing: MissingList): Promise<void> {
    this.#missing = missing;
    this.#isShorter = false;
    await this.#memory.setMissing(this.#collection, missing);
  }
}
