import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { expect, inject, it, vi } from 'vitest';
import { TenantRun } from '../../../src/worker/worker.ts';
import { endOffsets, type EndOffsets } from '../support/topic-reader.ts';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { flushRedis, redisTexts } from './redis-copy.ts';
import { recreateTopic } from './recreate-topic.ts';

const DAY_MS = 24 * 3_600_000;
const TOPICS = ['absence-versions', 'absences', 'absence-changes', 'absence-state', 'rejects', 'progress'];
const OPTIONS: MirrorOptions = {
  hubOptions: { students: 12, startMs: Date.now() },
  settings: {
    deletions: { withholdAbove: { rows: 10_000, ratio: 1 } },
    pseudonymise: { key: 'a key of sixteen or more' },
  },
};

function mapped(mapping: Record<string, unknown>): Partial<MirrorOptions> {
  return { collections: only({ 'absence-versions': mapping, absences: {}, 'absence-changes': {} }) };
}

/** Something for every area: current, replaced, deleted, pending and contradictory absences, and a reject. */
function fill({ hub: { district } }: Mirror): void {
  const [fromTime = '', toTime = ''] = [2, 1].map((days) =>
    new Date(Date.now() - days * DAY_MS).toISOString(),
  );
  const student = (at: number): string => district.ids('students')[at] ?? '';
  const register = (at: number): string =>
    district.registerAbsence({ student: student(at), fromTime, toTime });
  district.replaceAbsence(register(0), { changes: { toTime: new Date().toISOString() } });
  district.patch('absence-versions', register(1), { deletedTime: toTime });
  district.patch('absence-versions', register(2), { replaces: { sourcedId: 'never-seen' } });
  district.patch('absence-versions', register(3), { replaces: { sourcedId: register(4) } });
  district.put('absence-versions', { sourcedId: 42, student: { sourcedId: student(5) } }, { id: 'odd' });
}

/** Every record as it is in the log, aborted ones and headers included, from these offsets on. */
async function rawLog(from: EndOffsets, topics: readonly string[]): Promise<Map<string, Buffer[]>> {
  const ends = await endOffsets(topics);
  const open = new Map(Object.entries(ends).filter(([name, end]) => end > (from[name] ?? 0)));
  const found = new Map<string, Buffer[]>();
  const kafka = new Kafka({ brokers: inject('stack').kafkaBrokers, logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: randomUUID(), readUncommitted: true, maxWaitTimeInMs: 50 });
  const names = [...new Set([...open.keys()].map((name) => name.slice(0, name.lastIndexOf('/'))))];
  if (names.length === 0) return found;
  await consumer.connect();
  try {
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { topic, partition, lastOffset } }) => {
      const name = `${topic}/${partition}`;
      if (Number(lastOffset) + 1 >= (open.get(name) ?? 0)) open.delete(name);
    });
    await consumer.subscribe({ topics: names, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: ({ topic, partition, message: { key, value, headers, offset } }) => {
        if (Number(offset) < (from[`${topic}/${partition}`] ?? 0)) return Promise.resolve();
        const whole = [key, value, Buffer.from(JSON.stringify(headers))].map(
          (part) => part ?? Buffer.alloc(0),
        );
        found.set(topic, [...(found.get(topic) ?? []), Buffer.concat(whole)]);
        return Promise.resolve();
      },
    });
    await vi.waitFor(() => expect([...open.keys()]).toEqual([]), 60_000);
  } finally {
    await consumer.disconnect();
  }
  return found;
}

/** Starts the tenant with a mapping while the hub is away, and returns where ids of students are then. */
async function startWithoutHub(
  mirror: Mirror,
  mapping: Record<string, unknown>,
): Promise<{ inLog: string[]; inRedis: string[] }> {
  const { hub, topicPrefix } = mirror;
  const students = hub.district.ids('students');
  const topics = TOPICS.map((name) => mirror.topic(name));
  const from = await endOffsets(topics);
  await using started = await openMirror({ ...OPTIONS, ...mapped(mapping), hub, topicPrefix });
  const stop = new AbortController();
  const ended = new TenantRun(started.parts).mirror(stop.signal);
  try {
    await vi.waitFor(
      () =>
        expect(
          started.events.some((each) => each.type === 'hub' && each.event.type === 'request-failed'),
        ).toBe(true),
      60_000,
    );
  } finally {
    stop.abort();
    await ended;
  }
  const written = await rawLog(from, topics);
  const inLog = [...written].flatMap(([topic, records]) =>
    students.filter((id) => records.some((record) => record.includes(id))).map((id) => `${topic} ${id}`),
  );
  const inRedis = (await redisTexts(started)).flatMap(({ key, bytes }) =>
    students.filter((id) => bytes.includes(id)).map((id) => `${key} ${id}`),
  );
  return { inLog, inRedis };
}

const LOST = ['nothing', 'index', 'changelog'] as const;
const MAPPINGS = [{ drop: ['student'] }, { pseudonymise: ['student'] }];

it.each(MAPPINGS.flatMap((mapping) => LOST.map((lost) => ({ mapping, lost }))))(
  'before the hub answers, a process writes no id of a student that its mapping takes out ($mapping, lost: $lost)',
  async ({ mapping, lost }) => {
    await using mirror = await openMirror({ ...OPTIONS, ...mapped({}) });
    fill(mirror);
    await mirror.full();
    const students = mirror.hub.district.ids('students');
    const before = await redisTexts(mirror);
    expect(before.some(({ bytes }) => students.some((id) => bytes.includes(id)))).toBe(true);
    if (lost === 'index') await flushRedis(mirror.topicPrefix);
    if (lost === 'changelog') {
      // Kafka does not end a transaction whose markers are still to be written to a deleted topic.
      await endOffsets(TOPICS.map((name) => mirror.topic(name)));
      await recreateTopic(mirror.topic('absence-state'));
    }
    mirror.hub.faults.set('refuse-connection=1');
    const { inLog, inRedis } = await startWithoutHub(mirror, mapping);
    expect(inLog).toEqual([]);
    // Without a changelog the index is the only copy: what it holds stays until a full sync has read everything.
    if (lost !== 'changelog') expect(inRedis).toEqual([]);
  },
);

it('a mapping that is taken back before the hub answers costs the index of the absent nothing', async () => {
  await using mirror = await openMirror({ ...OPTIONS, ...mapped({}) });
  fill(mirror);
  await mirror.full();
  const before = await idsInRedis(mirror);
  expect(before).not.toEqual([]);
  mirror.hub.faults.set('refuse-connection=1');
  await startWithoutHub(mirror, { drop: ['student'] });
  mirror.hub.faults.clear();
  const { hub, topicPrefix } = mirror;
  await using again = await openMirror({ ...OPTIONS, ...mapped({}), hub, topicPrefix });
  await again.full();
  expect(await idsInRedis(again)).toEqual(before);
});

/** The students whose ids the index holds. */
async function idsInRedis(mirror: Mirror): Promise<readonly string[]> {
  const texts = await redisTexts(mirror);
  return mirror.hub.district.ids('students').filter((id) => texts.some(({ bytes }) => bytes.includes(id)));
}
