import { Redis } from 'ioredis';
import { expect, inject, it } from 'vitest';
import { endOffsets, withAdmin } from '../support/stack-kafka.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub } from '../support/mirror.ts';
import { startProcess, type Ended } from '../support/running.ts';
import { rollcall } from './support/rollcall.ts';

const CHAINS = ['absence-versions', 'absences', 'absence-changes'];
const ALL = ['orgs', 'courses', 'afterschool-users', ...CHAINS];

it('topics left over from a configuration stay until they are purged, and can be mirrored again', async () => {
  await using hub = await startTestHub({ size: { studentsPerSchool: 15, absencesPerStudentYear: 4 } });
  const topicPrefix = newTopicPrefix();
  const [one = '', two = ''] = hub.district.afterschoolIds();
  const topicOf = (name: string): string => `${topicPrefix}.north.${name}`;
  const unwanted = ['absence-changes', 'absence-state', 'absence-versions', 'absences', 'courses'].map(
    topicOf,
  );
  const wanted = ['afterschool-users', 'orgs', 'progress', 'rejects'].map(topicOf);
  const mirrored = () => openMirror({ hub, topicPrefix, collections: ALL, afterschools: [one, two] });
  const less = configTextOf(hub, topicPrefix, {
    collections: ['orgs', 'afterschool-users'],
    afterschools: [one],
  });
  const purge = (...args: string[]): Promise<Ended> => rollcall(less, 'topics', 'purge', ...args);
  async function topics(): Promise<string[]> {
    const all = await withAdmin((admin) => admin.listTopics());
    return all.filter((topic) => topic.startsWith(`${topicPrefix}.`)).toSorted();
  }
  async function redisKeys(collection: string): Promise<string[]> {
    const redis = new Redis(inject('stack').redisUrl);
    const keys = await redis.keys(`{${topicPrefix}:${topicPrefix}:north}:${collection}:*`);
    redis.disconnect();
    return keys;
  }
  {
    await using mirror = await mirrored();
    hub.faults.set('malformed-rows=0.2@courses');
    await mirror.full();
    hub.faults.clear();
  }
  const list = await rollcall(less, 'topics', 'list', '--json');
  const found = list.json<{ topic: string; notConfigured: string | null }[]>();
  const left = found.flatMap(({ topic, notConfigured }) => (notConfigured === null ? [] : [topic]));
  expect(left.toSorted()).toEqual(unwanted);
  const before = await endOffsets(await topics());
  const asked = await purge(topicOf('courses'));
  expect([asked.code, asked.stdout]).toEqual([3, expect.stringContaining(topicOf('courses'))]);
  for (const names of [[topicOf('courses'), topicOf('orgs')], [topicOf('rejects')], ['courses']])
    expect((await purge(...names, '--yes')).code).toBe(2);
  expect(await endOffsets(await topics())).toEqual(before);
  expect(await redisKeys('courses')).not.toEqual([]);

  const killed = startProcess(less, 'topics', 'purge', ...unwanted, '--yes');
  await killed.says('deleting');
  killed.kill('SIGKILL');
  await killed.ended;
  const gone = await purge(...unwanted, '--yes');
  expect([gone.code, gone.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
  expect(await topics()).toEqual(wanted);
  const subjects = (await (await fetch(`${inject('stack').registryUrl}/subjects`)).json()) as string[];
  expect(subjects).not.toContain(`${topicOf('courses')}-value`);
  expect(await redisKeys('courses')).toEqual([]);
  expect((await purge(topicOf('courses'), '--yes')).code).toBe(0);
  expect((await rollcall(less, 'topics', 'list')).stdout).not.toContain('courses');

  {
    await using mirror = await mirrored();
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
    const snapshots = (await mirror.records('absence-changes')).map(({ value }) => value?.['snapshot']);
    expect(new Set(snapshots)).toEqual(new Set([true]));
    const types = (await mirror.records('courses')).map(({ headers }) => headers['ce_type']);
    expect(new Set(types)).toEqual(new Set(['rollcall.courses.created']));
  }

  // Under an earlier topic prefix all of them can be purged, down to the index.
  const redis = { url: inject('stack').redisUrl, keyPrefix: topicPrefix };
  const later = configTextOf(hub, newTopicPrefix(), { collections: ['orgs'], settings: { redis } });
  const all = await rollcall(later, 'topics', 'purge', ...(await topics()), '--yes');
  expect([all.code, all.stdout]).toEqual([0, expect.stringContaining('deleted')]);
  expect([await topics(), await redisKeys('*')]).toEqual([[], []]);
});
