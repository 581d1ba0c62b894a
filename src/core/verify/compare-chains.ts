import type { ChainCollection } from '../../model/collections.ts';
import type { HubChain, HubVersion } from './chain-tails.ts';
import type { DifferenceKind } from './difference.ts';
import { hashIn, isSound, type TopicEntry } from './topic-entry.ts';

/** A record of `absences`. */
export interface ShownAbsence {
  readonly entry: TopicEntry;
  /** Null where the record cannot be read. */
  readonly versionId: string | null;
  /** Null where the record names none, or cannot be read. */
  readonly studentId: string | null;
}

/** What the events of one absence tell. */
export interface ToldEvents {
  readonly entry: TopicEntry;
  /** The version of the last event; null where it cannot be read. */
  readonly versionId: string | null;
  readonly isDeleted: boolean;
  readonly step: number;
  /** A step is missing between two that are there, or stands there twice. */
  readonly hasGap: boolean;
  /** Of the last event that names one. */
  readonly studentId: string | null;
  /** Invariant 11: the events hold records of two students. */
  readonly isOfTwo: boolean;
}

export interface ChainTopics {
  readonly absences: ReadonlyMap<string, ShownAbsence>;
  readonly changes: ReadonlyMap<string, ToldEvents>;
}

export interface ChainDifference {
  readonly collection: ChainCollection;
  readonly key: string;
  readonly kind: DifferenceKind;
  /** Versions that it depends on. */
  readonly versionIds: readonly string[];
}

/** What tells `absences` and `absence-changes` from the tails of the hub's chains. */
export function compareChains(options: {
  readonly chains: readonly HubChain[];
  readonly versions: ReadonlyMap<string, HubVersion>;
  readonly topics: ChainTopics;
  /** Of absences deleted before (ms since the epoch), the events may have been forgotten. */
  readonly forgottenBeforeMs: number;
}): ChainDifference[] {
  const comparison = new ChainComparison(options);
  for (const chain of options.chains) comparison.take(chain);
  return comparison.finish();
}

class ChainComparison {
  readonly #options: Parameters<typeof compareChains>[0];
  readonly #found: ChainDifference[] = [];
  readonly #names = new Set<string>();
  /** Keys by the version that they name. */
  readonly #shownBy: ReadonlyMap<string, readonly string[]>;
  readonly #toldBy: ReadonlyMap<string, readonly string[]>;
  readonly #shown = new Set<string>();
  readonly #told = new Set<string>();

  constructor(options: Parameters<typeof compareChains>[0]) {
    this.#options = options;
    this.#shownBy = keysByVersion(options.topics.absences);
    this.#toldBy = keysByVersion(options.topics.changes);
  }

  take(chain: HubChain): void {
    const { versionIds, tail } = chain;
    if (tail === null) {
      this.#takeDeleted(chain);
      return;
    }
    const right = chain.isContradictory ? versionIds : [tail];
    const isKnown = versionIds.some((id) => this.#shownBy.has(id)) || right.some((id) => this.#isToldOf(id));
    if (chain.endsInGone && !isKnown) return;
    const key = this.#takeShown(chain, right);
    this.#takeTold(chain, { right, key });
  }

  /** Returns the key under which the absence is shown; null for none. */
  #takeShown({ name, versionIds }: HubChain, right: readonly string[]): string | null {
    const { absences } = this.#options.topics;
    const keys = right.flatMap((id) => this.#shownBy.get(id) ?? []);
    const key = keys.find((each) => this.#isTold(each, right)) ?? keys[0] ?? null;
    if (key === null) {
      // A record that cannot be read names no version: most absences bear the id of one of theirs.
      const wrong = firstKey(versionIds, this.#shownBy) ?? versionIds.find((id) => absences.has(id)) ?? null;
      const record = wrong === null ? undefined : absences.get(wrong);
      const kind = record === undefined ? 'missing' : isSound(record.entry) ? 'different' : 'undecodable';
      if (wrong !== null) this.#shown.add(wrong);
      this.#tell('absences', wrong ?? name, { kind, versionIds });
      return wrong;
    }
    this.#shown.add(key);
    const shown = absences.get(key);
    const version = this.#options.versions.get(shown?.versionId ?? '');
    if (shown === undefined || version === undefined) return key;
    if (!isSound(shown.entry)) this.#tell('absences', key, { kind: 'undecodable', versionIds });
    else if (hashIn(shown.entry) !== version.hash) {
      this.#tell('absences', key, { kind: 'different', versionIds });
    }
    return key;
  }

  #takeTold(
    { name, versionIds }: HubChain,
    { right, key }: { right: readonly string[]; key: string | null },
  ): void {
    const { changes } = this.#options.topics;
    const candidates = [...(key === null ? [] : [key]), ...right.flatMap((id) => this.#toldBy.get(id) ?? [])];
    const found = candidates.find((each) => this.#isTold(each, right));
    if (found !== undefined) {
      this.#told.add(found);
      return;
    }
    const named = firstKey(versionIds, this.#toldBy) ?? versionIds.find((id) => changes.has(id)) ?? null;
    const behind = key !== null && changes.has(key) ? key : named;
    if (behind !== null) this.#told.add(behind);
    const told = behind === null ? undefined : changes.get(behind);
    const kind =
      told === undefined
        ? 'missing'
        : told.versionId === null || !isSound(told.entry)
          ? 'undecodable'
          : 'different';
    this.#tell('absence-changes', behind ?? key ?? name, { kind, versionIds });
  }

  #isToldOf(versionId: string): boolean {
    return (this.#toldBy.get(versionId) ?? []).some((key) => this.#isTold(key, [versionId]));
  }

  /** Its last event names one of these versions as current. */
  #isTold(key: string, versionIds: readonly string[]): boolean {
    const told = this.#options.topics.changes.get(key);
    return told !== undefined && !told.isDeleted && versionIds.includes(told.versionId ?? '');
  }

  /** Created and deleted, it has been told all the same. */
  #takeDeleted({ name, versionIds }: HubChain): void {
    const { versions, forgottenBeforeMs } = this.#options;
    const deletedMs = Math.max(...versionIds.map((id) => versions.get(id)?.deletedMs ?? 0));
    if (deletedMs < forgottenBeforeMs) return;
    const isTold = versionIds.some((id) => this.#toldBy.has(id));
    if (!isTold) this.#tell('absence-changes', name, { kind: 'missing', versionIds });
  }

  /** What no chain of the hub's stands behind. */
  finish(): ChainDifference[] {
    const { absences, changes } = this.#options.topics;
    for (const [key, { entry, versionId }] of absences) {
      if (this.#shown.has(key)) continue;
      const versionIds = [versionId ?? key];
      this.#tell('absences', key, { kind: isSound(entry) ? 'left-over' : 'undecodable', versionIds });
    }
    for (const [key, { entry, versionId, isDeleted, hasGap, isOfTwo }] of changes) {
      const versionIds = [versionId ?? key];
      if (!isSound(entry)) this.#tell('absence-changes', key, { kind: 'undecodable', versionIds });
      else if (!isDeleted && !this.#told.has(key)) {
        this.#tell('absence-changes', key, { kind: 'left-over', versionIds });
      }
      if (hasGap) this.#tell('absence-changes', key, { kind: 'gap', versionIds });
      if (isOfTwo) this.#tell('absence-changes', key, { kind: 'two-students', versionIds });
    }
    this.#findTwoStudents();
    return this.#found;
  }

  /** A record that the hub gave to another student after its event is no other record. */
  #findTwoStudents(): void {
    const { absences, changes } = this.#options.topics;
    for (const [key, shown] of absences) {
      const told = changes.get(key);
      if (told === undefined || told.versionId === shown.versionId) continue;
      if (shown.studentId === null || told.studentId === null || shown.studentId === told.studentId) continue;
      this.#tell('absences', key, { kind: 'two-students', versionIds: [shown.versionId ?? key] });
    }
  }

  #tell(
    collection: ChainCollection,
    key: string,
    what: { kind: DifferenceKind; versionIds: readonly string[] },
  ): void {
    const name = `${collection} ${what.kind} ${key}`;
    if (this.#names.has(name)) return;
    this.#names.add(name);
    this.#found.push({ collection, key, ...what });
  }
}

function keysByVersion(
  records: ReadonlyMap<string, { readonly versionId: string | null }>,
): Map<string, string[]> {
  const keys = new Map<string, string[]>();
  for (const [key, { versionId }] of records) {
    if (versionId === null) continue;
    const same = keys.get(versionId);
    if (same === undefined) keys.set(versionId, [key]);
    else same.push(key);
  }
  return keys;
}

function firstKey(
  versionIds: readonly string[],
  keys: ReadonlyMap<string, readonly string[]>,
): string | null {
  for (const id of versionIds) {
    const key = keys.get(id)?.[0];
    if (key !== undefined) return key;
  }
  return null;
}
