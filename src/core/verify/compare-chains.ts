import type { ChainCollection } from '../../model/collections.ts';
import type { HubChain, HubVersion } from './chain-tails.ts';
import type { DifferenceKind } from './difference.ts';
import { hashIn, isSound, type TopicEntry } from './topic-entry.ts';

/** A record of `absences`. */
export interface ShownAbsence {
  readonly entry: TopicEntry;
  /** Null when the record is unreadable. */
  readonly versionId: string | null;
  /** Null when the record names none, or is unreadable. */
  readonly studentId: string | null;
}

/** A summary of the events of one absence in `absence-changes`. */
export interface PublishedEvents {
  readonly entry: TopicEntry;
  /** The version of the last event; null when the event is unreadable. */
  readonly versionId: string | null;
  readonly isDeleted: boolean;
  readonly step: number;
  /** A step is missing between two others, or occurs twice. */
  readonly hasGap: boolean;
  /** From the last event that names one. */
  readonly studentId: string | null;
  /** Invariant 11: the events hold records of two students. */
  readonly isOfTwo: boolean;
}

export interface ChainTopics {
  readonly absences: ReadonlyMap<string, ShownAbsence>;
  readonly changes: ReadonlyMap<string, PublishedEvents>;
}

export interface ChainDifference {
  readonly collection: ChainCollection;
  readonly key: string;
  readonly kind: DifferenceKind;
  /** The versions that the difference depends on. */
  readonly versionIds: readonly string[];
}

/** The differences between `absences` and `absence-changes` and the tails of the hub's chains. */
export function compareChains(options: {
  readonly chains: readonly HubChain[];
  readonly versions: ReadonlyMap<string, HubVersion>;
  readonly topics: ChainTopics;
  /** Events of absences deleted before this time (ms since the epoch) may be forgotten. */
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
  /** Keys of `absences` and of `absence-changes` by the version that the record names. */
  readonly #absencesBy: ReadonlyMap<string, readonly string[]>;
  readonly #changesBy: ReadonlyMap<string, readonly string[]>;
  /** Keys of both that belong to a chain of the hub. */
  readonly #matchedAbsences = new Set<string>();
  readonly #matchedChanges = new Set<string>();

  constructor(options: Parameters<typeof compareChains>[0]) {
    this.#options = options;
    this.#absencesBy = keysByVersion(options.topics.absences);
    this.#changesBy = keysByVersion(options.topics.changes);
  }

  take(chain: HubChain): void {
    const { versionIds, tail } = chain;
    if (chain.isContradictory) {
      this.#takeContradictory(versionIds);
      return;
    }
    if (tail === null) {
      this.#takeDeleted(chain);
      return;
    }
    const right = [tail];
    const isKnown =
      versionIds.some((id) => this.#absencesBy.has(id)) || right.some((id) => this.#hasEventOf(id));
    if (chain.endsInMissing && !isKnown) return;
    const key = this.#compareAbsence(chain, right);
    this.#compareEvents(chain, { right, key });
  }

  /** Only the content of what is published can be judged. */
  #takeContradictory(versionIds: readonly string[]): void {
    const { topics, versions } = this.#options;
    for (const id of versionIds) {
      for (const key of this.#changesBy.get(id) ?? []) this.#matchedChanges.add(key);
      for (const key of this.#absencesBy.get(id) ?? []) {
        this.#matchedAbsences.add(key);
        const entry = topics.absences.get(key)?.entry;
        if (entry === undefined || hashIn(entry) === versions.get(id)?.hash) continue;
        const kind = isSound(entry) ? 'different' : 'undecodable';
        this.#report('absences', key, { kind, versionIds: [id] });
      }
    }
  }

  /** Returns the key of the absence in `absences`; null for none. */
  #compareAbsence({ name, versionIds }: HubChain, right: readonly string[]): string | null {
    const { absences } = this.#options.topics;
    const keys = right.flatMap((id) => this.#absencesBy.get(id) ?? []);
    const key = keys.find((each) => this.#isCurrent(each, right)) ?? keys[0] ?? null;
    if (key === null) {
      // An unreadable record names no version, but most absences have the id of one of their versions.
      const wrong =
        firstKey(versionIds, this.#absencesBy) ?? versionIds.find((id) => absences.has(id)) ?? null;
      const record = wrong === null ? undefined : absences.get(wrong);
      const kind = record === undefined ? 'missing' : isSound(record.entry) ? 'different' : 'undecodable';
      if (wrong !== null) this.#matchedAbsences.add(wrong);
      this.#report('absences', wrong ?? name, { kind, versionIds });
      return wrong;
    }
    this.#matchedAbsences.add(key);
    const shown = absences.get(key);
    const version = this.#options.versions.get(shown?.versionId ?? '');
    if (shown === undefined || version === undefined) return key;
    if (!isSound(shown.entry)) this.#report('absences', key, { kind: 'undecodable', versionIds });
    else if (hashIn(shown.entry) !== version.hash) {
      this.#report('absences', key, { kind: 'different', versionIds });
    }
    return key;
  }

  #compareEvents(
    { name, versionIds }: HubChain,
    { right, key }: { right: readonly string[]; key: string | null },
  ): void {
    const { changes } = this.#options.topics;
    const candidates = [
      ...(key === null ? [] : [key]),
      ...right.flatMap((id) => this.#changesBy.get(id) ?? []),
    ];
    const found = candidates.find((each) => this.#isCurrent(each, right));
    if (found !== undefined) {
      this.#matchedChanges.add(found);
      return;
    }
    const named = firstKey(versionIds, this.#changesBy) ?? versionIds.find((id) => changes.has(id)) ?? null;
    const outdated = key !== null && changes.has(key) ? key : named;
    if (outdated !== null) this.#matchedChanges.add(outdated);
    const events = outdated === null ? undefined : changes.get(outdated);
    const kind =
      events === undefined
        ? 'missing'
        : events.versionId === null || !isSound(events.entry)
          ? 'undecodable'
          : 'different';
    this.#report('absence-changes', outdated ?? key ?? name, { kind, versionIds });
  }

  #hasEventOf(versionId: string): boolean {
    return (this.#changesBy.get(versionId) ?? []).some((key) => this.#isCurrent(key, [versionId]));
  }

  /** Its last event names one of these versions as current. */
  #isCurrent(key: string, versionIds: readonly string[]): boolean {
    const events = this.#options.topics.changes.get(key);
    return events !== undefined && !events.isDeleted && versionIds.includes(events.versionId ?? '');
  }

  /** An absence that was created and deleted between two syncs has events all the same. */
  #takeDeleted({ name, versionIds }: HubChain): void {
    const { versions, forgottenBeforeMs } = this.#options;
    const deletedMs = Math.max(...versionIds.map((id) => versions.get(id)?.deletedMs ?? 0));
    if (deletedMs < forgottenBeforeMs) return;
    const hasEvents = versionIds.some((id) => this.#changesBy.has(id));
    if (!hasEvents) this.#report('absence-changes', name, { kind: 'missing', versionIds });
  }

  /** Adds the records that belong to no chain of the hub. */
  finish(): ChainDifference[] {
    const { absences, changes } = this.#options.topics;
    for (const [key, { entry, versionId }] of absences) {
      if (this.#matchedAbsences.has(key)) continue;
      const versionIds = [versionId ?? key];
      this.#report('absences', key, { kind: isSound(entry) ? 'left-over' : 'undecodable', versionIds });
    }
    for (const [key, { entry, versionId, isDeleted, hasGap, isOfTwo }] of changes) {
      const versionIds = [versionId ?? key];
      if (!isSound(entry)) this.#report('absence-changes', key, { kind: 'undecodable', versionIds });
      else if (!isDeleted && !this.#matchedChanges.has(key)) {
        this.#report('absence-changes', key, { kind: 'left-over', versionIds });
      }
      if (hasGap) this.#report('absence-changes', key, { kind: 'gap', versionIds });
      if (isOfTwo) this.#report('absence-changes', key, { kind: 'two-students', versionIds });
    }
    this.#findTwoStudents();
    return this.#found;
  }

  /** Skips a version that the hub moved to another student after its event: it is one record. */
  #findTwoStudents(): void {
    const { absences, changes } = this.#options.topics;
    for (const [key, shown] of absences) {
      const events = changes.get(key);
      if (events === undefined || events.versionId === shown.versionId) continue;
      if (shown.studentId === null || events.studentId === null || shown.studentId === events.studentId)
        continue;
      this.#report('absences', key, { kind: 'two-students', versionIds: [shown.versionId ?? key] });
    }
  }

  #report(
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
