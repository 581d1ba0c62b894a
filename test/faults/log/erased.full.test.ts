import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import kafkajs, { Kafka, logLevel } from 'kafkajs';
import type { CollectionName } from '../../../src/model/collections.ts';
import { REPUBLISH } from '../../../src/owner/republish.ts';
import { TenantRun } from '../../../src/worker/worker.ts';
import type { TenantSession } from '../../../src/session/open-session.ts';
import { settingsOf } from '../../integration/pipeline/recreate-topic.ts';
import { redisHolds } from '../../integration/pipeline/redis-copy.ts';
import { openScheduleMirror } from '../../integration/pipeline/schedule-mirror.ts';
import { openMirror, type Mirror } from '../../integration/support/mirror.ts';
import { only } from '../../integration/support/only.ts';
import { EAGER_CLEANER } from '../support/compaction.ts';
import { startOwnKafka, type OwnKafka } from '../support/own-kafka.ts';

// kafkajs is CommonJS, and Node finds only some of its names.
const { ConfigResourceTypes } = kafkajs;

const COLLECTIONS = [
  'users',
  'students',
  'classes',
  'enrollments',
  'class-students',
  'schedules',
  'absence-versions',
  'absences',
  'absence-changes',
] as const;
const HOLDING = [...COLLECTIONS.filter((name) => name !== 'classes'), 'absence-state', 'rejects'];
const DAY_MS = 24 * 3_600_000;
const INTERVAL_MS = 1_000;
/** A topic may differ from the contract in these to begin with. */
const SHORT = { 'segment.ms': String(INTERVAL_MS), 'max.compaction.lag.ms': String(INTERVAL_MS) };
/** It may differ in these only after the process has checked its topics. */
const SHORT_LATER = { ...SHORT, 'delete.retention.ms': '1000', 'min.compaction.lag.ms': '0' };
/** The bound is a few seconds; a busy machine may need longer. */
const GONE_WITHIN_MS = 90_000;

/** Each is made dirty in each interval, and the cleaner takes the largest last: it must get to all of them. */
const PARTITIONS = 2;

let kafka: OwnKafka;
beforeAll(async () => {
  kafka = await startOwnKafka({ ...EAGER_CLEANER, 'log.segment.delete.delay.ms': 100 });
});
afterAll(() => kafka?.[Symbol.asyncDispose]());

async function setTopics(mirror: Mirror, names: readonly string[], wanted: object): Promise<void> {
  const admin = new Kafka({ brokers: kafka.brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  for (const name of names.map((suffix) => mirror.topic(suffix))) {
    const settings = Object.fromEntries(
      (await settingsOf(admin, name)).map((each) => [each.name, each.value]),
    );
    const configEntries = Object.entries({ ...settings, ...wanted }).map(([key, value]) => ({
      name: key,
      value,
    }));
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name, configEntries }],
    });
  }
  await admin.disconnect();
}

/** Removes everything that the hub has about a student. */
function removePerson({ hub }: Mirror, id: string): void {
  const { district } = hub;
  const isOf = (row: object | undefined): boolean => JSON.stringify(row ?? {}).includes(id);
  for (const collection of ['users', 'enrollments', 'absence-versions'] as const) {
    for (const row of district.ids(collection)) {
      if (isOf(district.get(collection, row))) district.remove(collection, row);
    }
  }
  district.remove('enrollments', 'odd');
  district.remove('students', id);
}

interface Running extends AsyncDisposable {
  readonly session: Promise<TenantSession>;
}

/** Runs the tenant as a process does, which lets Kafka close segments. */
function runUntilDisposed(mirror: Mirror): Running {
  const stop = new AbortController();
  const opened = Promise.withResolvers<TenantSession>();
  const { parts } = mirror;
  const run = new TenantRun({
    ...parts,
    emit(event) {
      parts.emit(event);
      if (event.type === 'session-opened' && run.session !== null) opened.resolve(run.session);
    },
  });
  const ended = run.mirror(stop.signal);
  return {
    session: opened.promise,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

it('a person removed from partitions that then stay idle is gone from the raw log within the bound', async () => {
  const { brokers } = kafka;
  await using mirror = await openScheduleMirror({
    students: 'all',
    collections: only(Object.fromEntries(COLLECTIONS.map((name) => [name, {}]))),
    settings: {
      kafka: { brokers, partitions: PARTITIONS },
      deletions: { withholdAbove: { rows: 10_000, ratio: 1 } },
    },
  });
  const { district } = mirror.hub;
  const [student = ''] = district.ids('students');
  // Within the window, so that the student is in the list of the absent.
  const { from } = mirror.window();
  district.registerAbsence({ student, fromTime: `${from}T08:00:00Z`, toTime: `${from}T09:00:00Z` });
  // It has no readable sourcedId, so the row is kept as a whole in rejects.
  district.put('enrollments', { sourcedId: 42, user: { sourcedId: student } }, { id: 'odd' });
  await mirror.full();
  await setTopics(
    mirror,
    [...COLLECTIONS.filter((name) => name !== 'absence-changes'), 'absence-state', 'rejects', 'progress'],
    SHORT,
  );

  await using running = runUntilDisposed(mirror);
  const session = await running.session;
  await setTopics(mirror, [...COLLECTIONS, 'absence-state', 'rejects', 'progress'], SHORT_LATER);
  const holding = (): Promise<string[]> => kafka.topicsHolding(student);
  expect(await holding()).toEqual(HOLDING.map((name) => mirror.topic(name)).sort());
  removePerson(mirror, student);
  for (const names of [
    ['users', 'students', 'enrollments', 'absence-versions'],
    ['class-students', 'schedules'],
  ]) {
    const request = async (name: string): Promise<void> => {
      const runner = session.runners.get(name as CollectionName);
      await runner?.request('FULL');
      await runner?.request('FULL');
    };
    await Promise.all(names.map(request));
  }
  await vi.waitFor(async () => expect(await holding()).toEqual([]), {
    timeout: GONE_WITHIN_MS,
    interval: 200,
  });
});

it('what a new mapping drops or pseudonymises is gone from the raw log within the bound, and from Redis', async () => {
  const chains = ['absence-versions', 'absences', 'absence-changes'] as const;
  const topics = [...chains, 'absence-state'];
  const options = {
    hubOptions: { students: 12, startMs: Date.now() },
    settings: {
      kafka: { brokers: kafka.brokers, partitions: PARTITIONS },
      pseudonymise: { key: 'a key of sixteen or more' },
    },
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
  const absence = district.registerAbsence({ student, fromTime, toTime });
  const row = district.get('absence-versions', absence) as unknown as {
    school: readonly { sourcedId: string }[];
  };
  const school = row.school[0]?.sourcedId ?? '';
  await mirror.full();
  const holding = async (text: string): Promise<string[]> => {
    const found = await kafka.topicsHolding(text);
    return found.filter((topic) => topic.startsWith(mirror.topicPrefix));
  };
  expect(await holding(student)).toEqual(topics.map((name) => mirror.topic(name)).sort());
  expect(await holding(school)).toEqual(chains.map((name) => mirror.topic(name)).sort());
  expect(await redisHolds(mirror, student)).toBe(true);
  await setTopics(mirror, ['absence-versions', 'absences', 'absence-state', 'progress'], SHORT);

  await using masked = await openMirror({
    ...options,
    hub: mirror.hub,
    topicPrefix: mirror.topicPrefix,
    collections: mapped({ pseudonymise: ['student'], drop: ['school'] }),
  });
  await masked.full();
  await using running = runUntilDisposed(masked);
  const session = await running.session;
  await setTopics(masked, [...topics, 'progress'], SHORT_LATER);
  const { signal } = new AbortController();
  const sync = () => Promise.reject(new Error('no sync is wanted'));
  const report = () => Promise.resolve();
  await REPUBLISH.handle(
    { collection: 'absence-changes', keys: [] },
    { tenant: masked.parts, ...session, sync, report, signal },
  );
  await vi.waitFor(
    async () => {
      expect(await holding(student)).toEqual([]);
      expect(await holding(school)).toEqual([]);
    },
    { timeout: GONE_WITHIN_MS, interval: 200 },
  );
  expect(await redisHolds(masked, student)).toBe(false);
});
