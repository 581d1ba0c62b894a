import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import { topicEntry, type TopicEntry } from '../core/verify/topic-entry.ts';
import type { Difference } from '../core/verify/difference.ts';
import type { TenantParts } from '../session/tenant-parts.ts';
import type { CircumstanceParts } from './circumstances.ts';
import type { RecordCheck } from './record-check.ts';
import type { LoggedRecord } from '../log/log.ts';
import { TopicReader, type TopicReaderParts } from '../log/read-only-log.ts';

/** The tools of every comparison. */
export interface VerifyTools extends CircumstanceParts, TopicReaderParts {
  readonly parts: TenantParts;
  readonly check: RecordCheck;
  readonly rejects: RejectsView;
  /** Reports progress. */
  readonly onProgress: (at: {
    readonly collection: CollectionName;
    readonly what: string;
    readonly count: number;
    /** The approximate final count; left out if unknown. */
    readonly of?: number;
  }) => void;
}

export type Compared = 'compared' | 'unproven' | 'not-offered' | 'failed';

/** The result of comparing a collection; `--json` prints it. */
export interface CollectionReport {
  readonly collection: CollectionName;
  readonly outcome: Compared;
  /** Why the comparison is missing or incomplete; null when it is complete. */
  readonly why: string | null;
  readonly remedy: string | null;
  /** Why the next full sync will withhold removals that no list has yet; null when it will not. */
  readonly foreseen: string | null;
  readonly hubRows: number;
  readonly topicKeys: number;
  readonly equal: number;
  /** Differences that did not show again at the second check. */
  readonly settled: number;
  /** Keys of the index that changed during the comparison. */
  readonly indexSkipped: number;
  readonly differences: readonly Difference[];
}

/** Adds a record to the entries of its topic; returns its value, or null for a removal or an unreadable value. */
export async function takeRecord(
  check: RecordCheck,
  entries: Map<string, TopicEntry>,
  record: LoggedRecord & { readonly entryKey?: string | undefined },
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
  readonly #reader: TopicReader;

  constructor(parts: TopicReaderParts, check: RecordCheck) {
    const topic: TopicSuffix = 'rejects';
    this.#reader = new TopicReader(parts, [topic], async (record) => {
      const key = splitCompositeKey(record.key);
      if (key === null) return;
      await takeRecord(check, this.of(key[0] as CollectionName), { ...record, entryKey: key[1] });
    });
  }

  /** The entries of a collection, by the second part of their key; the map grows with each `readOn`. */
  of(collection: CollectionName): Map<string, TopicEntry> {
    const entries = this.#entries.get(collection) ?? new Map<string, TopicEntry>();
    this.#entries.set(collection, entries);
    return entries;
  }

  readOn(signal: AbortSignal): Promise<void> {
    return this.#reader.readOn(signal);
  }
}
