import type { CollectionName, TopicSuffix } from '../../model/collections.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import { topicEntry, type TopicEntry } from '../../core/verify/topic-entry.ts';
import type { Difference } from '../../core/verify/difference.ts';
import type { TenantParts } from '../tenant-parts.ts';
import type { CircumstanceParts } from './circumstances.ts';
import type { RecordCheck } from './record-check.ts';
import { TopicReader, type StoredRecord, type TopicReaderParts } from './topic-reader.ts';

/** What every comparison works with. */
export interface VerifyTools extends CircumstanceParts, TopicReaderParts {
  readonly parts: TenantParts;
  readonly check: RecordCheck;
  readonly rejects: RejectsView;
  /** How far it is. */
  readonly onProgress: (at: { collection: CollectionName; what: string; count: number }) => void;
}

export type Compared = 'compared' | 'unproven' | 'not-offered' | 'failed';

/** What comparing a collection came to. */
export interface CollectionReport {
  readonly collection: CollectionName;
  readonly outcome: Compared;
  /** Why nothing, or not everything, could be compared. */
  readonly why: string | null;
  readonly remedy: string | null;
  /** Why the next full pass will withhold removals that nobody lists yet. */
  readonly foreseen: string | null;
  readonly hubRows: number;
  readonly topicKeys: number;
  readonly equal: number;
  /** Differences that were gone when hub and topic were looked at once more. */
  readonly settled: number;
  /** Keys of the index that changed while they were compared. */
  readonly indexSkipped: number;
  readonly differences: readonly Difference[];
}

/** Takes a record into what is known of its topic; returns its value where it can be read. */
export async function takeRecord(
  check: RecordCheck,
  entries: Map<string, TopicEntry>,
  record: StoredRecord & { readonly entryKey?: string | undefined },
): Promise<object | null> {
  const key = record.entryKey ?? record.key;
  const { value } = record;
  if (value === null) {
    entries.delete(key);
    return null;
  }
  const checked = await check.check({ ...record, value });
  entries.set(key, topicEntry(checked.hash, checked.isSound));
  return checked.value;
}

/** The topic `rejects`, which all collections share. */
export class RejectsView {
  readonly #entries = new Map<CollectionName, Map<string, TopicEntry>>();
  readonly #reading: TopicReader;

  constructor(parts: TopicReaderParts, check: RecordCheck) {
    const topic: TopicSuffix = 'rejects';
    this.#reading = new TopicReader(parts, [topic], async (record) => {
      const key = splitCompositeKey(record.key);
      if (key === null) return;
      await takeRecord(check, this.of(key[0] as CollectionName), { ...record, entryKey: key[1] });
    });
  }

  /** By the second part of the key; grows as the topic is read on. */
  of(collection: CollectionName): Map<string, TopicEntry> {
    const entries = this.#entries.get(collection) ?? new Map<string, TopicEntry>();
    this.#entries.set(collection, entries);
    return entries;
  }

  readOn(signal: AbortSignal): Promise<void> {
    return this.#reading.readOn(signal);
  }
}
