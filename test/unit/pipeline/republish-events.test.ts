import { expect, it } from 'vitest';
import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import { MAPPING_HEADER } from '../../../src/core/cloud-events.ts';
import type { RowReader } from '../../../src/core/rows/decoded-row.ts';
import { FRAME_BYTES } from '../../../src/log/registry/framing.ts';
import { frame } from '../log/support/frame.ts';
import type { LoggedRecord, TenantLog, Transaction } from '../../../src/log/log.ts';
import type { OwnerWork } from '../../../src/owner/owner-request.ts';
import { REPUBLISH } from '../../../src/owner/republish.ts';
import { madeCollection } from './support/made-collection.ts';

interface Event {
  readonly step: number;
  /** The mapping in force drops it. */
  readonly note: string | null;
}

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const decode = (framed: Buffer): unknown => JSON.parse(String(framed.subarray(FRAME_BYTES)));
function valueOf(absenceId: string, { step, note }: Event): object {
  const version = { sourcedId: absenceId, note };
  return { absenceId, step, operation: 'CREATED', snapshot: false, version, previousVersion: null };
}

/** The topic `absence-changes` with so many events of an earlier mapping, its writer, and a request to republish it. */
async function bench(count: number, { note = 'private', keepsNotes = false } = {}) {
  const topic: LoggedRecord[] = [];
  const sizes: number[] = [];
  const rest = { topic: 'absence-changes', hash: null, firstSequence: 1, partition: 0 } as const;
  const append = (record: Pick<LoggedRecord, 'key' | 'value' | 'mapping'>) =>
    void topic.push({ ...rest, offset: topic.length, ...record });
  const before = (key: string, event: Event) =>
    append({ key, value: frame(1, encode(valueOf(key, event))), mapping: null });
  for (let at = 0; at < count; at += 1) before(`a${at}`, { step: 1, note });
  let readings = 0;
  const at = { reading: (_number: number): void => undefined };
  const read: TenantLog['read'] = async ({ onBatch }) => {
    await onBatch([...topic]);
    at.reading((readings += 1));
  };
  const commit = ({ records }: Transaction) => {
    sizes.push(records.length);
    for (const { key, body, headers } of records)
      append({ key, value: body && frame(1, body), mapping: headers[MAPPING_HEADER] ?? null });
    return {};
  };
  const reader = { encode: () => Buffer.alloc(1), mapping: 'new' } as unknown as RowReader;
  const own = await madeCollection({ name: 'absence-versions', settings: { reader }, commit });
  const readAgain = (value: object) => ({
    kind: 'row',
    value: keepsNotes ? value : { ...value, note: null },
  });
  const absences = {
    reader: { mapping: 'new', readAgain },
    decode: async (it: Buffer) => decode(it),
    encodeChange: encode,
  };
  const work = {
    tenant: { ...own.tenant, log: { read }, absences },
    writers: new Map([['absence-versions', own.writer]]),
    report: () => Promise.resolve(),
    signal: new AbortController().signal,
  } as unknown as OwnerWork;
  return {
    sizes,
    at,
    before,
    append,
    /** Publishes as a sync does; null removes the events of an absence that expired. */
    publish: (key: string, event: Event | null) => {
      const body = event && encode(valueOf(key, event));
      const headers = { [MAPPING_HEADER]: 'new' };
      return own.writer.reissue((publish) =>
        publish([() => ({ topic: 'absence-changes', key, body, headers })]),
      );
    },
    republish: (...keys: string[]) => REPUBLISH.handle({ collection: 'absence-changes', keys }, work),
    /** The last event of each absence, which compaction keeps; null for a removal. */
    last: () => {
      const last = new Map(topic.map(({ key, value }) => [key, value]));
      const shown = [...last].map(([key, value]) => {
        if (value === null) return [key, null] as const;
        const { step, snapshot, version } = decode(value) as AbsenceChangeValue;
        return [key, { step, snapshot, note: (version as unknown as Event).note }] as const;
      });
      return new Map(shown);
    },
  };
}

it('republish absence-changes publishes every event under the mapping, in bounded transactions', async () => {
  const { republish, sizes, last } = await bench(25_000);
  expect((await republish()).published).toBe(25_000);
  expect(sizes).toEqual([10_000, 10_000, 5_000]);
  expect(new Set([...last().values()].map((each) => each?.note))).toEqual(new Set([null]));
  const large = await bench(5, { note: 'x'.repeat(3_000_000), keepsNotes: true });
  await large.republish();
  expect(large.sizes).toEqual([3, 2]);
});

it('republish absence-changes publishes the last event of each absence once, as a snapshot', async () => {
  const { before, publish, republish, last, sizes } = await bench(0);
  for (const step of [1, 2, 3]) before('a1', { step, note: 'private' });
  for (const event of [{ step: 1, note: null }, null]) await publish('a2', event);
  expect(await republish()).toMatchObject({ published: 1, missing: [] });
  expect(sizes.slice(2)).toEqual([1]);
  expect(Object.fromEntries(last())).toEqual({ a1: { step: 3, note: null, snapshot: true }, a2: null });
});

it('republish absence-changes publishes only the named absences, and names those that have no event', async () => {
  const { republish, last } = await bench(3);
  expect(await republish('a1', 'a7')).toMatchObject({ published: 1, missing: ['a7'] });
  expect([...last().values()].map((each) => each?.note)).toEqual(['private', null, 'private']);
});

// The first reading finds the last events, the second one publishes them.
it.each([1, 2])('republish publishes no event after a newer one of a sync (reading %i)', async (reading) => {
  const { at, publish, republish, last } = await bench(4);
  const publications: Promise<unknown>[] = [];
  at.reading = (number) => {
    if (number === reading) publications.push(publish('a1', { step: 2, note: null }), publish('a2', null));
  };
  await republish();
  await Promise.all(publications);
  expect(publications).toHaveLength(2);
  expect([last().get('a1'), last().get('a2')]).toEqual([{ step: 2, note: null, snapshot: false }, null]);
  expect(new Set([...last().values()].map((each) => each?.note))).toEqual(new Set([null, undefined]));
});

it('after republish absence-changes has failed at an event, the tenant goes on publishing', async () => {
  const { append, publish, republish, last } = await bench(2);
  append({ key: 'a3', value: frame(1, Buffer.from('no JSON')), mapping: null });
  await expect(republish()).rejects.toThrow('JSON');
  append({ key: 'a3', value: null, mapping: null });
  await publish('a1', { step: 2, note: null });
  expect(last().get('a1')).toMatchObject({ step: 2, note: null });
});
