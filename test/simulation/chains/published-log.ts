import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import type { Broker, CommittedRecord } from '../tenants/broker.ts';
import { changeCodec, versionCodec } from './chain-codecs.ts';
import { contentOfValue } from './hub-version.ts';
import { studentBehind } from './mappings.ts';

/** A record of `absence-versions` or `absences`. */
export interface LoggedVersion extends CommittedRecord {
  readonly value: AbsenceVersionValue | null;
  /** The same value as in the topic, where its student may have a pseudonym. */
  readonly published: AbsenceVersionValue | null;
  /** See `contentOfValue`; null for a removal. */
  readonly content: string | null;
}

/** A record of `absence-changes`. */
export interface LoggedChange extends CommittedRecord {
  readonly value: AbsenceChangeValue | null;
  readonly published: AbsenceChangeValue | null;
}

/** All published records, decoded, in the order of commits; nothing is compacted. */
export interface PublishedLog {
  readonly versions: readonly LoggedVersion[];
  readonly absences: readonly LoggedVersion[];
  readonly changes: readonly LoggedChange[];
}

export function decodeLog(broker: Broker): PublishedLog {
  return {
    versions: broker.recordsOf('absence-versions').map(decodeVersion),
    absences: broker.recordsOf('absences').map(decodeVersion),
    changes: broker.recordsOf('absence-changes').map(decodeChange),
  };
}

function decodeVersion(record: CommittedRecord): LoggedVersion {
  const published = record.body === null ? null : versionCodec.fromBuffer(record.body);
  const value = unmasked(published);
  return { ...record, value, published, content: value === null ? null : contentOfValue(value) };
}

function decodeChange(record: CommittedRecord): LoggedChange {
  const published = record.body === null ? null : changeCodec.fromBuffer(record.body);
  if (published === null) return { ...record, value: null, published };
  const version = unmasked(published.version);
  const previousVersion = unmasked(published.previousVersion);
  return { ...record, value: { ...published, version, previousVersion }, published };
}

/** The value with its student's own id. */
function unmasked<Value extends AbsenceVersionValue | null>(value: Value): Value {
  if (value?.student == null) return value;
  const student = { ...value.student, sourcedId: studentBehind(value.student.sourcedId) };
  return { ...value, student };
}

/** The newest record of each key that is not removed. */
export function viewOf<Logged extends CommittedRecord>(records: readonly Logged[]): Map<string, Logged> {
  const view = new Map<string, Logged>();
  for (const record of records) {
    if (record.body === null) view.delete(record.key);
    else view.set(record.key, record);
  }
  return view;
}
