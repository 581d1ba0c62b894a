import type { Surroundings } from '../parts/surroundings.ts';
import { contentOf, type HubVersion } from './hub-version.ts';
import { knowStudents } from './mappings.ts';

const RESIDENT_CHAINS = 12;
const HOUR_MS = 3_600_000;
const STUDENTS = Array.from({ length: 5 }, (_, number) => `student ${number}`);
knowStudents(STUDENTS);
/** The guard would withhold the removal of half of the rows. */
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

export interface ChainLifeOptions {
  readonly kind: ChainsKind;
  readonly hasUuids: boolean;
  /** Content of a version as last published; undefined if it is not. */
  readonly published: (id: string) => string | undefined;
}

/**
 * The records of a hub of absence chains, and their changes: chains begin, continue by one step or several, end, and are
 * purged. In a contradictory hub any record may be linked to any other.
 */
export class ChainLife {
  readonly chains: TrueChain[] = [];
  /** Versions that some answer contained. */
  readonly handedOut = new Set<string>();
  /** Rows that were requested by id and left unanswered. */
  readonly unanswered = new Set<string>();
  readonly #at: Surroundings;
  readonly #options: ChainLifeOptions;
  readonly #rows = new Map<string, HubVersion>();
  readonly #chainOf = new Map<string, TrueChain>();
  readonly #contents = new Map<string, string[]>();
  readonly #departures = new Map<string, number[]>();
  readonly #deleted = new Set<string>();
  /** Ids that records name in `replaces` although no record had them then. */
  readonly #lost: string[] = [];
  #count = 0;

  constructor(at: Surroundings, options: ChainLifeOptions) {
    this.#at = at;
    this.#options = options;
    for (let number = 0; number < RESIDENT_CHAINS; number += 1) this.#create(true);
    for (let number = 0; number < RESIDENT_CHAINS * 2; number += 1) {
      const chain = at.random.pick(this.chains);
      if (at.random.chance(0.7)) this.#replace(chain);
    }
  }

  get rows(): ReadonlyMap<string, HubVersion> {
    return this.#rows;
  }

  /** Every content that a version ever had, oldest first. */
  contentsOf(id: string): readonly string[] {
    return this.#contents.get(id) ?? [];
  }

  departuresOf(id: string): readonly number[] {
    return this.#departures.get(id) ?? [];
  }

  /** Whether a version ever had a `deletedTime`. */
  wasDeleted(id: string): boolean {
    return this.#deleted.has(id);
  }

  chainOf(id: string): TrueChain | undefined {
    return this.#chainOf.get(id);
  }

  /** Re-stamps rows, and changes nothing else. */
  restampAll(): void {
    for (const row of this.#rows.values()) this.#restamp(row);
  }

  change(): void {
    const { random } = this.#at;
    if (this.#options.kind === 'contradictory' && random.chance(0.35)) {
      this.#tamper();
      return;
    }
    const what = random.next();
    if (what < 0.2) this.#create(false);
    else if (what < 0.5) this.#replace(random.pick(this.chains));
    else if (what < 0.62) this.#burst();
    else if (what < 0.72) this.#delete(random.pick(this.chains));
    else if (what < 0.8) this.#catchUpLink();
    else if (what < 0.87) this.#purgeOldest(random.pick(this.chains));
    else if (what < 0.94) this.#purgeChain(random.pick(this.chains));
    else if (what < 0.98) this.#restamp(random.pick([...this.#rows.values()]));
    else this.restampAll();
  }

  #create(isResident: boolean): TrueChain {
    const { random, time } = this.#at;
    const guests = [...this.#rows.keys()].filter((id) => this.chainOf(id)?.isResident !== true);
    const chain: TrueChain = { versions: [], isResident, isTainted: false };
    if (guests.length >= GUEST_ROWS_AT_MOST && !isResident) return random.pick(this.chains);
    this.chains.push(chain);
    const today = Math.floor(time.now() / (24 * HOUR_MS)) * 24 * HOUR_MS;
    const fromMs = today + (random.below(11) - 7) * 24 * HOUR_MS + random.below(8) * HOUR_MS;
    this.#add(chain, {
      studentId: random.pick(STUDENTS),
      fromMs,
      toMs: fromMs + random.below(30) * HOUR_MS,
      replaces: null,
    });
    return chain;
  }

  #add(chain: TrueChain, fields: Pick<HubVersion, 'studentId' | 'fromMs' | 'toMs' | 'replaces'>): HubVersion {
    const id = this.#newId(chain.isResident);
    chain.versions.push(id);
    this.#chainOf.set(id, chain);
    return this.#put({
      ...fields,
      id,
      replacedBy: null,
      deletedAtMs: null,
      isReadable: true,
    });
  }

  /** The older record gets its link at once, or later. */
  #replace(chain: TrueChain, links: 'both' | 'replaces' | 'replacedBy' = 'both'): void {
    const { random } = this.#at;
    const old = this.#rows.get(chain.versions.at(-1) ?? '');
    if (old === undefined || old.deletedAtMs !== null || old.replacedBy !== null) return;
    const isLate = links === 'both' && random.chance(0.25);
    const { studentId, fromMs } = old;
    const toMs = fromMs + random.below(30) * HOUR_MS;
    const next = this.#add(chain, {
      studentId,
      fromMs,
      toMs,
      replaces: links === 'replacedBy' ? null : old.id,
    });
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
    const tail = this.#rows.get(chain.versions.at(-1) ?? '');
    if (tail === undefined || tail.deletedAtMs !== null) return;
    this.#put({ ...tail, deletedAtMs: this.#at.time.now() });
  }

  /** Gives an older record the link to its successor that it lacks. */
  #catchUpLink(): void {
    for (const { versions } of this.chains) {
      for (const [at, id] of versions.entries()) {
        const row = this.#rows.get(id);
        const next = versions[at + 1];
        if (row === undefined || next === undefined || row.replacedBy !== null) continue;
        this.#put({ ...row, replacedBy: next });
        return;
      }
    }
  }

  #purgeOldest(chain: TrueChain): void {
    const [oldest, second] = chain.versions.filter((id) => this.#rows.has(id));
    if (chain.isResident || oldest === undefined || second === undefined) return;
    const isKnown = chain.versions.every((id) => !this.#rows.has(id) || this.#isPublished(id));
    const isUnknown = !chain.versions.some((id) => this.handedOut.has(id));
    if (!isKnown && !isUnknown && !this.#taint(chain)) return;
    this.#purge(oldest);
  }

  #purgeChain(chain: TrueChain): void {
    const present = chain.versions.filter((id) => this.#rows.has(id));
    if (chain.isResident || present.length === 0) return;
    const isKnown = present.every((id) => this.#isPublished(id));
    const isUnknown = !chain.versions.some((id) => this.handedOut.has(id));
    if (!isKnown && !isUnknown && !this.#taint(chain)) return;
    for (const id of present) this.#purge(id);
  }

  #isPublished(id: string): boolean {
    const row = this.#rows.get(id);
    return row !== undefined && this.#options.published(id) === contentOf(row);
  }

  /** False where all chains must stay sound. */
  #taint(...chains: (TrueChain | undefined)[]): boolean {
    if (this.#options.kind === 'sound') return false;
    for (const chain of chains) if (chain !== undefined) chain.isTainted = true;
    return true;
  }

  /** Does what spec 3 forbids: sets any field of any record to anything. */
  #tamper(): void {
    const { random } = this.#at;
    const one = random.pick([...this.#rows.values()]);
    const other = random.pick([...this.#rows.values()]);
    const chain = this.chainOf(one.id);
    const what = random.below(14);
    if (chain === undefined) return;
    this.#taint(chain);
    const target = random.pick([null, other.id, other.id, one.id, this.#oldId()]);
    const others = target === null ? undefined : this.chainOf(target);
    if (what === 0) this.#put({ ...one, replaces: target });
    else if (what === 1) this.#put({ ...one, replacedBy: target });
    if (what <= 1) this.#taint(others);
    else if (what === 2)
      this.#put({ ...one, deletedAtMs: one.deletedAtMs === null ? this.#at.time.now() : null });
    else if (what === 3) this.#put({ ...one, studentId: random.pick(STUDENTS) });
    else if (what === 4 && !chain.isResident) this.#purge(one.id);
    else if (what === 5) this.#bringBack();
    else if (what === 6) this.#replace(chain, 'replacedBy');
    else if (what === 7) this.#replace(chain, 'replaces');
    else if (what === 8) this.#fork(chain, one);
    else if (what === 9) this.#put({ ...one, isReadable: !one.isReadable });
    else if (what <= 11) this.#stray();
    else this.#findLost();
  }

  /** Adds a record that replaces one which the hub does not have, or not yet; several may name the same one. */
  #stray(): void {
    const { random } = this.#at;
    if (this.#lost.length === 0 || random.chance(0.5)) this.#lost.push(this.#newId(false));
    this.#beginTainted(random.pick(this.#lost));
  }

  /** Adds a record that was missing; it may be of another student than the record that replaces it. */
  #findLost(): void {
    const lost = this.#lost.filter((id) => !this.#rows.has(id));
    if (lost.length > 0) this.#beginTainted(null, this.#at.random.pick(lost));
  }

  #beginTainted(replaces: string | null, id = this.#newId(false)): void {
    const { random, time } = this.#at;
    const chain: TrueChain = { versions: [id], isResident: false, isTainted: true };
    this.chains.push(chain);
    this.#chainOf.set(id, chain);
    const fromMs = Math.floor(time.now() / HOUR_MS) * HOUR_MS;
    const studentId = random.pick(STUDENTS);
    const toMs = fromMs + random.below(30) * HOUR_MS;
    this.#put({
      id,
      studentId,
      fromMs,
      toMs,
      replaces,
      replacedBy: null,
      deletedAtMs: null,
      isReadable: true,
    });
  }

  #fork(chain: TrueChain, { id, studentId, fromMs, toMs }: HubVersion): void {
    this.#add(chain, { studentId, fromMs, toMs, replaces: id });
  }

  #bringBack(): void {
    const { random, time } = this.#at;
    const left = [...this.#departures.keys()].filter((id) => !this.#rows.has(id));
    if (left.length === 0) return;
    const id = random.pick(left);
    this.#taint(this.chainOf(id));
    const last = this.contentsOf(id).at(-1);
    if (last === undefined) return;
    const [, studentId, replaces, replacedBy, deletedAtMs, fromMs, toMs, minutes] = JSON.parse(last) as [
      string,
      string,
      string | null,
      string | null,
      number | null,
      number,
      number,
      number,
    ];
    const back = { id, studentId, replaces, replacedBy, deletedAtMs, fromMs, toMs, isReadable: true };
    if (random.chance(0.5)) this.#put(back);
    else this.#set({ ...back, minutes, modifiedAtMs: time.now() });
  }

  #oldId(): string {
    const chain = this.#at.random.pick(this.chains);
    return this.#at.random.chance(0.1) ? 'never' : this.#at.random.pick(chain.versions);
  }

  #purge(id: string): void {
    this.#rows.delete(id);
    this.#departures.set(id, [...this.departuresOf(id), this.#at.time.now()]);
  }

  #restamp(row: HubVersion): void {
    this.#rows.set(row.id, { ...row, modifiedAtMs: this.#at.time.now() });
  }

  #put(version: Omit<HubVersion, 'minutes' | 'modifiedAtMs'>): HubVersion {
    this.#count += 1;
    return this.#set({ ...version, minutes: this.#count, modifiedAtMs: this.#at.time.now() });
  }

  #set(row: HubVersion): HubVersion {
    this.#rows.set(row.id, row);
    if (row.deletedAtMs !== null) this.#deleted.add(row.id);
    this.#contents.set(row.id, [...this.contentsOf(row.id), contentOf(row)]);
    return row;
  }

  #newId(isResident: boolean): string {
    const { random } = this.#at;
    this.#count += 1;
    const first = isResident ? 0 : 1 + random.below(9);
    const number = String(this.#count);
    if (this.#options.hasUuids) {
      const hex = random
        .below(2 ** 28)
        .toString(16)
        .padStart(7, '0');
      return `${first}${hex}-0000-4000-8000-${number.padStart(12, '0')}`;
    }
    return `${first}${random.below(90) + 10}-${number}`;
  }
}
