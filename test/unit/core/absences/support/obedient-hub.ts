import fc from 'fast-check';
import type { VersionRow } from '../../../../../src/core/absences/absence-entry.ts';
import type { AbsenceIndex } from './absence-index.ts';

interface HubVersion {
  readonly student: number;
  readonly previous: string | null;
  next: string | null;
  isDeleted: boolean;
}

/** A hub that keeps the spec: histories of absences without forks, joins or loops. */
export class ObedientHub {
  readonly versions = new Map<string, HubVersion>();
  /** The versions of each absence, oldest first. */
  readonly absences: string[][] = [];
  readonly #ids: string[];

  constructor(ids: readonly string[]) {
    this.#ids = [...ids];
  }

  act(action: HubAction): void {
    if (action.kind === 'create') this.#create(action.student);
    else if (action.kind === 'replace') this.#replace(action.at);
    else this.#delete(action.at);
  }

  #create(student: number): void {
    const id = this.#ids.pop();
    if (id === undefined) return;
    this.versions.set(id, { student, previous: null, next: null, isDeleted: false });
    this.absences.push([id]);
  }

  #replace(at: number): void {
    const { chain, id: previous, version: tail } = this.#tail(at);
    const id = this.#ids.at(-1);
    if (tail === undefined || tail.isDeleted || id === undefined) return;
    this.#ids.pop();
    this.versions.set(id, { student: tail.student, previous, next: null, isDeleted: false });
    tail.next = id;
    chain.push(id);
  }

  #delete(at: number): void {
    const { version } = this.#tail(at);
    if (version !== undefined) version.isDeleted = true;
  }

  #tail(at: number): { chain: string[]; id: string; version: HubVersion | undefined } {
    const chain = this.absences[at % Math.max(1, this.absences.length)] ?? [];
    const id = chain.at(-1) ?? '';
    return { chain, id, version: this.versions.get(id) };
  }

  /** Removes a whole absence, or its oldest version. */
  purge(at: number, isWhole: boolean): void {
    const chain = this.absences[at % Math.max(1, this.absences.length)];
    if (chain === undefined || (!isWhole && chain.length < 2)) return;
    for (const id of isWhole ? chain.splice(0) : chain.splice(0, 1)) this.versions.delete(id);
    if (chain.length === 0) this.absences.splice(this.absences.indexOf(chain), 1);
  }

  row(id: string): VersionRow {
    const version = this.versions.get(id);
    if (version === undefined) throw new Error(`the hub does not have ${id}`);
    const { previous, next, isDeleted, student } = version;
    return { id, replaces: previous, replacedBy: next, isDeleted, student };
  }

  get current(): string[] {
    return [...this.versions]
      .filter(([, { next, isDeleted }]) => next === null && !isDeleted)
      .map(([id]) => id)
      .sort();
  }
}

export type HubAction =
  | { readonly kind: 'create'; readonly student: number }
  | { readonly kind: 'replace' | 'delete'; readonly at: number };

export const STUDENTS = [1, 2] as const;
const at = fc.nat(20);
export const hubAction: fc.Arbitrary<HubAction> = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), student: fc.constantFrom(...STUDENTS) }),
  fc.record({ kind: fc.constantFrom('replace' as const, 'replace' as const, 'delete' as const), at }),
);
export const versionIds = fc.shuffledSubarray('ABCDEFGHIJKLMNOPQRST'.split(''), { minLength: 20 });

/** Reads the hub page by page while it changes: what comes before the cursor is missed. Then it asks and ends. */
export function scan(
  hub: ObedientHub,
  index: AbsenceIndex,
  how: { during?: readonly (readonly HubAction[])[]; size: number; asks: boolean },
): void {
  let cursor = '';
  for (let number = 0; ; number += 1) {
    const page = [...hub.versions.keys()]
      .filter((id) => id > cursor)
      .sort()
      .slice(0, how.size);
    if (page.length === 0) break;
    index.page(page.map((id) => hub.row(id)));
    index.check();
    cursor = page.at(-1) ?? '';
    for (const action of how.during?.[number] ?? []) hub.act(action);
  }
  for (let round = 0; how.asks && round < 3; round += 1) {
    const found = index.awaited().filter((id) => hub.versions.has(id));
    if (found.length === 0) break;
    index.page(found.map((id) => hub.row(id)));
  }
  index.final();
  index.check();
}
