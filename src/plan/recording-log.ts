import type { OutgoingRecord, Ownership, TenantLog } from '../log/log.ts';
import type { ReadOnlyLog } from '../log/read-only-log.ts';
import { isCollectionName, type CollectionName } from '../model/collections.ts';
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
export function recordingLog({ topics, keepsKeys, onRead, now }: RecordingLogOptions) {
  /** The planned records, by the collection that is synced and the collection of the records. */
  const found = new Map<string, PlannedRecords>();
  let ownership: Ownership | null = null;

  /** What the sync of `source` would publish of a collection: of `source` itself, or of a collection derived from it. */
  function planned(source: CollectionName, collection: CollectionName): PlannedRecords {
    const name = `${source} ${collection}`;
    const tally = found.get(name) ?? {
      counts: perKind(() => 0),
      keys: perKind((): string[] => []),
      news: new Set<string>(),
    };
    found.set(name, tally);
    return tally;
  }

  function count(source: CollectionName, record: OutgoingRecord): void {
    const { topic, key } = record;
    const isReject = topic === 'rejects';
    const collection = isReject ? source : topic;
    if (!isCollectionName(collection)) return;
    const { counts, keys, news } = planned(source, collection);
    const kind = kindOf(record);
    counts[kind] += 1;
    if (!keepsKeys) return;
    const shown = isReject ? (splitCompositeKey(key)?.[1] ?? key) : key;
    keys[kind].push(shown);
    const { watermarkMs } = ownership?.progress.get(source) ?? {};
    if (Date.parse(record.headers['ce_time'] ?? '') > (watermarkMs ?? Infinity)) news.add(shown);
  }

  const log: TenantLog = {
    own: async (signal) => (ownership = await topics.progress(signal)),
    /** Offsets do not change, because the records are written nowhere. */
    async commit({ records, progress, derived = [] }) {
      for (const record of records) count(progress.collection, record);
      return { progress, derived, committedAtMs: now(), tookMs: 0 };
    },
    ranges: (suffixes) => topics.ranges(suffixes),
    read: (reading) =>
      topics.read({
        ...reading,
        onBatch(records) {
          onRead(records.length);
          return reading.onBatch(records);
        },
      }),
    async markEnds() {},
    rollIntervals: async () => new Map(),
  };
  return { ...log, planned };
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
