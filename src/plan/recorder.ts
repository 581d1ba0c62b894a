import type { Committed, OutgoingRecord, Transaction } from '../log/log.ts';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';

/** What would happen to a key. `forgotten`: its last event leaves `absence-changes`; `unrejected`: it leaves `rejects`. */
export const PLANNED_KINDS = [
  'created',
  'updated',
  'deleted',
  'replaced',
  'restored',
  'forgotten',
  'rejected',
  'unrejected',
] as const;

export type PlannedKind = (typeof PLANNED_KINDS)[number];

/** The records that one collection would get, its rejects included. */
export interface PlannedRecords {
  readonly counts: Readonly<Record<PlannedKind, number>>;
  /** Empty unless keys are kept. */
  readonly keys: Readonly<Record<PlannedKind, readonly string[]>>;
  /** Keys that were too many to be kept. */
  readonly keysLeftOut: number;
}

export interface RecorderOptions {
  /** How many keys of a collection are kept; 0: none. */
  readonly keysAtMost: number;
  readonly now: () => number;
}

/** Takes transactions as a log does, and counts what they would publish. */
export class Recorder {
  readonly #options: RecorderOptions;
  /** By the collection that is synced, then by the collection of the records. */
  readonly #found = new Map<CollectionName, Map<CollectionName, Tally>>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Offsets do not change, because the records are written nowhere. */
  commit({ records, progress, derived = [] }: Transaction): Promise<Committed> {
    for (const record of records) this.#count(progress.collection, record);
    return Promise.resolve({ progress, derived, committedAtMs: this.#options.now() });
  }

  /** Forgets what the sync of a collection would publish. */
  discard(source: CollectionName): void {
    this.#found.delete(source);
  }

  /** What the sync of `source` would publish of a collection: of itself, or of one derived from it. */
  records(source: CollectionName, collection: CollectionName): PlannedRecords {
    return this.#tally(source, collection);
  }

  #count(source: CollectionName, record: OutgoingRecord): void {
    const { topic, key } = record;
    if (topic === 'rejects') {
      const kind = record.body === null ? 'unrejected' : 'rejected';
      this.#tally(source, source).add(kind, splitCompositeKey(key)?.[1] ?? key);
    } else if (isCollectionName(topic)) {
      this.#tally(source, topic).add(kindOf(record), key);
    }
  }

  #tally(source: CollectionName, collection: CollectionName): Tally {
    const ofSource = this.#found.get(source) ?? new Map<CollectionName, Tally>();
    this.#found.set(source, ofSource);
    const tally = ofSource.get(collection) ?? new Tally(this.#options.keysAtMost);
    ofSource.set(collection, tally);
    return tally;
  }
}

class Tally implements PlannedRecords {
  readonly counts = perKind(() => 0);
  readonly keys = perKind((): string[] => []);
  keysLeftOut = 0;
  readonly #keysAtMost: number;
  #kept = 0;

  constructor(keysAtMost: number) {
    this.#keysAtMost = keysAtMost;
  }

  add(kind: PlannedKind, key: string): void {
    this.counts[kind] += 1;
    if (this.#keysAtMost === 0) return;
    if (this.#kept === this.#keysAtMost) {
      this.keysLeftOut += 1;
      return;
    }
    this.#kept += 1;
    this.keys[kind].push(key);
  }
}

function perKind<T>(make: () => T): Record<PlannedKind, T> {
  return Object.fromEntries(PLANNED_KINDS.map((kind) => [kind, make()])) as Record<PlannedKind, T>;
}

/** The kind in `ce_type`; the removal of an absence's events, which is no event, has one of its own. */
function kindOf({ topic, body, headers }: OutgoingRecord): PlannedKind {
  if (topic === 'absence-changes' && body === null) return 'forgotten';
  const type = headers['ce_type'] ?? '';
  const last = type.slice(type.lastIndexOf('.') + 1);
  const kind = PLANNED_KINDS.find((each) => each === last);
  if (kind === undefined)
    throw new Error(`a record of ${topic} has the ce_type "${type}", which names no known kind of change`);
  return kind;
}
