import { whyWithhold } from '../core/deletion-guard.ts';
import type { KeyedReading } from '../core/page-decision.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { ActivePass } from './active-pass.ts';
import { countWithheld, whoseTripHolds, type DeletionParts } from './withholding.ts';

/** Beyond it days are not listed; the guard has long since held them. */
const MOST_LISTED = 100_000;
/** How long what only adds caution may wait before it is written again. */
const WRITE_AGAIN_AFTER_MS = 30_000;

export type ScheduleLossParts = Omit<DeletionParts, 'findExisting'>;

/**
 * Days that had lessons and that the hub gives none for any more.
 *
 * One answer is not enough: a day is emptied once a second answer says the same. An answer without a single lesson, for
 * a student who had some, is suspect (lost rights look like that): it counts only as the last word of a round. What was
 * said twice goes out unless the guard holds it, which also counts what was said only once.
 */
export class ScheduleLosses {
  readonly #parts: ScheduleLossParts;
  /** Said once, with the pass that heard it. */
  readonly #suspected: Map<string, string>;
  readonly #withheld: Map<string, number>;
  readonly #confirmed = new Map<string, KeyedReading>();
  #isTripped: boolean;
  /** The log knows of withheld days, the list of them is lost: until a whole round, all that is empty may be among them. */
  #isListLost: boolean;
  #written: { suspected: boolean; withheld: boolean; atMs: number };

  private constructor(
    parts: ScheduleLossParts,
    start: {
      suspected: Map<string, string>;
      withheld: Map<string, number>;
      isTripped: boolean;
      isListLost: boolean;
    },
  ) {
    this.#parts = parts;
    this.#suspected = start.suspected;
    this.#withheld = start.withheld;
    this.#isTripped = start.isTripped;
    this.#isListLost = start.isListLost;
    this.#written = { suspected: true, withheld: true, atMs: 0 };
  }

  static async open(parts: ScheduleLossParts): Promise<ScheduleLosses> {
    const { memory, collection, writer } = parts;
    const withheld = new Map(await memory.withheld(collection));
    const count = await countWithheld(memory, collection, writer.progress);
    return new ScheduleLosses(parts, {
      suspected: new Map(await memory.missing(collection)),
      withheld,
      isTripped: (await memory.tripped()).has(collection),
      isListLost: count > 0 && withheld.size === 0,
    });
  }

  get withheldCount(): number {
    return this.#withheld.size;
  }

  /** Students with days that were said once to be empty, and are not withheld. */
  studentsToAskAgain(): Set<string> {
    const students = new Set<string>();
    for (const key of this.#suspected.keys()) {
      const student = splitCompositeKey(key)?.[0];
      if (student !== undefined) students.add(student);
    }
    return students;
  }

  /** These days have lessons, or something that cannot be read; or they are none of ours any more. */
  forget(keys: Iterable<string>): void {
    for (const key of keys) {
      this.#confirmed.delete(key);
      if (this.#suspected.delete(key)) this.#written.suspected = false;
      if (this.#withheld.delete(key)) this.#written.withheld = false;
    }
  }

  /**
   * Days that had lessons and come without. True when the student should be asked again soon.
   * `isLast`: asked at the end of a round, once more.
   */
  emptied(
    readings: readonly KeyedReading[],
    answer: { readonly isBlank: boolean; readonly isLast: boolean; readonly passId: string },
  ): boolean {
    let wantsSecond = false;
    for (const reading of readings) {
      const { key } = reading;
      if (key === null) continue;
      const isSaidTwice = this.#suspected.has(key) && (!answer.isBlank || answer.isLast);
      if (isSaidTwice || this.#withheld.has(key)) {
        this.#confirmed.set(key, reading);
      } else if (!this.#suspected.has(key) && this.#suspected.size < MOST_LISTED) {
        this.#suspected.set(key, answer.passId);
        this.#written.suspected = false;
        wantsSecond ||= !answer.isBlank;
      }
    }
    return wantsSecond;
  }

  /** To be called before a commit: publishes what was said twice, or holds it. */
  async settle(pass: ActivePass): Promise<void> {
    if (this.#confirmed.size > 0 || !this.#written.suspected) await this.#judge(pass);
    await this.#write();
  }

  /** To be called after a commit: what lifts caution counts only then. `isRoundOver`: every day was looked at. */
  async remember({ isRoundOver }: { isRoundOver: boolean }): Promise<void> {
    if (isRoundOver) this.#isListLost = false;
    const { memory, collection } = this.#parts;
    if (this.#isTripped && this.#withheld.size === 0 && !this.#isListLost) {
      this.#isTripped = false;
      await memory.setTripped(collection, false);
    }
    if (isRoundOver) {
      this.#written.atMs = 0;
      await this.#write();
    }
  }

  async #judge(pass: ActivePass): Promise<void> {
    const { memory, collection, writer, limits, today } = this.#parts;
    const losses = new Set([...this.#confirmed.keys(), ...this.#suspected.keys()]);
    const deletedEarlierToday = (await memory.removedOn(today())).get(collection) ?? 0;
    const why = whyWithhold(
      // Days that were emptied are still rows.
      { deletions: losses.size, deletedEarlierToday, knownRows: writer.knownRows - deletedEarlierToday },
      // A round takes a day: only the day's sum says anything.
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
    const other = whoseTripHolds(collection, await memory.tripped());
    if (other !== undefined) {
      return this.#withhold(this.#confirmed.keys(), {
        why: `deletions of ${other} wait for a person`,
        isOwn: false,
      });
    }
    await memory.addRemoved(today(), collection, this.#confirmed.size);
    const readings = [...this.#confirmed.values()];
    this.forget(this.#confirmed.keys());
    await writer.publish(pass, readings);
  }

  async #withhold(keys: Iterable<string>, held: { why: string; isOwn: boolean }): Promise<void> {
    const { memory, collection, now, say } = this.#parts;
    const before = this.#withheld.size;
    const nowMs = now();
    for (const key of keys) {
      this.#confirmed.delete(key);
      this.#suspected.delete(key);
      if (this.#withheld.size < MOST_LISTED && !this.#withheld.has(key)) this.#withheld.set(key, nowMs);
    }
    if (this.#withheld.size === before) return;
    const isFirst = before === 0 || (held.isOwn && !this.#isTripped);
    this.#written = { suspected: false, withheld: false, atMs: isFirst ? 0 : this.#written.atMs };
    if (held.isOwn && !this.#isTripped) {
      this.#isTripped = true;
      await memory.setTripped(collection, true);
    }
    if (isFirst) say({ kind: 'withheld', collection, rows: this.#withheld.size, why: held.why });
  }

  async #write(): Promise<void> {
    const { memory, collection, now } = this.#parts;
    const { suspected, withheld, atMs } = this.#written;
    if ((suspected && withheld) || now() - atMs < WRITE_AGAIN_AFTER_MS) return;
    if (!withheld) await memory.setWithheld(collection, this.#withheld);
    if (!suspected) await memory.setMissing(collection, this.#suspected);
    this.#written = { suspected: true, withheld: true, atMs: now() };
  }
}
