import type { TopicSuffix } from '../model/collections.ts';

export type ChangeKind = 'created' | 'updated' | 'deleted';

/** What an event of `absence-changes` tells. */
export type AbsenceOperation = 'created' | 'replaced' | 'deleted' | 'restored';

/**
 * An attribute of Rollcall's own on events of `absence-changes`: the number of the transaction in which the absence was
 * first published. Only with it can the order of first publications, which decides what is merged into what, be had
 * again from a compacted topic.
 */
export const FIRST_SEQUENCE_HEADER = 'ce_firstsequence';

/**
 * An attribute of Rollcall's own: the id of what the mapping drops and pseudonymises (core/mapping-id.ts). On records of
 * rows, and of what follows from them, the mapping that they were written under; in `progress` the one that all
 * rows of the collection were published under. Absent where the mapping takes nothing out.
 */
export const MAPPING_HEADER = 'ce_mapping';

/**
 * An attribute of Rollcall's own on the record of `absence-changes` in `progress`: `over` once all absences were told.
 * Whoever cannot read the value still knows that what follows is no part of the first load.
 */
export const FIRST_LOAD_HEADER = 'ce_firstload';

const FIXED_HEADERS = { ce_specversion: '1.0', 'content-type': 'application/avro' } as const;

/**
 * The headers of a record: CloudEvents 1.0 in Kafka's binary mode, and the content hash (contract, "Headers").
 * `id` is unique within the topic. `modifiedAtMs`: the row's `dateLastModified`, ms since the epoch.
 */
export function changeHeaders(change: {
  tenantId: string;
  topic: TopicSuffix;
  id: string;
  kind: ChangeKind;
  modifiedAtMs: number | null;
  /** 16 bytes; null for a removal. */
  hash: Buffer | null;
  /** See {@link MAPPING_HEADER}. */
  mapping?: string | null | undefined;
}): Record<string, string> {
  const headers: Record<string, string> = {
    ...FIXED_HEADERS,
    ce_source: `/rollcall/${change.tenantId}/${change.topic}`,
    ce_id: change.id,
    ce_type: `rollcall.${change.topic}.${change.kind}`,
  };
  if (change.modifiedAtMs !== null) headers['ce_time'] = new Date(change.modifiedAtMs).toISOString();
  if (change.hash === null) return headers;
  headers['content-hash'] = change.hash.toString('hex');
  if (change.mapping != null) headers[MAPPING_HEADER] = change.mapping;
  return headers;
}

/** The headers of a record in `absence-changes`; `change.hash` null for the removal of its key. */
export function absenceChangeHeaders(change: {
  tenantId: string;
  id: string;
  operation: AbsenceOperation;
  modifiedAtMs: number | null;
  /** 16 bytes; null for a removal. */
  hash: Buffer | null;
  /** Null for a removal. */
  firstSequence: number | null;
  /** See {@link MAPPING_HEADER}. */
  mapping?: string | null | undefined;
}): Record<string, string> {
  const headers = changeHeaders({ ...change, topic: 'absence-changes', kind: 'updated' });
  headers['ce_type'] = `rollcall.absence.${change.operation}`;
  if (change.firstSequence !== null) headers[FIRST_SEQUENCE_HEADER] = String(change.firstSequence);
  return headers;
}
