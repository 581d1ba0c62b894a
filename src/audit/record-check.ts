import { CONTENT_HASH_BYTES, shortDigest } from '../core/rows/content-hash.ts';
import { classStudentsHash, type ClassStudents } from '../core/rows/class-students.ts';
import type { DaySchedule } from '../core/lessons/read-days.ts';
import { FRAME_BYTES } from '../log/registry/framing.ts';
import type { LoggedRecord } from '../log/log.ts';
import { isCollectionName, sourceOf, type TopicSuffix } from '../model/collections.ts';
import type { Tenant } from '../table/tenant.ts';

export interface CheckedTenant extends Pick<Tenant, 'tenantId' | 'collections' | 'schedules'> {
  /** Decodes a framed value with the schema that it names; null when no schema fits. */
  readonly decode: (framed: Buffer) => Promise<unknown>;
}

/** The result for a record that is not a removal. */
export interface CheckedRecord {
  /** The value is readable, has all headers of the contract, and matches its hash. */
  readonly isSound: boolean;
  /** Null when it is unreadable. */
  readonly value: object | null;
}

/** Checks records against the contract. */
export class RecordCheck {
  readonly #tenant: CheckedTenant;

  constructor(tenant: CheckedTenant) {
    this.#tenant = tenant;
  }

  /** Throws `REGISTRY_UNREACHABLE`. */
  async check(record: LoggedRecord & { readonly value: Buffer }): Promise<CheckedRecord> {
    const decoded = await this.#tenant.decode(record.value);
    const value = typeof decoded === 'object' ? decoded : null;
    const isSound = value !== null && this.#hasHeaders(record) && this.#matchesHash(record, value);
    return { isSound, value };
  }

  #hasHeaders({ topic, headers: headersOf }: LoggedRecord): boolean {
    const headers = headersOf?.() ?? {};
    const textOf = (name: string): string => String(headers[name] ?? '');
    const type = topic === 'absence-changes' ? 'absence' : topic;
    return (
      textOf('ce_specversion') === '1.0' &&
      textOf('ce_source') === `/rollcall/${this.#tenant.tenantId}/${topic}` &&
      textOf('ce_id') !== '' &&
      textOf('ce_type').startsWith(`rollcall.${type}.`) &&
      textOf('content-type') === 'application/avro'
    );
  }

  #matchesHash({ topic, hash, value: framed }: LoggedRecord & { value: Buffer }, value: object): boolean {
    if (hash?.length !== CONTENT_HASH_BYTES) return false;
    try {
      return this.#hashOf(topic, value, framed.subarray(FRAME_BYTES))?.equals(hash) ?? true;
    } catch {
      // The record names a schema that does not belong to its topic.
      return false;
    }
  }

  /** The hash that a record must have. Null for a reject: its hash covers the original row, which the record does not contain. */
  #hashOf(topic: TopicSuffix, value: object, body: Buffer): Buffer | null {
    const { collections, schedules } = this.#tenant;
    if (!isCollectionName(topic)) return null;
    if (topic === 'absence-changes') return shortDigest(body);
    if (topic === 'class-students') return classStudentsHash(value as ClassStudents);
    if (topic === 'schedules') return schedules?.reader.hashOf(value as DaySchedule) ?? null;
    const source = collections.find(({ name }) => name === sourceOf(topic));
    return source?.reader.hashOf?.(value) ?? null;
  }
}
