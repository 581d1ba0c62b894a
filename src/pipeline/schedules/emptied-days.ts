import { whyWithhold } from '../../core/deletion-guard.ts';
import type { KeyedRow } from '../../core/row-changes.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import type { MissingKey } from '../../state/index-store.ts';
import type { ActiveSync } from '../active-sync.ts';
import {
  countWithheld,
  discardList,
  noteDecided,
  whyOthersWithhold,
  type DeletionParts,
} from '../withheld-deletions.ts';

/** No more days are listed than this; the guard withholds long before. */
const MOST_LISTED = 100_000;
/**
 * Minimum time between two writes of the lists to the deletion memory. Losing the latest entries costs only caution.
 */
const WRITE_AGAIN_AFTER_MS = 30_000;
const NONE_APPROVED: ReadonlySet<string> = new Set();

export type EmptiedDaysParts = Omit<DeletionParts, 'findExisting' | 'others'>;

/**
 * Days that had lessons and for which the hub returns none now.
 *
 * One answer is not enough: a day becomes empty once a second answer confirms it. An answer without any lesson, for a
 * student who had some, is inconclusive (lost rights look like this): it confirms only at the end of a round. The guard
 * withholds confirmed days above its limits, and counts days that only one answer has shown so far.
 */
export class EmptiedDays {
  readonly #parts: EmptiedDaysParts;
  /** Days that one answer showed without lessons, with the sync of that answer. */
  readonly #emptyOnce: Map<string, MissingKey>;
  readonly #withheld: Map<string, number>;
  readonly #confirmed = new Map<string, KeyedRow>();
  #isTripped: boolean;
  /**
   * The log counts withheld days, but the list of them is lost. Until a round is complete, any empty day may be one of
   * them.
   */
  #isListLost: boolean;
  /** Withheld days that a person has approved: the next answer that confirms one removes its lessons. */
  #approved: ReadonlySet<string> = NONE_APPROVED;
  /** Approved days in the pending transaction. */
  readonly #releasing = new Set<string>();
  #released = 0;
  /** Why days are withheld; null if unknown. */
  #why: string | null = null;
  #written: { emptyOnce: boolean; withheld: boolean; atMs: number };

  private constructor(
    parts: EmptiedDaysParts,
    start: {
      emptyOnce: Map<string, MissingKey>;
      withheld: Map<string, number>;
      isTripped: boolean;
      isListLost: boolean;
      why: string | null;
    },
  ) {
    this.#parts = parts;
    this.#emptyOnce = start.emptyOnce;
    this.#withheld = start.withheld;
    this.#isTripped = start.isTripped;
    this.#isListLost = start.isListLost;
    this.#why = start.why;
    this.#written = { emptyOnce: true, withheld: true, atMs: 0 };
  }

  static async open(parts: EmptiedDaysParts): Promise<EmptiedDays> {
    const { memory, collection, writer } = parts;
    const withheld = new Map(await memory.withheld(collection));
    const count = await countWithheld(memory, collection, writer.progress);
    return new EmptiedDays(parts, {
      emptyOnce: new Map(await memory.missing(collection)),
      withheld,
      isTripped: (await memory.tripped()).has(collection),
      isListLost: count > 0 && withheld.size === 0,
      why: (await memory.note(collection))?.why ?? null,
    });
  }

  get withheldCount(): number {
    return this.#withheld.size - this.#releasing.size;
  }

  /** A person approves these days. Those that are withheld become empty when the next answer confirms it. */
  approve(keys: Iterable<string>): void {
    this.#approved = new Set([...keys].filter((key) => this.#withheld.has(key)));
    this.#released = 0;
  }

  /**
   * Ends the approval, after all students concerned were answered or given up and the answers are committed. Returns
   * how many days became empty.
   */
  endApproval(): number {
    this.#approved = NONE_APPROVED;
    return this.#released;
  }

  /** Students with days that one answer showed without lessons and that are not withheld. */
  studentsToAskAgain(): Set<string> {
    const students = new Set<string>();
    for (const key of this.#emptyOnce.keys()) {
      const student = splitCompositeKey(key)?.[0];
      if (student !== undefined) students.add(student);
    }
    return students;
  }

  /** Drops days that have lessons or unreadable ones, or that are no longer mirrored. */
  forget(keys: Iterable<string>): void {
    for (const key of keys) {
      this.#confirmed.delete(key);
      if (this.#emptyOnce.delete(key)) this.#written.emptyOnce = false;
      if (this.#withheld.delete(key)) this.#written.withheld = false;
    }
  }

  /**
   * Notes days that had lessons and have none in this answer. Returns whether to ask for the student again soon.
   * `isLast`: the answer is to the second question at the end of a round.
   */
  becameEmpty(
    rows: readonly KeyedRow[],
    answer: { readonly isBlank: boolean; readonly isLast: boolean; readonly passId: string },
  ): boolean {
    let wantsSecond = false;
    for (const row of rows) {
      const { key } = row;
      if (key === null) continue;
      const isConfirmedTwice = this.#emptyOnce.has(key) && (!answer.isBlank || answer.isLast);
      if (isConfirmedTwice || this.#withheld.has(key)) {
        this.#confirmed.set(key, row);
      } else if (!this.#emptyOnce.has(key) && this.#emptyOnce.size < MOST_LISTED) {
        this.#emptyOnce.set(key, { passId: answer.passId, becameEmpty: true });
        this.#written.emptyOnce = false;
        wantsSecond ||= !answer.isBlank;
      }
    }
    return wantsSecond;
  }

  /**
   * A person keeps the listed days: the list is dropped. A day that a later answer shows without lessons is judged
   * again.
   */
  async discard(): Promise<void> {
    this.#withheld.clear();
    this.#confirmed.clear();
    this.#isTripped = false;
    this.#isListLost = false;
    await discardList(this.#parts);
  }

  /** Called before a commit: publishes or withholds confirmed days. */
  async settle(sync: ActiveSync): Promise<void> {
    if (this.#confirmed.size > 0 || !this.#written.emptyOnce) await this.#judge(sync);
    await this.#write();
  }

  /**
   * Called after a commit, because only then entries may be dropped from the lists. `isRoundOver`: the round asked for
   * every day.
   */
  async remember({ isRoundOver }: { isRoundOver: boolean }): Promise<void> {
    if (isRoundOver) this.#isListLost = false;
    const { memory, collection } = this.#parts;
    const hasReleased = this.#releasing.size > 0;
    if (hasReleased) {
      this.#released += this.#releasing.size;
      this.forget(this.#releasing);
      this.#releasing.clear();
    }
    if (this.#isTripped && this.#withheld.size === 0 && !this.#isListLost) {
      this.#isTripped = false;
      await memory.setTripped(collection, false);
    }
    if (isRoundOver || hasReleased) {
      this.#written.atMs = 0;
      await this.#write();
    }
  }

  async #judge(sync: ActiveSync): Promise<void> {
    const { memory, collection, writer, limits, today } = this.#parts;
    await this.#release(sync);
    const losses = new Set([...this.#confirmed.keys(), ...this.#emptyOnce.keys()]);
    const deletedEarlierToday = (await memory.removedOn(today())).get(collection) ?? 0;
    const why = whyWithhold(
      // Days that became empty are still rows.
      { deletions: losses.size, deletedEarlierToday, knownRows: writer.known.rows - deletedEarlierToday },
      // A round takes a day, so only the sum of the day means anything.
      { ...limits, perDay: true },
    );
    if (why !== null) return this.#withhold(losses, { why, isOwn: true });
    if (this.#confirmed.size === 0) return;
    const standing = this.#isTripped && this.#withheld.size > 0;
    if (standing || this.#isListLost) {
      const held = this.#isListLost
        ? 'deletions waited for a person when the index was lost'
        : 'earlier deletions wait for a person';
      return this.#withhold(this.#confirmed.keys(), { why: held, isOwn: true });
    }
    const other = await whyOthersWithhold(this.#parts);
    if (other !== null) return this.#withhold(this.#confirmed.keys(), { why: other, isOwn: false });
    await memory.addRemoved(today(), collection, this.#confirmed.size);
    const rows = [...this.#confirmed.values()];
    this.forget(this.#confirmed.keys());
    await writer.publish(sync, rows);
  }

  /** Publishes approved days that the hub has confirmed. They leave the list after the commit. */
  async #release(sync: ActiveSync): Promise<void> {
    const approved = [...this.#confirmed].filter(([key]) => this.#approved.has(key));
    for (const [key] of approved) {
      this.#confirmed.delete(key);
      this.#releasing.add(key);
    }
    if (approved.length === 0) return;
    await this.#parts.writer.publish(
      sync,
      approved.map(([, row]) => row),
    );
  }

  async #withhold(keys: Iterable<string>, held: { why: string; isOwn: boolean }): Promise<void> {
    const { memory, collection, now, emit } = this.#parts;
    const before = this.#withheld.size;
    const nowMs = now();
    for (const key of keys) {
      this.#confirmed.delete(key);
      this.#emptyOnce.delete(key);
      if (this.#withheld.size < MOST_LISTED && !this.#withheld.has(key)) this.#withheld.set(key, nowMs);
    }
    if (this.#withheld.size === before) return;
    const isFirst = before === 0 || (held.isOwn && !this.#isTripped);
    if (isFirst) this.#why = held.why;
    this.#written = { emptyOnce: false, withheld: false, atMs: isFirst ? 0 : this.#written.atMs };
    if (held.isOwn && !this.#isTripped) {
      this.#isTripped = true;
      await memory.setTripped(collection, true);
    }
    if (isFirst) emit({ kind: 'withheld', collection, rows: this.#withheld.size, why: held.why });
  }

  async #write(): Promise<void> {
    const { memory, collection, now } = this.#parts;
    const { emptyOnce, withheld, atMs } = this.#written;
    if ((emptyOnce && withheld) || now() - atMs < WRITE_AGAIN_AFTER_MS) return;
    if (!withheld) await this.#writeList();
    if (!emptyOnce) await memory.setMissing(collection, this.#emptyOnce);
    this.#written = { emptyOnce: true, withheld: true, atMs: now() };
  }

  async #writeList(): Promise<void> {
    const { memory, collection } = this.#parts;
    await memory.setWithheld(collection, this.#withheld);
    const count = this.#withheld.size;
    // A round takes a day: until it is over, the log counts what the previous one withheld.
    if (count === 0) await noteDecided(this.#parts);
    else
      await memory.setNote(collection, {
        why: this.#why,
        count,
        settledPassId: null,
      });
  }
}
