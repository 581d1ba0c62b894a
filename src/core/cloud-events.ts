import type { TopicSuffix } from '../model/collections.ts';

export type ChangeKind = 'created' | 'updated' | 'deleted';

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
}): Record<string, string> {
  const headers: Record<string, string> = {
    ...FIXED_HEADERS,
    ce_source: `/rollcall/${change.tenantId}/${change.topic}`,
    ce_id: change.id,
    ce_type: `rollcall.${change.topic}.${change.kind}`,
  };
  if (change.modifiedAtMs !== null) headers['ce_time'] = new Date(change.modifiedAtMs).toISOString();
  if (change.hash !== null) headers['content-hash'] = change.hash.toString('hex');
  return headers;
}
