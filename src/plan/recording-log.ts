import type {
  Committed,
  LoggedRecord,
  OutgoingRecord,
  Ownership,
  RollIntervals,
  TenantLog,
  TopicRange,
  Transaction,
} from '../log/log.ts';
import type { ReadOnlyLog } from '../log/read-only-log.ts';
import { isCollectionName, type CollectionName, type TopicSuffix } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';

/** What would happen to a key. `forgotten`: its last event leaves `absence-changes`. `unrejected`: it leaves `rejects`. */
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

/** The records that one collection would get, including its rejects. */
export interface PlannedRecords {
  readonly counts: Record<PlannedKind, number>;
  /** Empty unless keys are kept. */
  readonly keys: Record<PlannedKind, string[]>;
  /** The keys whose rows are newer than the watermark, so that an incremental sync brings them. */
  readonly news: Set<string>;
}

export interface RecordingLogOptions {
  readonly topics: Pick<ReadOnlyLog, 'progress' | 'ranges' | 'read'>;
  readonly keepsKeys: boolean;
  /** Called with how many records were read. */
  readonly onRead: (records: number) => void;
  readonly now: () => number;
}

/** Stands for a tenant's log: it reads the topics, and counts what transactions would publish. It owns and writes nothing. */
export class RecordingLog implements TenantLog {
  readonly #options: RecordingLogOptions;
  /** The planned records, by the collection that is synced and the collection of the records. */
  readonly #found = new Map<string, PlannedRecords>();
  #ownership: Ownership | null = null;

  constructor(options: RecordingLogOptions) {
    this.#options = options;
  }

  async own(signal: AbortSignal): Promise<Ownership> {
    this.#ownership = await this.#options.topics.progress(signal);
    return this.#ownership;
  }

  /** Offsets do not change, because the records are written nowhere. */
  commit({ records, progress, derived = [] }: Transaction): Promise<Committed> {
    for (const record of records) this.#count(progress.collection, record);
    return Promise.resolve({ progress, derived, committedAtMs: this.#options.now(), tookMs: 0 });
  }

  /** What the sync of `source` would publish of a collection: of `source` itself, or of a collection derived from it. */
  planned(source: CollectionName, collection: CollectionName): PlannedRecords {
    const name = `${source} ${collection}`;
    const tally = this.#found.get(name) ?? {
      counts: perKind(() => 0),
      keys: perKind((): string[] => []),
      news: new Set<string>(),
    };
    this.#found.set(name, tally);
    return tally;
  }

  #count(source: CollectionName, record: OutgoingRecord): void {
    const { topic, key } = record;
    const isReject = topic === 'rejects';
    const collection = isReject ? source : topic;
    if (!isCollectionName(collection)) return;
    const { counts, keys, news } = this.planned(source, collection);
    const kind = kindOf(record);
    counts[kind] += 1;
    if (!this.#options.keepsKeys) return;
    const shown = isReject ? (splitCompositeKey(key)?.[1] ?? key) : key;
    keys[kind].push(shown);
    const { watermarkMs } = this.#ownership?.progress.get(source) ?? {};
    if (Date.parse(record.headers['ce_time'] ?? '') > (watermarkMs ?? Infinity)) news.add(shown);
  }

  ranges(topics: readonly TopicSuffix[]): Promise<readonly TopicRange[]> {
    return this.#options.topics.ranges(topics);
  }

  read(options: Parameters<TenantLog['read']>[0]): Promise<void> {
    const onBatch = (records: readonly LoggedRecord[]): Promise<void> | void => {
      this.#options.onRead(records.length);
      return options.onBatch(records);
    };
    return this.#options.topics.read({ ...options, onBatch });
  }

  async markEnds(): Promise<void> {}

  async rollIntervals(): Promise<RollIntervals> {
    return new Map();
  }
}

function perKind<T>(make: () => T): Record<PlannedKind, T> {
  return Object.fromEntries(PLANNED_KINDS.map((kind) => [kind, make()])) as Record<PlannedKind, T>;
}

/** The kind in `ce_type`. The removal of the events of an absence is not an event, so it has a kind of its own. */
function kindOf({ topic, body, headers, sharedHeaders }: OutgoingRecord): PlannedKind {
  if (topic === 'absence-changes' && body === null) return 'forgotten';
  if (topic === 'rejects') return body === null ? 'unrejected' : 'rejected';
  const type = { ...headers, ...sharedHeaders }['ce_type'] ?? '';
  const kind = PLANNED_KINDS.find((each) => type.endsWith(`.${each}`));
  if (kind === undefined)
    throw new Error(`a record of ${topic} has the ce_type "${type}", which names no known kind of change`);
  return kind;
}
