import type { AbsenceChangeValue } from '../../../../src/core/absences/event-encoder.ts';
import { MAPPING_HEADER } from '../../../../src/core/cloud-events.ts';
import { offsetsOf, withOffsets, type Offsets } from '../../../../src/model/progress.ts';
import type { RowReader } from '../../../../src/core/decoded-row.ts';
import { madeCollection } from './made-collection.ts';
import type { OwnerWork } from '../../../../src/owner/owner-request.ts';
import { REPUBLISH, type Republished } from '../../../../src/owner/republish.ts';
import { frame, FRAME_BYTES } from '../../../../src/log/framing.ts';
import type {
  Committed,
  LoggedRecord,
  OutgoingRecord,
  TenantLog,
  Transaction,
} from '../../../../src/log/log.ts';

const PARTITIONS = 2;
const TOPIC = 'p.north.absence-changes';
const READ_AT_ONCE = 500;
const UNDECODABLE = frame(1, Buffer.from('undecodable'));

/** An event of `absence-changes` under a mapping; the current mapping drops `note`. */
export interface ShownEvent {
  readonly key: string;
  readonly step: number;
  readonly note: string | null;
  readonly snapshot?: boolean;
}

function valueOf({ key, step, note }: ShownEvent): AbsenceChangeValue {
  return {
    absenceId: key,
    step,
    operation: 'CREATED',
    cause: 'HUB',
    mergedInto: null,
    snapshot: false,
    detectedAt: 0,
    version: { sourcedId: key, note },
    previousVersion: null,
  } as unknown as AbsenceChangeValue;
}

/** Makes the topic `absence-changes`, a writer of it, and a request to republish it. */
export async function eventsBench({ keepsNotes = false } = {}) {
  const partitions: LoggedRecord[][] = Array.from({ length: PARTITIONS }, () => []);
  const transactions: OutgoingRecord[][] = [];
  let readings = 0;
  let onRow: (reading: number) => Promise<void> = () => Promise.resolve();

  const append = (record: Pick<LoggedRecord, 'key' | 'value' | 'mapping'>): void => {
    const partition = Number(/\d+$/.exec(record.key)?.[0] ?? 0) % PARTITIONS;
    const offset = partitions[partition]?.length ?? 0;
    const rest = { topic: 'absence-changes', hash: null, firstSequence: 1 } as const;
    partitions[partition]?.push({ ...rest, ...record, partition, offset });
  };
  const ends = (): Offsets =>
    Object.fromEntries(partitions.map((all, partition) => [`${TOPIC}/${partition}`, all.length - 1]));

  const read: TenantLog['read'] = async ({ from, onBatch, signal }) => {
    readings += 1;
    const reading = readings;
    const stretches = partitions.map((all, partition) =>
      all.slice((from[0]?.after[`${TOPIC}/${partition}`] ?? -1) + 1),
    );
    for (const stretch of stretches) {
      for (let at = 0; at < stretch.length; at += READ_AT_ONCE) {
        signal.throwIfAborted();
        await onBatch(stretch.slice(at, at + READ_AT_ONCE));
      }
    }
    await onRow(reading);
    signal.throwIfAborted();
  };

  const commit = (transaction: Transaction): Promise<Committed> => {
    transactions.push([...transaction.records]);
    for (const { key, body, headers } of transaction.records)
      append({ key, value: body === null ? null : frame(1, body), mapping: headers[MAPPING_HEADER] ?? null });
    const offsets = { ...transaction.progress.offsets, ...offsetsOf(ends(), 'absence-changes') };
    const progress = withOffsets(transaction.progress, offsets);
    return Promise.resolve({ progress, derived: [], committedAtMs: 0, tookMs: 0 });
  };

  const { writer, tenant } = await madeCollection({
    name: 'absence-versions',
    settings: { reader: { encode: () => Buffer.alloc(1), mapping: 'new' } as unknown as RowReader },
    commit,
  });
  const absences = {
    reader: {
      mapping: 'new',
      readAgain: (value: { sourcedId: string }) => ({
        kind: 'row',
        sourcedId: value.sourcedId,
        value: keepsNotes ? value : { ...value, note: null },
        hash: Buffer.alloc(16),
      }),
    },
    decode: (framed: Buffer): Promise<unknown> => {
      const text = framed.subarray(FRAME_BYTES).toString();
      return text === 'undecodable'
        ? Promise.reject(new Error('undecodable'))
        : Promise.resolve(JSON.parse(text));
    },
    encodeChange: (value: AbsenceChangeValue) => Buffer.from(JSON.stringify(value)),
  };
  const work = {
    tenant: { ...tenant, log: { read }, absences },
    writers: new Map([['absence-versions', writer]]),
    report: () => Promise.resolve(),
    signal: new AbortController().signal,
  } as unknown as OwnerWork;

  return {
    writer,
    work,
    /** Appends an event that was published before, under another mapping. */
    before: (event: ShownEvent): void =>
      append({ key: event.key, value: frame(1, Buffer.from(JSON.stringify(valueOf(event)))), mapping: null }),
    beforeUndecodable: (key: string): void => append({ key, value: UNDECODABLE, mapping: null }),
    /** Publishes as a sync does; null removes the events of an absence that expired. */
    publish: (key: string, event: Omit<ShownEvent, 'key'> | null): Promise<unknown> => {
      const body = event === null ? null : absences.encodeChange(valueOf({ key, ...event }));
      const headers = { [MAPPING_HEADER]: 'new' };
      return writer.reissue((publish) => publish([() => ({ topic: 'absence-changes', key, body, headers })]));
    },
    /** Sets the function that is called at the end of each reading of the topic, 1, 2, … */
    atReading: (then: (reading: number) => Promise<void>): void => {
      onRow = then;
    },
    republish: (keys: string[] = []): Promise<Republished> =>
      REPUBLISH.handle({ collection: 'absence-changes', keys }, work),
    /** The number of records of each transaction. */
    sizes: (): number[] => transactions.map(({ length }) => length),
    /** The last event of each absence, which compaction keeps; null for a removal. */
    last: (): ReadonlyMap<string, ShownEvent | null> => {
      const shown = (value: Buffer | null): ShownEvent | null => {
        if (value === null || value.equals(UNDECODABLE)) return null;
        const event = JSON.parse(value.subarray(FRAME_BYTES).toString()) as AbsenceChangeValue;
        const { note } = event.version as unknown as { note: string | null };
        return { key: event.absenceId, step: event.step, note, snapshot: event.snapshot };
      };
      return new Map(partitions.flat().map(({ key, value }) => [key, shown(value)]));
    },
  };
}
