import { afterAll, expect, it, vi } from 'vitest';
import { REPUBLISH } from '../../../src/owner/republish.ts';
import type { TenantSession } from '../../../src/session/open-session.ts';
import { redisHolds } from '../../integration/pipeline/redis-copy.ts';
import { openScheduleMirror } from '../../integration/pipeline/schedule-mirror.ts';
import { openMirror, type Mirror } from '../../integration/support/mirror.ts';
import { only } from '../../integration/support/only.ts';
import { alterTopic } from '../../integration/support/stack-kafka.ts';
import { EAGER_CLEANER } from '../support/compaction.ts';
import { startOwnKafka } from '../support/kafka.ts';

const OF_PEOPLE = ['users', 'students', 'enrollments', 'absence-versions'] as const;
const OF_MEMBERS = ['class-students', 'schedules'] as const;
const CHAINS = ['absences', 'absence-changes'] as const;
const COLLECTIONS = ['classes', ...OF_PEOPLE, ...OF_MEMBERS, ...CHAINS] as const;
const DAY_MS = 24 * 3_600_000;
/** A topic may differ from the contract in these to begin with. */
const SHORT = { 'segment.ms': '1000', 'max.compaction.lag.ms': '1000' };
/** It may differ in these only after the process has checked its topics. */
const SHORT_LATER = { ...SHORT, 'delete.retention.ms': '1000', 'min.compaction.lag.ms': '0' };
/** The bound is a few seconds; a busy machine may need longer. */
const GONE_WITHIN_MS = 90_000;

const kafka = await startOwnKafka({ ...EAGER_CLEANER, 'log.segment.delete.delay.ms': 100 }, 1);
afterAll(() => kafka[Symbol.asyncDispose]());

/** Of a text on disk, by the last parts of the names. */
async function topicsHolding(text: string, { topicPrefix }: Mirror): Promise<string[]> {
  const found = await kafka.topicsHolding(text);
  return found.flatMap((name) =>
    name.startsWith(topicPrefix) ? [name.slice(`${topicPrefix}.north.`.length)] : [],
  );
}

async function shorten(
  mirror: Mirror,
  names: readonly string[],
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  for (const name of names)
    await alterTopic(mirror.topic(name), (settings) => ({ ...settings, ...wanted }), kafka.brokers);
}

/** Runs the tenant as a process does, which lets Kafka close segments. */
async function whileRunning(mirror: Mirror, work: (session: TenantSession) => Promise<void>): Promise<void> {
  await using run = mirror.run();
  await work(await vi.waitUntil(() => run.tenant.session));
}

/** Each partition is made dirty in each interval, and the cleaner takes the largest last: it must get to all of them. */
const settings = () => ({ kafka: { brokers: kafka.brokers, replicationFactor: 1, partitions: 2 } });

it('data of a person who left the hub leaves the raw log within the bound, even in idle partitions', async () => {
  await using mirror = await openScheduleMirror({
    students: 'all',
    collections: COLLECTIONS,
    settings: { ...settings(), deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
  });
  const { district } = mirror.hub;
  const [student = ''] = district.ids('students');
  // Within the window, so that the student is in the list of the absent.
  const { from } = mirror.window();
  district.registerAbsence({ student, fromTime: `${from}T08:00:00Z`, toTime: `${from}T09:00:00Z` });
  // It has no readable sourcedId, so the row is kept as a whole in rejects.
  district.put('enrollments', { sourcedId: 42, user: { sourcedId: student } }, { id: 'unreadable' });
  await mirror.full();
  const all = [...COLLECTIONS, 'absence-state', 'rejects', 'progress'];
  await shorten(
    mirror,
    all.filter((name) => name !== 'absence-changes'),
    SHORT,
  );
  await whileRunning(mirror, async ({ runners }) => {
    await shorten(mirror, all, SHORT_LATER);
    const holding = all.filter((name) => name !== 'classes' && name !== 'progress');
    expect(await topicsHolding(student, mirror)).toEqual(holding.sort());
    for (const collection of ['users', 'enrollments', 'absence-versions'] as const)
      for (const id of district.ids(collection))
        if (JSON.stringify(district.get(collection, id) ?? {}).includes(student))
          district.remove(collection, id);
    district.remove('enrollments', 'unreadable');
    for (const names of [OF_PEOPLE, OF_MEMBERS])
      for (let times = 0; times < 2; times += 1)
        await Promise.all(names.map(async (name) => runners.get(name)?.request('FULL')));
    await vi.waitFor(async () => expect(await topicsHolding(student, mirror)).toEqual([]), GONE_WITHIN_MS);
  });
});

it('values that a new mapping drops or pseudonymises leave Redis, and within the bound also the raw log', async () => {
  const options = {
    hubOptions: { students: 12, startMs: Date.now() },
    settings: { ...settings(), pseudonymise: { key: 'a key of sixteen or more' } },
  };
  const mapped = (mapping: Record<string, unknown>) =>
    only({ 'absence-versions': mapping, absences: {}, 'absence-changes': {} });
  await using mirror = await openMirror({ ...options, collections: mapped({}) });
  const { district } = mirror.hub;
  const [student = ''] = district.ids('students');
  const [fromTime = '', toTime = ''] = [2, 1].map((days) =>
    new Date(Date.now() - days * DAY_MS).toISOString(),
  );
  // Absences of these days are known by student, too.
  const id = district.registerAbsence({ student, fromTime, toTime });
  const schools = district.get('absence-versions', id)?.['school'] as
    | readonly { sourcedId: string }[]
    | undefined;
  const school = schools?.[0]?.sourcedId ?? '';
  await mirror.full();
  const holding = (): Promise<string[][]> =>
    Promise.all([student, school].map((text) => topicsHolding(text, mirror)));
  const chains = ['absence-changes', 'absence-versions', 'absences'];
  expect(await holding()).toEqual([[...chains, 'absence-state'].sort(), chains]);
  expect(await redisHolds(mirror, student)).toBe(true);
  await shorten(mirror, ['absence-versions', 'absences', 'absence-state', 'progress'], SHORT);
  const { hub, topicPrefix } = mirror;
  const collections = mapped({ pseudonymise: ['student'], drop: ['school'] });
  await using masked = await openMirror({ ...options, hub, topicPrefix, collections });
  await masked.full();
  await whileRunning(masked, async (session) => {
    await shorten(masked, [...chains, 'absence-state', 'progress'], SHORT_LATER);
    await REPUBLISH.handle(
      { collection: 'absence-changes', keys: [] },
      {
        tenant: masked.parts,
        ...session,
        sync: () => Promise.reject(new Error('no sync is wanted')),
        report: () => Promise.resolve(),
        signal: new AbortController().signal,
      },
    );
    await vi.waitFor(async () => expect(await holding()).toEqual([[], []]), GONE_WITHIN_MS);
  });
  expect(await redisHolds(masked, student)).toBe(false);
});
