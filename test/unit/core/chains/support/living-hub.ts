import type { ChainRow } from '../../../../../src/core/chains/chain-state.ts';
import { row } from './rows.ts';

/** A chain that was never tampered with. */
export interface TrueChain {
  /** The versions in order, with those that have departed from the hub. */
  readonly versions: string[];
}

/**
 * Holds a hub's records and changes them. Numbers choose among the records that exist, so that any sequence of commands
 * is possible. The order of ids says nothing about time.
 */
export class LivingHub {
  readonly rows = new Map<string, ChainRow>();
  readonly chains: TrueChain[] = [];
  /** The ids that were changed or stamped since an incremental sync last brought them. */
  readonly dirty = new Set<string>();
  /** Ids that records name in `replaces` and that no record had when those arrived. */
  readonly #lost: string[] = [];
  #count = 0;

  create(choice: number): void {
    const id = this.#newId(choice);
    this.chains.push({ versions: [id] });
    this.#put(row(id, { studentId: `student ${choice % 3}` }));
  }

  /** Adds a record that replaces one which the hub does not have, or not yet; several may name the same one. */
  stray(choice: number): void {
    const isNew = this.#lost.length === 0 || choice % 3 === 0;
    const lost = isNew ? this.#newId(choice) : (this.#among(this.#lost, choice) ?? 'never');
    if (isNew) this.#lost.push(lost);
    const id = this.#newId(choice + 1);
    this.chains.push({ versions: [id] });
    this.#put(row(id, { studentId: `student ${Math.floor(choice / 3) % 3}`, replaces: lost }));
  }

  /** Adds a missing record, which may be of another student than the record that replaces it. */
  findLost(choice: number): void {
    const id = this.#among(
      this.#lost.filter((one) => !this.rows.has(one)),
      choice,
    );
    if (id === undefined) return;
    this.chains.push({ versions: [id] });
    // Whenever the record arrives, it is the same student's.
    this.#put(row(id, { studentId: `student ${Number(id.slice(0, 2)) % 3}` }));
  }

  /** Takes the student from a record, for now. */
  unname(choice: number): void {
    const one = this.#pick(choice, () => true);
    if (one !== undefined) this.#put({ ...one, studentId: null });
  }

  /** Replaces a record. Both records say so, or only one of them does (spec 3 says both happen). */
  replace(choice: number, links: 'both' | 'replaces' | 'replacedBy'): void {
    const old = this.#pick(
      choice,
      (one) => one.replacedBy === null && !one.isDeleted && this.#isTail(one.id),
    );
    if (old === undefined) return;
    const id = this.#newId(choice);
    this.chains.find(({ versions }) => versions.at(-1) === old.id)?.versions.push(id);
    this.#put(row(id, { studentId: old.studentId, replaces: links === 'replacedBy' ? null : old.id }));
    if (links !== 'replaces') this.#put({ ...old, replacedBy: id });
  }

  remove(choice: number): void {
    const old = this.#pick(
      choice,
      (one) => one.replacedBy === null && !one.isDeleted && this.#isTail(one.id),
    );
    if (old !== undefined) this.#put({ ...old, isDeleted: true });
  }

  /**
   * Removes the oldest version of a chain, but not before a sync could see the version after it: otherwise nothing
   * would show that the two ends belong together.
   */
  purgeOldest(choice: number, isSeen: (id: string) => boolean): void {
    const chain = this.#among(
      this.chains.filter(({ versions }) => {
        const [, second] = versions.filter((id) => this.rows.has(id));
        return second !== undefined && (isSeen(second) || !versions.some(isSeen));
      }),
      choice,
    );
    const oldest = chain?.versions.find((id) => this.rows.has(id));
    if (oldest !== undefined) this.rows.delete(oldest);
  }

  purgeChain(choice: number): void {
    const chain = this.#among(
      this.chains.filter(({ versions }) => versions.some((id) => this.rows.has(id))),
      choice,
    );
    for (const id of chain?.versions ?? []) this.rows.delete(id);
  }

  stamp(choice: number): void {
    const one = this.#pick(choice, () => true);
    if (one !== undefined) this.dirty.add(one.id);
  }

  /** Does what spec 3 forbids: it sets any field of any record to anything. */
  tamper(
    choice: number,
    field: 'replaces' | 'replacedBy' | 'isDeleted' | 'studentId' | 'gone' | 'back',
  ): void {
    const one = this.#pick(choice, () => true);
    const other = this.#pick(Math.floor(choice / 7), () => true);
    if (one === undefined || other === undefined) return;
    if (field === 'gone') this.rows.delete(one.id);
    else if (field === 'back') this.#put(row(this.#oldId(choice), { studentId: one.studentId }));
    else if (field === 'isDeleted') this.#put({ ...one, isDeleted: !one.isDeleted });
    else if (field === 'studentId') this.#put({ ...one, studentId: `student ${choice % 3}` });
    else {
      const targets = [null, this.#oldId(choice), other.id, other.id];
      this.#put({ ...one, [field]: targets[choice % targets.length] ?? null });
    }
  }

  #put(one: ChainRow): void {
    this.rows.set(one.id, one);
    this.dirty.add(one.id);
  }

  #isTail(id: string): boolean {
    return this.chains.some(({ versions }) => versions.at(-1) === id);
  }

  #newId(choice: number): string {
    this.#count += 1;
    return `${((choice * 7919) % 97).toString().padStart(2, '0')}-${this.#count}`;
  }

  /** Picks an id that some record had at some time. */
  #oldId(choice: number): string {
    const ids = this.chains.flatMap(({ versions }) => versions);
    return this.#among(ids, Math.floor(choice / 3)) ?? 'never';
  }

  #pick(choice: number, fits: (one: ChainRow) => boolean): ChainRow | undefined {
    return this.#among(
      [...this.rows.values()].filter((one) => fits(one)),
      choice,
    );
  }

  #among<Item>(items: readonly Item[], choice: number): Item | undefined {
    return items[choice % Math.max(1, items.length)];
  }
}
