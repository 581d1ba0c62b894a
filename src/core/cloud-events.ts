import type { TopicSuffix } from '../model/collections.ts';

export type ChangeKind = 'created' | 'updated' | 'deleted';

/** What an event of `absence-changes` reports. */
export type AbsenceOperation = 'created' | 'replaced' | 'deleted' | 'restored';

/**
 * Rollcall's own attribute: the id of what the mapping drops and pseudonymises (core/rows/mapping-rules.ts). Records
 * of rows and of derived values name the mapping under which they were written. A record in `progress` names the
 * mapping under which all rows of the collection were published. The attribute is absent if the mapping takes nothing
 * out.
 */
export const MAPPING_HEADER = 'ce_mapping';

/**
 * Rollcall's own attribute of the record of `absence-changes` in `progress`: `over` once all absences are published.
 */
export const FIRST_LOAD_HEADER = 'ce_firstload';

/**
 * Rollcall's own attribute of the record of `absence-versions` in `progress`: `absence-state` holds the complete
 * index of absences. See {@link Progress.absenceState} in model/progress.ts.
 */
export const STATE_HEADER = 'ce_absencestate';

/**
 * Rollcall's own attribute of `@owner` in `progress`: the number of partitions of each topic to which the owner writes.
 * If a topic has been given more partitions since then, a key may be in more than one of them, even if the
 * configuration names the new number.
 */
export const PARTITIONS_HEADER = 'ce_partitions';

/**
 * Rollcall's own attribute of records in `progress`: the registry's ids of the schema of the collection's records.
 * The first id is in use. The registry has lost the others, and older records still have them.
 */
export const SCHEMAS_HEADER = 'ce_schemas';

/**
 * Rollcall's own attribute of records in `progress`: a JSON object with the sync that settled the missing rows last, the
 * day's removals, and the hold. See {@link DeletionState} in model/progress.ts.
 */
export const DELETIONS_HEADER = 'ce_deletions';

/** Rollcall's own attribute of `@decision|…` in `progress`: the decision, as JSON. See {@link DecisionRecord} in model/progress.ts. */
export const DECISION_HEADER = 'ce_decision';

/** The headers that only records in `progress` have. */
export const OWN_HEADERS_OF_PROGRESS = [
  STATE_HEADER,
  DELETIONS_HEADER,
  DECISION_HEADER,
  PARTITIONS_HEADER,
  SCHEMAS_HEADER,
  FIRST_LOAD_HEADER,
] as const;

const FIXED_HEADERS = { ce_specversion: '1.0', 'content-type': 'application/avro' } as const;

/** The facts from which the headers of any record are made. */
export interface HeaderFacts {
  readonly tenantId: string;
  /** Unique within the topic. */
  readonly id: string;
  /** The row's `dateLastModified`, ms since the epoch. */
  readonly modifiedAtMs: number | null;
  /** 16 bytes; null for a removal. */
  readonly hash: Buffer | null;
  /** See {@link MAPPING_HEADER}. */
  readonly mapping?: string | null | undefined;
}

/** A removal has neither a time of modification nor a content hash. */
export const REMOVED = { modifiedAtMs: null, hash: null } as const;

/** What a record reports; in `absence-changes` an operation. */
type ReportedKind = ChangeKind | AbsenceOperation;

/**
 * The headers of a record: CloudEvents 1.0 in Kafka's binary mode, and the content hash (contract, "Headers").
 */
export function changeHeaders(
  change: HeaderFacts & { topic: TopicSuffix; kind: ReportedKind },
): Record<string, string> {
  return { ...sharedHeadersOf(change)(change.kind, change.hash), ...ownHeaders(change) };
}

/** The headers that differ from record to record. */
export function ownHeaders({
  id,
  modifiedAtMs,
  hash,
}: Pick<HeaderFacts, 'id' | 'modifiedAtMs' | 'hash'>): Record<string, string> {
  const headers: Record<string, string> = { ce_id: id };
  if (modifiedAtMs !== null) headers['ce_time'] = new Date(modifiedAtMs).toISOString();
  if (hash !== null) headers['content-hash'] = hash.toString('hex');
  return headers;
}

/** The headers that all records of a topic with the same kind share. `hash`: of the record's content; null for a removal. */
export type SharedHeaders = (kind: ReportedKind, hash: Buffer | null) => Readonly<Record<string, string>>;

/** Makes the shared headers of each kind only once: they are one object, so that their bytes are made only once, too. */
export function sharedHeadersOf({
  tenantId,
  topic,
  mapping,
}: Pick<HeaderFacts, 'tenantId' | 'mapping'> & { readonly topic: TopicSuffix }): SharedHeaders {
  /** By the kind that they report; those of a removal under `removal`. */
  const made = new Map<string, Readonly<Record<string, string>>>();
  return (kind, hash) => {
    const name = hash === null ? 'removal' : kind;
    const known = made.get(name);
    if (known !== undefined) return known;
    const headers = {
      ...FIXED_HEADERS,
      ce_source: `/rollcall/${tenantId}/${topic}`,
      ce_type: `rollcall.${topic === 'absence-changes' ? 'absence' : topic}.${kind}`,
      // The mapping describes a value, and a removal has no value.
      ...(hash !== null && mapping != null ? { [MAPPING_HEADER]: mapping } : {}),
    };
    made.set(name, headers);
    return headers;
  };
}
