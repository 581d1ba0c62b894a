import { CONTENT_HASH_BYTES, shortDigest } from '../core/rows/content-hash.ts';
import { classStudentsHash, type ClassStudents } from '../core/rows/class-students.ts';
import type { DaySchedule } from '../core/lessons/read-days.ts';
import { FRAME_BYTES } from '../log/registry/framing.ts';
import type { LoggedRecord } from '../log/log.ts';
import { isCollectionName, sourceOf, type TopicSuffix } from '../model/collections.ts';
import type { Tenant } from '../table/tenant.ts';

export interface CheckedTenant extends Pick<Tenant, 'collections' | 'schedules'> {
  /** Decodes a framed value with the schema that it names; null when no schema fits. */
  readonly decode: (framed: Buffer) => Promise<unknown>;
}

/** The result for a record that is not a removal. */
export interface CheckedRecord {
  /** The value is readable, and matches its hash. */
  readonly isSound: boolean;
  /** Null when it is unreadable. */
  readonly value: object | null;
}

/** Decodes a record, and compares it with its hash. Throws `REGISTRY_UNREACHABLE`. */
export async function checkRecord(
  tenant: CheckedTenant,
  { topic, hash, value: framed }: Pick<LoggedRecord, 'topic' | 'hash'> & { readonly value: Buffer },
): Promise<CheckedRecord> {
  const decoded = await tenant.decode(framed);
  const value = typeof decoded === 'object' ? decoded : null;
  if (value === null || hash?.length !== CONTENT_HASH_BYTES) return { isSound: false, value };
  try {
    const expected = hashOf(tenant, topic, { value, body: framed.subarray(FRAME_BYTES) });
    return { isSound: expected?.equals(hash) ?? true, value };
  } catch {
    // The record names a schema that does not belong to its topic.
    return { isSound: false, value };
  }
}

/** The hash that a record must have. Null for a reject: its hash covers the original row, which the record does not contain. */
function hashOf(
  { collections, schedules }: CheckedTenant,
  topic: TopicSuffix,
  { value, body }: { readonly value: object; readonly body: Buffer },
): Buffer | null {
  if (!isCollectionName(topic)) return null;
  if (topic === 'absence-changes') return shortDigest(body);
  if (topic === 'class-students') return classStudentsHash(value as ClassStudents);
  if (topic === 'schedules') return schedules?.reader.hashOf(value as DaySchedule) ?? null;
  const source = collections.find(({ name }) => name === sourceOf(topic));
  return source?.reader.hashOf(value) ?? null;
}
