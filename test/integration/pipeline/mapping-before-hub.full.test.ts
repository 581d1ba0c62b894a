import { expect, inject, it, vi } from 'vitest';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { headerTexts, readMessagesAt } from '../support/read-topics.ts';
import { endOffsets, type EndOffsets, recreateTopic } from '../support/stack-kafka.ts';
import { flushRedis, redisTexts } from './redis-copy.ts';

const DAY_MS = 24 * 3_600_000;
const TOPICS = ['absence-versions', 'absences', 'absence-changes', 'absence-state', 'rejects', 'progress'];

function mapped(mapping: Record<string, unknown>): MirrorOptions {
  return {
    hubOptions: { students: 12, startMs: Date.now() },
    settings: {
      deletions: { holdAbove: { rows: 10_000, ratio: 1 } },
      pseudonymise: { key: 'a key of sixteen or more' },
    },
    collections: only({ 'absence-versions': mapping, absences: {}, 'absence-changes': {} }),
  };
}

/** Something for every area: current, replaced, deleted, pending and contradictory absences, and a reject. */
function fill({ hub: { district } }: Mirror): void {
  const [fromTime = '', toTime = ''] = [2, 1].map((days) =>
    new Date(Date.now() - days * DAY_MS).toISOString(),
  );
  const students = district.ids('students');
  const register = (at: number): string =>
    district.registerAbsence({ student: students[at] ?? '', fromTime, toTime });
  district.replaceAbsence(register(0), { changes: { toTime: new Date().toISOString() } });
  district.patch('absence-versions', register(1), { deletedTime: toTime });
  district.patch('absence-versions', register(2), { replaces: { sourcedId: 'never-seen' } });
  district.patch('absence-versions', register(3), { replaces: { sourcedId: register(4) } });
  district.put(
    'absence-versions',
    { sourcedId: 42, student: { sourcedId: students[5] } },
    { id: 'unreadable' },
  );
}

/** Every record as it is in the log, aborted ones and headers included, from these offsets on. */
async function rawLog(from: EndOffsets, topics: string[]): Promise<Buffer> {
  const messages = await readMessagesAt(inject('stack'), topics, { from, readUncommitted: true });
  const parts = messages.flatMap(({ message: { key, value, headers } }) => [
    key ?? Buffer.alloc(0),
    value ?? Buffer.alloc(0),
    Buffer.from(JSON.stringify(headerTexts(headers))),
  ]);
  return Buffer.concat(parts);
}

/** The students whose ids Redis holds. */
async function inRedis(mirror: Mirror): Promise<readonly string[]> {
  const texts = await redisTexts(mirror);
  return mirror.hub.district.ids('students').filter((id) => texts.some(({ bytes }) => bytes.includes(id)));
}

it.each([
  { mapping: { drop: ['student'] }, lost: 'nothing' },
  { mapping: { pseudonymise: ['student'] }, lost: 'index' },
  { mapping: { drop: ['student'] }, lost: 'changelog' },
])(
  'before the hub answers, Rollcall writes no id that the mapping hides (case %$)',
  async ({ mapping, lost }) => {
    await using mirror = await openMirror(mapped({}));
    fill(mirror);
    await mirror.full();
    const { hub, topicPrefix } = mirror;
    const topics = TOPICS.map((name) => mirror.topic(name));
    const before = await inRedis(mirror);
    expect(before).not.toEqual([]);
    if (lost === 'index') await flushRedis(topicPrefix);
    // Kafka does not end a transaction whose markers are still to be written to a deleted topic.
    let from = await endOffsets(topics);
    if (lost === 'changelog') {
      await recreateTopic(mirror.topic('absence-state'));
      from = await endOffsets(topics);
    }
    hub.faults.set('refuse-connection=1');
    await using started = await openMirror({ ...mapped(mapping), hub, topicPrefix });
    const isRefused = (): boolean =>
      started.events.some((each) => each.type === 'hub' && each.event.type === 'request-failed');
    {
      await using _ = started.run();
      await vi.waitFor(() => expect(isRefused()).toBe(true));
    }
    const written = await rawLog(from, topics);
    expect(hub.district.ids('students').filter((id) => written.includes(id))).toEqual([]);
    // Without a changelog the index is the only copy: what it holds stays until a full sync has read everything.
    if (lost !== 'changelog') expect(await inRedis(started)).toEqual([]);
    if (lost !== 'nothing') return;
    // A mapping that is taken back before the hub answers costs the index of the absent nothing.
    hub.faults.clear();
    await using again = await openMirror({ ...mapped({}), hub, topicPrefix });
    await again.full();
    expect(await inRedis(again)).toEqual(before);
  },
);
