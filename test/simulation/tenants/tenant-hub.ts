import type { CollectionName } from '../../../src/model/collections.ts';
import { compositeKey } from '../../../src/model/keys.ts';
import { StateHistory } from '../../oracle/history.ts';
import type { ChainLife } from '../chains/chain-life.ts';
import { dawdle, type Surroundings } from '../parts/surroundings.ts';
import { contentOf, MARKER, tenantRow, type TenantRow } from './tenant-row.ts';

/** Collections whose rows change by themselves. */
export const ROW_COLLECTIONS = ['users', 'classes', 'afterschool-users'] as const;
export type RowCollection = (typeof ROW_COLLECTIONS)[number];

export const AFTERSCHOOLS: readonly string[] = [`${MARKER}a1`, `${MARKER}a2`, `${MARKER}a3`];

/** Residents leave only many at a time; guests come and go. */
const RESIDENTS: Readonly<Record<RowCollection, number>> = { users: 30, classes: 8, 'afterschool-users': 9 };
const GUESTS: Readonly<Record<RowCollection, number>> = { users: 8, classes: 2, 'afterschool-users': 3 };
/** Which collection the next change concerns; those that nobody mirrors do not change. */
const CHANGING: readonly RowCollection[] = ['users', 'users', 'classes', 'afterschool-users'];
/** The longest time between two changes, if all collections are mirrored. */
const CHANGE_WITHIN_MS = 12;
const ABSENCES_CHANGE_WITHIN_MS = 40;
const MOST_STUDENTS = 5;
const UNSTAMPED_CHANGES = 4;

/**
 * The rows of a hub, and their changes: they get new content, leave, come back, become unreadable and readable again, leave
 * in large numbers, and are re-stamped at night. Its clock is the history's, plus a skew.
 */
export class TenantHub {
  /** Added to the clock of the history, ms. */
  skewMs = 0;
  /** Null: no process reads any. */
  absences: ChainLife | null = null;
  /** What it showed: rows that can be read, by record key; those that cannot, as `rejects`. */
  readonly history = new StateHistory();
  readonly #at: Surroundings;
  readonly #prefix: string;
  readonly #changing: readonly RowCollection[];
  readonly #rows: Readonly<Record<RowCollection, Map<string, TenantRow>>> = {
    users: new Map(),
    classes: new Map(),
    'afterschool-users': new Map(),
  };
  readonly #students = new Map<string, readonly string[]>();
  readonly #happened: (what: string) => void;
  #version = 0;
  #isStill = false;

  /** `prefix`: of all ids; `mirrored`: the collections that somebody reads. */
  constructor(
    at: Surroundings,
    prefix: string,
    mirrored: readonly CollectionName[],
    happened: (what: string) => void,
  ) {
    this.#at = at;
    this.#prefix = MARKER + prefix;
    this.#changing = CHANGING.filter((collection) => mirrored.includes(collection));
    this.#happened = happened;
    for (const collection of new Set(this.#changing)) {
      for (let number = 0; number < RESIDENTS[collection]; number += 1) this.#put(collection, number);
    }
  }

  now(): number {
    return this.#at.time.now() + this.skewMs;
  }

  /** By record key. */
  rowsOf(collection: RowCollection): ReadonlyMap<string, TenantRow> {
    return this.#rows[collection];
  }

  /** Null: no such class. */
  studentsOf(classId: string): readonly string[] | null {
    return this.#rows.classes.has(classId) ? (this.#students.get(classId) ?? []) : null;
  }

  /** Changes the hub until {@link freeze}. */
  async live(): Promise<void> {
    const withinMs =
      this.absences === null
        ? (CHANGE_WITHIN_MS * CHANGING.length) / this.#changing.length
        : ABSENCES_CHANGE_WITHIN_MS;
    while (!this.#isStill) {
      await dawdle(this.#at, withinMs);
      if (this.#isStill) return;
      if (this.absences === null) this.#change();
      else this.absences.change();
    }
  }

  freeze(): void {
    this.#isStill = true;
  }

  /** Some rows get new content, leave or come, and no time of modification shows it: only a full sync can. */
  changeUnstamped(): void {
    const { random } = this.#at;
    for (let change = 0; change < UNSTAMPED_CHANGES; change += 1) {
      const rows = this.#rows.users;
      if (rows.size === 0 || random.chance(0.5)) {
        this.#comeOrGo('users', 0);
        continue;
      }
      const [key, { sourcedId, isReadable, modifiedAtMs }] = random.pick([...rows]);
      this.#set('users', key, { ...this.#newRow(sourcedId, isReadable), modifiedAtMs });
    }
  }

  restampAll(): void {
    this.absences?.restampAll();
    for (const rows of Object.values(this.#rows))
      for (const [key, row] of rows) rows.set(key, { ...row, modifiedAtMs: this.now() });
  }

  #change(): void {
    const { random } = this.#at;
    const collection = random.pick(this.#changing);
    const what = random.next();
    if (what < 0.72) this.#rewrite(collection, (isReadable) => isReadable || random.chance(0.5));
    else if (what < 0.8) this.#rewrite(collection, (isReadable) => !isReadable);
    else if (what < 0.86) this.#comeOrGo(collection);
    else if (what < 0.975) this.#enrol();
    else if (what < 0.985) this.restampAll();
    else this.#loseMany(collection);
  }

  #rewrite(collection: RowCollection, isReadable: (now: boolean) => boolean): void {
    const rows = this.#rows[collection];
    if (rows.size === 0) return;
    const key = this.#at.random.pick([...rows.keys()]);
    const row = rows.get(key) as TenantRow;
    this.#set(collection, key, this.#newRow(row.sourcedId, isReadable(row.isReadable)));
  }

  #comeOrGo(collection: RowCollection, modifiedAtMs = this.now()): void {
    const number = RESIDENTS[collection] + this.#at.random.below(GUESTS[collection]);
    const key = this.#keyOf(collection, number);
    if (this.#rows[collection].has(key)) this.#set(collection, key, null);
    else this.#put(collection, number, modifiedAtMs);
  }

  #enrol(): void {
    const { random } = this.#at;
    const classes = [...this.#rows.classes.keys()];
    if (classes.length === 0) return;
    const count = random.chance(0.1) ? 0 : 1 + random.below(MOST_STUDENTS);
    this.#students.set(random.pick(classes), this.#somePeople(count));
  }

  #somePeople(count: number): string[] {
    const first = this.#at.random.below(RESIDENTS.users);
    return Array.from({ length: count }, (_, at) => this.#idOf('users', (first + at * 7) % RESIDENTS.users));
  }

  /** Makes many rows leave, far beyond the limits, or brings them back. */
  #loseMany(collection: RowCollection): void {
    const { random } = this.#at;
    const rows = this.#rows[collection];
    if (rows.size < RESIDENTS[collection] / 2) {
      for (let number = 0; number < RESIDENTS[collection]; number += 1) {
        if (!rows.has(this.#keyOf(collection, number))) this.#put(collection, number);
      }
      return;
    }
    const share = random.chance(0.1) ? 1 : 0.5 + random.next() / 3;
    for (const key of rows.keys()) if (random.chance(share)) this.#set(collection, key, null);
    this.#happened('hub: many rows left');
  }

  #put(collection: RowCollection, number: number, modifiedAtMs = this.now()): void {
    const row = this.#newRow(this.#idOf(collection, number), true);
    this.#set(collection, this.#keyOf(collection, number), { ...row, modifiedAtMs });
    if (collection === 'classes' && !this.#students.has(row.sourcedId)) {
      this.#students.set(row.sourcedId, this.#somePeople(1 + this.#at.random.below(MOST_STUDENTS)));
    }
  }

  #set(collection: RowCollection, key: string, row: TenantRow | null): void {
    if (row === null) this.#rows[collection].delete(key);
    else this.#rows[collection].set(key, row);
    this.#note(collection, key);
  }

  /** A row that cannot be read any more leaves its last record as it is. */
  #note(collection: RowCollection, key: string): void {
    const row = this.#rows[collection].get(key);
    const content = row === undefined ? null : contentOf(row);
    const isReject = row?.isReadable === false;
    const nowMs = this.#at.time.now();
    if (!isReject) this.history.put(collection, key, content, nowMs);
    this.history.put('rejects', compositeKey(collection, key), isReject ? content : null, nowMs);
  }

  #newRow(sourcedId: string, isReadable: boolean): TenantRow {
    this.#version += 1;
    return tenantRow({ sourcedId, version: this.#version, modifiedAtMs: this.now(), isReadable });
  }

  #idOf(collection: RowCollection, number: number): string {
    return `${this.#prefix}${collection[0]}${String(number).padStart(2, '0')}`;
  }

  #keyOf(collection: RowCollection, number: number): string {
    const id = this.#idOf(collection, number);
    if (collection !== 'afterschool-users') return id;
    return compositeKey(AFTERSCHOOLS[number % AFTERSCHOOLS.length] ?? '', id);
  }
}
