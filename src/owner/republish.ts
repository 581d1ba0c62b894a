import { z } from 'zod';
import { COLLECTIONS, sourceOf } from '../model/collections.ts';
import { randomSeed, onceEach } from '../core/seen-keys.ts';
import { notMirrored, ownerRequest, type OwnerWork } from './owner-request.ts';
import { operationOf, type AbsenceChangeValue } from '../core/absences/event-encoder.ts';
import { shortDigest } from '../core/rows/content-hash.ts';
import { changeHeaders } from '../core/cloud-events.ts';
import { applyMapping } from '../core/rows/apply-mapping.ts';
import { isFramed } from '../log/registry/framing.ts';
import type { LoggedRecord, OutgoingRecord } from '../log/log.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { TenantAbsences } from '../table/tenant.ts';

const parameters = z.strictObject({
  collection: z.enum(COLLECTIONS),
  /** The keys to republish; empty: all keys. */
  keys: z.array(z.string()),
});

/** The result, which can be sent as JSON. */
export interface Republished {
  /** Number of published keys, unchanged or changed. */
  readonly published: number;
  /** Named keys that the hub does not have, or, for `absence-changes`, that have no event. */
  readonly missing: readonly string[];
  /** Why the sync may not have seen all rows; null when it saw all. */
  readonly why: string | null;
  /** Number of rows that the hub no longer has and whose removal needs a decision. */
  readonly rowsOnHold: number;
}

/**
 * `rollcall republish`: a full sync that publishes rows although they have not changed. For `absence-changes`, it instead
 * publishes the last event of each absence, as read from the topic.
 */
export const REPUBLISH = ownerRequest({
  kind: 'republish',
  parameters,
  async handle({ collection, keys }, work): Promise<Republished> {
    const { absences } = work.tenant;
    const writer = work.writers.get(sourceOf(collection));
    if (writer === undefined) throw notMirrored(collection, work.tenant.tenantId);
    const missing = new Set(keys);
    const takesOnce = onceEach(keys.length === 0 ? 'all' : new Set(keys), randomSeed());
    let published = 0;
    const wanted = (key: string): boolean => {
      if (!takesOnce(key)) return false;
      published += 1;
      missing.delete(key);
      return true;
    };
    if (collection === 'absence-changes') {
      if (absences === undefined) throw notMirrored(collection, work.tenant.tenantId);
      await republishEvents(work, { writer, absences, wanted });
      if (keys.length === 0) await writer.publishedAgain(collection);
      return { published, missing: [...missing], why: null, rowsOnHold: 0 };
    }
    const republication = collection === 'absences' ? { absences: wanted } : { rows: wanted };
    const result = await work.sync(sourceOf(collection), 'FULL', { republication });
    const why = result.kind === 'inconclusive' ? result.why : null;
    const { rowsOnHold } = result;
    // A row that is missing for now still has its old record, and may come back unchanged.
    const isAll = keys.length === 0 && result.kind === 'complete' && result.unconfirmed === 0;
    if (isAll && rowsOnHold === 0) await writer.publishedAgain(collection);
    return { published, missing: [...missing], why, rowsOnHold };
  },
});

/** The limits of one transaction. */
const MOST_EVENTS = 10_000;
const MOST_BYTES = 8_000_000;

/**
 * Publishes the last event of each absence again under the mapping in force: the same step, marked as a snapshot, so that
 * consumers notify no one. Compaction then removes the event that was published before, and with it what the mapping
 * takes out (ADR 15). The writer does nothing else meanwhile, so that no older step can follow a newer one. `wanted`:
 * true for each absence id that is to be published.
 */
export async function republishEvents(
  work: OwnerWork,
  options: { writer: CollectionWriter; absences: TenantAbsences; wanted: (absenceId: string) => boolean },
): Promise<void> {
  const { tenant, signal } = work;
  const { writer, absences, wanted } = options;
  /**
   * The offset of the last event of each absence. The absence id determines the partition. The values are not kept,
   * because they would fill the memory.
   */
  const last = new Map<string, number>();
  const read = (onRecord: (record: LoggedRecord) => Promise<void> | void): Promise<void> =>
    tenant.log.read({
      from: [{ topic: 'absence-changes', after: {} }],
      onBatch: async (records) => {
        for (const record of records) await onRecord(record);
      },
      signal,
    });
  let published = 0;
  await writer.reissue(async (publish) => {
    let batch: ((id: string) => OutgoingRecord)[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      await publish(batch);
      published += batch.length;
      await work.report(`${published} events`);
      batch = [];
      bytes = 0;
    };
    await read(({ key, offset, value }) => {
      if (value !== null && isFramed(value)) last.set(key, offset);
      else last.delete(key);
    });
    await read(async ({ key, offset, value, mapping }) => {
      if (value === null || last.get(key) !== offset || !wanted(key)) return;
      const decoded = await absences.decode(value, ['absence-changes']);
      const event = mappedEvent(absences, decoded as AbsenceChangeValue, mapping);
      const body = absences.encodeChange(event);
      bytes += body.length;
      const headers = {
        tenantId: tenant.tenantId,
        topic: 'absence-changes',
        kind: operationOf(event),
        modifiedAtMs: event.version.dateLastModified ?? null,
        hash: shortDigest(body),
        mapping: absences.reader.mapping,
      } as const;
      const { topic } = headers;
      batch.push((id) => ({ topic, key, body, headers: changeHeaders({ ...headers, id }) }));
      if (batch.length >= MOST_EVENTS || bytes >= MOST_BYTES) await flush();
    });
    if (batch.length > 0) await flush();
  });
}

function mappedEvent(
  { reader }: Pick<TenantAbsences, 'reader'>,
  event: AbsenceChangeValue,
  mapping: string | null,
): AbsenceChangeValue {
  const mapped = (value: object): object => applyMapping(reader, { value, mapping });
  const { version, previousVersion } = event;
  return {
    ...event,
    version: mapped(version) as typeof version,
    previousVersion: previousVersion === null ? null : (mapped(previousVersion) as typeof previousVersion),
    snapshot: true,
  };
}
