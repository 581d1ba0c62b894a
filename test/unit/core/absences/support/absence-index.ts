import { deepStrictEqual } from 'node:assert';
import {
  awaitedIn,
  forgotten,
  isShown,
  type AbsenceEntry,
  type AbsenceStep,
  type VersionRow,
} from '../../../../../src/core/absences/absence-entry.ts';
import { decodeEntry, encodeEntry } from '../../../../../src/core/absences/entry-codec.ts';
import {
  deriveAbsences,
  idsToLoad,
  type DeriveInput,
  type DerivedAbsences,
} from '../../../../../src/core/absences/derive-absences.ts';

/** The index and the topics in memory. */
export class AbsenceIndex {
  readonly entries = new Map<string, AbsenceEntry>();
  readonly pointers = new Map<string, string>();
  /** Version id → student of the kept record. */
  readonly bodies = new Map<string, number | null>();
  /** By absence id; one array for each life of the key. */
  readonly lives = new Map<string, AbsenceStep[][]>();
  readonly shown = new Map<string, string>();
  readonly events: AbsenceStep[] = [];
  /** Events whose record was not at hand. */
  readonly lacking: AbsenceStep[] = [];
  readonly foreign = new Set<string>();
  readonly studentsOfEvents: { absenceId: string; life: number; student: number | null }[] = [];
  rejected = 0;

  page(
    rows: readonly VersionRow[],
    vanished: readonly string[] = [],
    held: ReadonlySet<string> = new Set(),
  ): DerivedAbsences {
    return this.#derive('page', { rows, vanished, open: [], held });
  }

  final(rows: readonly VersionRow[] = [], vanished: readonly string[] = []): DerivedAbsences {
    const open = [...this.entries].flatMap(([key, { isOpen }]) => (isOpen ? [key] : []));
    return this.#derive('final', { rows, vanished, open, held: new Set() });
  }

  /** Ids that open absences await. */
  awaited(): string[] {
    return [...this.entries.values()].flatMap((entry) => (entry.isOpen ? awaitedIn(entry) : []));
  }

  forgetDeleted(): void {
    for (const [key, entry] of this.entries) {
      if (entry.published?.isDeleted !== true || entry.published.step === 0) continue;
      this.entries.set(key, forgotten(entry));
      this.lives.get(key)?.push([]);
    }
  }

  get oddities(): number {
    const members = [...this.entries.values()].flatMap((entry) => entry.members);
    return members.filter(({ isOdd, state }) => isOdd || state === 'foreign').length;
  }

  #load(ids: Iterable<string>, mode: 'page' | 'final'): Map<string, AbsenceEntry> {
    const found = new Map<string, AbsenceEntry>();
    for (const id of ids) {
      const key = this.entries.has(id) ? id : this.pointers.get(id);
      if (key === undefined) continue;
      const entry = this.entries.get(key);
      if (entry === undefined) throw new Error(`${id} points to ${key}, which is no absence`);
      found.set(key, entry);
    }
    if (mode === 'page') return found;
    const others = [...found.values()].flatMap(({ continuedBy }) => continuedBy ?? []);
    return new Map([...found, ...this.#load(others, 'page')]);
  }

  #derive(
    mode: 'page' | 'final',
    input: Pick<DeriveInput, 'rows' | 'vanished' | 'open' | 'held'>,
  ): DerivedAbsences {
    const before = this.#load(idsToLoad(input), mode);
    const out = deriveAbsences({ mode, ...input, entries: before });
    const rejected = new Set(out.rejected);
    const atHand = new Map(input.rows.map((row) => [row.id, row.student]));
    for (const step of out.steps) this.#publish(step, rejected.has(step.versionId) ? new Map() : atHand);
    for (const id of out.published) this.bodies.delete(id);
    for (const id of out.waiting) this.bodies.set(id, atHand.get(id) ?? null);
    for (const [key, id] of out.shown) setOrDelete(this.shown, key, id);
    for (const key of out.ended) {
      this.lives.get(key)?.push([]);
      this.shown.delete(key);
    }
    for (const [key, entry] of out.entries) setOrDelete(this.entries, key, entry);
    for (const [id, key] of out.pointers) setOrDelete(this.pointers, id, key);
    for (const { id } of input.rows) this.foreign.delete(id);
    for (const id of rejected) this.foreign.add(id);
    this.rejected += rejected.size;
    return out;
  }

  #publish(step: AbsenceStep, atHand: ReadonlyMap<string, number | null>): void {
    const lives = this.lives.get(step.absenceId) ?? [[]];
    this.lives.set(step.absenceId, lives);
    lives.at(-1)?.push(step);
    this.events.push(step);
    const student = atHand.has(step.versionId) ? atHand.get(step.versionId) : this.bodies.get(step.versionId);
    if (student === undefined) this.lacking.push(step);
    else this.studentsOfEvents.push({ absenceId: step.absenceId, life: lives.length, student });
  }

  /** Throws if entries and pointers do not fit each other, or an entry is not the same once encoded and decoded. */
  check(): void {
    const owners = new Map<string, string>();
    for (const [key, entry] of this.entries) {
      const { members, published } = entry;
      deepStrictEqual(decodeEntry(key, encodeEntry(key, entry)), entry);
      const own = members.find(({ id }) => id === key);
      if (own === undefined || own.state === 'awaited') throw new Error(`${key} is no seen member of itself`);
      if (isShown(entry) !== this.shown.has(key))
        throw new Error(`${key} is shown, and its entry says otherwise, or the other way round`);
      if (published !== null && !members.some(({ id }) => id === published.versionId))
        throw new Error(`the version that ${key} published last is no member`);
      for (const { id } of members) {
        if (owners.has(id)) throw new Error(`${id} is in two absences`);
        owners.set(id, key);
        if (id === key ? this.pointers.has(id) : this.pointers.get(id) !== key)
          throw new Error(`the pointer of ${id} is wrong`);
      }
    }
    for (const id of this.pointers.keys()) if (!owners.has(id)) throw new Error(`a pointer of ${id} is left`);
    for (const id of this.bodies.keys()) {
      if (this.entries.get(owners.get(id) ?? '')?.isOpen !== true)
        throw new Error(`a body of ${id} is left, which no open absence needs`);
    }
  }
}

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | null): void {
  if (value === null) map.delete(key);
  else map.set(key, value);
}
