import type { StateHistory } from '../../oracle/history.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { jsonOf, type HubVersion } from './hub-version.ts';
import { knowStudents } from './mappings.ts';

const VERSIONS = 'absence-versions';
const RESIDENT_CHAINS = 12;
const HOUR_MS = 3_600_000;
const STUDENTS = Array.from({ length: 5 }, (_, number) => `student ${number}`);
knowStudents(STUDENTS);
/** The guard would put on hold the removal of half of the rows. */
const GUEST_ROWS_AT_MOST = 30;

/** Chains as spec 3 has them, or with any content. */
export type ChainsKind = 'sound' | 'contradictory';

/** The true versions of a chain. */
export interface TrueChain {
  /** All versions in order, also those that have left the hub. */
  readonly versions: string[];
  /** Never leaves the hub. */
  readonly isResident: boolean;
  /** Whether events have more than one true form: links contradict each other, or were lost before they could be read. */
  isTainted: boolean;
}

type Fields = Pick<HubVersion, 'studentId' | 'fromMs' | 'toMs' | 'replaces'>;

const NEW = { replacedBy: null, deletedAtMs: null, isReadable: true };

/**
 * The records of a hub of absence chains, and their changes: chains begin, continue by one step or several, end, and are
 * purged. In a contradictory hub any record may be linked to any other.
 */
export class ChainLife {
  readonly chains: TrueChain[] = [];
  readonly rows = new Map<string, HubVersion>();
  /** Versions that some answer contained. */
  readonly handedOut = new Set<string>();
  /** Rows that were requested by id and left unanswered. */
  readonly unanswered = new Set<string>();
  readonly #at: Surroundings;
  readonly #kind: ChainsKind;
  readonly #hasUuids: boolean;
  readonly #history: StateHistory;
  readonly #isPublished: (row: HubVersion) => boolean;
  readonly #chainOf = new Map<string, TrueChain>();
  readonly #gone = new Map<string, HubVersion>();
  /** Ids that records name in `replaces` although no record had them then. */
  readonly #lost: string[] = [];
  #count = 0;

  /** `isPublished`: whether the newest record of a version has this content. */
  constructor(
    at: Surroundings,
    kind: ChainsKind,
    history: StateHistory,
    isPublished: (row: HubVersion) => boolean,
  ) {
    this.#at = at;
    this.#kind = kind;
    this.#history = history;
    this.#isPublished = isPublished;
    this.#hasUuids = at.random.chance(0.5);
    for (let number = 0; number < RESIDENT_CHAINS; number += 1) this.#create(true);
    for (let number = 0; number < RESIDENT_CHAINS * 2; number += 1) {
      const chain = at.random.pick(this.chains);
      if (at.random.chance(0.7)) this.#replace(chain);
    }
  }

  chainOf(id: string): TrueChain | undefined {
    return this.#chainOf.get(id);
  }

  /** Those that events can tell in one way only; `answered`: of which no request for a version was left unanswered. */
  soundChains(answered: boolean): readonly (readonly string[])[] {
    return this.chains
      .filter(({ isTainted }) => !isTainted)
      .map(({ versions }) => versions)
      .filter((versions) => !answered || !versions.some((id) => this.unanswered.has(id)));
  }

  /** Re-stamps rows, and changes nothing else. */
  restampAll(): void {
    for (const row of this.rows.values()) this.#restamp(row);
  }

  change(): void {
    const { random } = this.#at;
    if (this.#kind === 'contradictory' && random.chance(0.35)) {
      this.#tamper();
      return;
    }
    const what = random.next();
    if (what < 0.2) this.#create(false);
    else if (what < 0.5) this.#replace(random.pick(this.chains));
    else if (what < 0.62) this.#burst();
    else if (what < 0.72) this.#delete(random.pick(this.chains));
    else if (what < 0.8) this.#catchUpLink();
    else if (what < 0.87) this.#purge(random.pick(this.chains), 'oldest');
    else if (what < 0.94) this.#purge(random.pick(this.chains), 'all');
    else if (what < 0.98) this.#restamp(random.pick([...this.rows.values()]));
    else this.restampAll();
  }

  #create(isResident: boolean): TrueChain {
    const { random, time } = this.#at;
    const guests = [...this.rows.keys()].filter((id) => this.chainOf(id)?.isResident !== true);
    if (guests.length >= GUEST_ROWS_AT_MOST && !isResident) return random.pick(this.chains);
    const today = Math.floor(time.now() / (24 * HOUR_MS)) * 24 * HOUR_MS;
    const fromMs = today + (random.below(11) - 7) * 24 * HOUR_MS + random.below(8) * HOUR_MS;
    return this.#begin({ isResident, isTainted: false }, fromMs);
  }

  #begin(
    chain: Omit<TrueChain, 'versions'>,
    fromMs: number,
    { replaces = null, id }: { replaces?: string | null; id?: string } = {},
  ): TrueChain {
    const { random } = this.#at;
    const begun = { ...chain, versions: [] };
    this.chains.push(begun);
    const toMs = fromMs + random.below(30) * HOUR_MS;
    this.#add(begun, { studentId: random.pick(STUDENTS), fromMs, toMs, replaces }, id);
    return begun;
  }

  #add(chain: TrueChain, fields: Fields, id = this.#newId(chain.isResident)): HubVersion {
    chain.versions.push(id);
    this.#chainOf.set(id, chain);
    return this.#put({ ...NEW, ...fields, id });
  }

  /** The older record gets its link at once, or later. */
  #replace(chain: TrueChain, links: 'both' | 'replaces' | 'replacedBy' = 'both'): void {
    const { random } = this.#at;
    const old = this.rows.get(chain.versions.at(-1) ?? '');
    if (old === undefined || old.deletedAtMs !== null || old.replacedBy !== null) return;
    const isLate = links === 'both' && random.chance(0.25);
    const { studentId, fromMs } = old;
    const toMs = fromMs + random.below(30) * HOUR_MS;
    const replaces = links === 'replacedBy' ? null : old.id;
    const next = this.#add(chain, { studentId, fromMs, toMs, replaces });
    if (!isLate && links !== 'replaces') this.#put({ ...old, replacedBy: next.id });
  }

  /** Makes several steps between two polls. */
  #burst(): void {
    const { random } = this.#at;
    const chain = random.chance(0.5) ? this.#create(false) : random.pick(this.chains);
    for (let left = 1 + random.below(3); left > 0; left -= 1) this.#replace(chain);
    if (random.chance(0.4)) this.#delete(chain);
  }

  #delete(chain: TrueChain): void {
    const tail = this.rows.get(chain.versions.at(-1) ?? '');
    if (tail?.deletedAtMs === null) this.#put({ ...tail, deletedAtMs: this.#at.time.now() });
  }

  /** Gives an older record the link to its successor that it lacks. */
  #catchUpLink(): void {
    for (const { versions } of this.chains) {
      for (const [at, id] of versions.entries()) {
        const row = this.rows.get(id);
        const next = versions[at + 1];
        if (row === undefined || next === undefined || row.replacedBy !== null) continue;
        this.#put({ ...row, replacedBy: next });
        return;
      }
    }
  }

  /** A sound chain loses only versions that are published, or none of which has been read. */
  #purge(chain: TrueChain, which: 'oldest' | 'all'): void {
    const present = chain.versions.flatMap((id) => this.rows.get(id) ?? []);
    if (chain.isResident || present.length < (which === 'all' ? 1 : 2)) return;
    const isKnown = present.every(this.#isPublished);
    const isUnknown = !chain.versions.some((id) => this.handedOut.has(id));
    if (!isKnown && !isUnknown && !this.#taint(chain)) return;
    for (const row of which === 'all' ? present : present.slice(0, 1)) this.#drop(row);
  }

  /** False where all chains must stay sound. */
  #taint(...chains: (TrueChain | undefined)[]): boolean {
    if (this.#kind === 'sound') return false;
    for (const chain of chains) if (chain !== undefined) chain.isTainted = true;
    return true;
  }

  /** Does what spec 3 forbids: sets any field of any record to anything. */
  #tamper(): void {
    const { random, time } = this.#at;
    const one = random.pick([...this.rows.values()]);
    const other = random.pick([...this.rows.values()]);
    const chain = this.chainOf(one.id);
    const what = random.below(14);
    if (chain === undefined) return;
    this.#taint(chain);
    const target = random.pick([null, other.id, other.id, one.id, this.#oldId()]);
    if (what <= 1) this.#taint(target === null ? undefined : this.chainOf(target));
    if (what === 0) this.#put({ ...one, replaces: target });
    else if (what === 1) this.#put({ ...one, replacedBy: target });
    else if (what === 2) this.#put({ ...one, deletedAtMs: one.deletedAtMs === null ? time.now() : null });
    else if (what === 3) this.#put({ ...one, studentId: random.pick(STUDENTS) });
    else if (what === 4 && !chain.isResident) this.#drop(one);
    else if (what === 5) this.#bringBack();
    else if (what === 6) this.#replace(chain, 'replacedBy');
    else if (what === 7) this.#replace(chain, 'replaces');
    else if (what === 8) this.#add(chain, { ...fieldsOf(one), replaces: one.id });
    else if (what === 9) this.#put({ ...one, isReadable: !one.isReadable });
    else if (what <= 11) this.#stray();
    else this.#findLost();
  }

  /** Adds a record that replaces one which the hub does not have, or not yet; several may name the same one. */
  #stray(): void {
    const { random } = this.#at;
    if (this.#lost.length === 0 || random.chance(0.5)) this.#lost.push(this.#newId(false));
    this.#beginTainted({ replaces: random.pick(this.#lost) });
  }

  /** Adds a record that was missing; it may be of another student than the record that replaces it. */
  #findLost(): void {
    const lost = this.#lost.filter((id) => !this.rows.has(id));
    if (lost.length > 0) this.#beginTainted({ id: this.#at.random.pick(lost) });
  }

  #beginTainted(of: { replaces?: string; id?: string }): void {
    const fromMs = Math.floor(this.#at.time.now() / HOUR_MS) * HOUR_MS;
    this.#begin({ isResident: false, isTainted: true }, fromMs, of);
  }

  #bringBack(): void {
    const { random, time } = this.#at;
    const left = [...this.#gone.values()].filter(({ id }) => !this.rows.has(id));
    if (left.length === 0) return;
    const back = { ...random.pick(left), isReadable: true, modifiedAtMs: time.now() };
    this.#taint(this.chainOf(back.id));
    if (random.chance(0.5)) this.#put(back);
    else this.#set(back);
  }

  #oldId(): string {
    const chain = this.#at.random.pick(this.chains);
    return this.#at.random.chance(0.1) ? 'never' : this.#at.random.pick(chain.versions);
  }

  #drop(row: HubVersion): void {
    this.rows.delete(row.id);
    this.#gone.set(row.id, row);
    for (const topic of [VERSIONS, 'rejects'])
      this.#history.put(topic, keyIn(topic, row), null, this.#at.time.now());
  }

  #restamp(row: HubVersion): void {
    this.rows.set(row.id, { ...row, modifiedAtMs: this.#at.time.now() });
  }

  #put(version: Omit<HubVersion, 'minutes' | 'modifiedAtMs'>): HubVersion {
    this.#count += 1;
    return this.#set({ ...version, minutes: this.#count, modifiedAtMs: this.#at.time.now() });
  }

  #set(row: HubVersion): HubVersion {
    this.rows.set(row.id, row);
    const nowMs = this.#at.time.now();
    const json = jsonOf(row);
    if (row.isReadable) this.#history.put(VERSIONS, row.id, json, nowMs);
    this.#history.put('rejects', keyIn('rejects', row), row.isReadable ? null : json, nowMs);
    return row;
  }

  #newId(isResident: boolean): string {
    const { random } = this.#at;
    this.#count += 1;
    const first = isResident ? 0 : 1 + random.below(9);
    const number = String(this.#count);
    if (!this.#hasUuids) return `${first}${random.below(90) + 10}-${number}`;
    const hex = random
      .below(2 ** 28)
      .toString(16)
      .padStart(7, '0');
    return `${first}${hex}-0000-4000-8000-${number.padStart(12, '0')}`;
  }
}

function fieldsOf({ studentId, fromMs, toMs }: HubVersion): Omit<Fields, 'replaces'> {
  return { studentId, fromMs, toMs };
}

function keyIn(topic: string, { id }: HubVersion): string {
  return topic === 'rejects' ? `${VERSIONS}|${id}` : id;
}
