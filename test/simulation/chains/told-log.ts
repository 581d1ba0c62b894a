import type { AbsenceChangeValue } from '../../../src/core/absence-change.ts';
import type { AbsenceVersionValue } from '../../../src/core/chains/chain-row.ts';
import type { SimulatedTopics, StoredRecord } from '../parts/simulated-topics.ts';
import { changeCodec, versionCodec } from './chain-codecs.ts';
import { contentOfValue } from './hub-version.ts';

/** A record of `absence-versions` or `absences`. */
export interface ToldVersion extends StoredRecord {
  readonly value: AbsenceVersionValue | null;
  /** See `contentOfValue`; null for a removal. */
  readonly content: string | null;
}

/** A record of `absence-changes`. */
export interface ToldChange extends StoredRecord {
  readonly value: AbsenceChangeValue | null;
}

/** All that was ever published, decoded, in the order of commits; nothing is compacted. */
export interface ToldLog {
  readonly versions: readonly ToldVersion[];
  readonly absences: readonly ToldVersion[];
  readonly changes: readonly ToldChange[];
}

export function decodeLog(topics: SimulatedTopics): ToldLog {
  return {
    versions: topics.recordsOf('absence-versions').map(decodeVersion),
    absences: topics.recordsOf('absences').map(decodeVersion),
    changes: topics.recordsOf('absence-changes').map((record) =>
      Object.assign({}, record, {
        value: record.body === null ? null : changeCodec.fromBuffer(record.body),
      }),
    ),
  };
}

function decodeVersion(record: StoredRecord): ToldVersion {
  const value = record.body === null ? null : versionCodec.fromBuffer(record.body);
  return { ...record, value, content: value === null ? null : contentOfValue(value) };
}

/** The newest record of each key that is not removed. */
export function viewOf<Told extends StoredRecord>(records: readonly Told[]): Map<string, Told> {
  const view = new Map<string, Told>();
  for (const record of records) {
    if (record.body === null) view.delete(record.key);
    else view.set(record.key, record);
  }
  return view;
}
