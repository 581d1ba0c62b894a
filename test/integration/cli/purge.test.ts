import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { deleteTopicsOf, withAdmin } from '../pipeline/kafka-admin.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub } from '../support/mirror.ts';
import { endOffsets } from '../support/topic-reader.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { rollcall, startProcess, type Ended } from './support/rollcall.ts';

const CHAINS = ['absence-versions', 'absences', 'absence-changes'];
const ALL = ['orgs', 'courses', 'afterschool-users', ...CHAINS];

let hub: ReferenceHub;
let one: string;
let two: string;
let topicPrefix: string;
let config: string;
beforeAll(async () => {
  hub = await startTestHub({ size: { studentsPerSchool: 15, absencesPerStudentYear: 4 } });
  [one = '', two = ''] = hub.district.afterschoolIds();
});
afterAll(() => hub.stop());

const mirrored = () => openMirror({ hub, topicPrefix, collections: ALL, afterschools: [one, two] });

/** All is mirrored into topics of a new prefix, some rows of courses cannot be read, and less is wanted now. */
beforeEach(async () => {
  topicPrefix = newTopicPrefix();
  await using mirror = await mirrored();
  hub.faults.set('malformed-rows=0.2@courses');
  await mirror.full();
  hub.faults.clear();
  const collections = ['orgs', 'afterschool-users'];
  config = configTextOf(hub, topicPrefix, {
    collections,
    afterschools: [one],
    settings: { http: { port: 0 } },
  });
});
afterEach(() => deleteTopicsOf(topicPrefix));

const topicOf = (name: string): string => `${topicPrefix}.north.${name}`;
const purge = (...args: string[]): Promise<Ended> => rollcall(config, 'topics', 'purge', ...args);
const unwanted = () => ['absence-changes', 'absence-state', ...CHAINS.slice(0, 2), 'courses'].map(topicOf);

async function topics(): Promise<string[]> {
  const all = await withAdmin((admin) => admin.listTopics());
  return all.filter((topic) => topic.startsWith(`${topicPrefix}.`)).toSorted();
}

async function redisKeys(collection: string): Promise<string[]> {
  const redis = new Redis(inject('stack').redisUrl);
  const keys = await redis.keys(`{${topicPrefix}:${topicPrefix}:north:${collection}}*`);
  redis.disconnect();
  return keys;
}

describe('data that the configuration no longer wants', () => {
  it('is shown by topics list, stays without a confirmation, and is purged only by the names of its topics', async () => {
    const list = await rollcall(config, 'topics', 'list', '--json');
    const found = list.json<{ topic: string; notConfigured: string | null }[]>();
    const notConfigured = found.filter((each) => each.notConfigured !== null);
    expect(notConfigured.map(({ topic }) => topic).toSorted()).toEqual(unwanted().toSorted());
    const before = await endOffsets(await topics());
    const asked = await purge(topicOf('courses'));
    expect([asked.code, asked.stdout]).toEqual([3, expect.stringContaining(topicOf('courses'))]);
    for (const names of [[topicOf('courses'), topicOf('orgs')], [topicOf('rejects')], ['courses']])
      expect((await purge(...names, '--yes')).code).toBe(2);
    expect(await endOffsets(await topics())).toEqual(before);
    expect(await redisKeys('courses')).not.toEqual([]);
    const gone = await purge(...unwanted(), '--yes');
    expect([gone.code, gone.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
    expect(await topics()).toEqual(['afterschool-users', 'orgs', 'progress', 'rejects'].map(topicOf));
    const subjects = (await (await fetch(`${inject('stack').registryUrl}/subjects`)).json()) as string[];
    expect(subjects).not.toContain(`${topicOf('courses')}-value`);
    expect(await redisKeys('courses')).toEqual([]);
    expect((await purge(topicOf('courses'), '--yes')).code).toBe(0);
    expect((await rollcall(config, 'topics', 'list')).stdout).not.toContain('courses');
  });

  it('is purged by a second purge after the first was killed, and is published again when it is wanted again', async () => {
    const killed = startProcess(config, 'topics', 'purge', ...unwanted(), '--yes');
    await killed.says('deleting');
    killed.kill('SIGKILL');
    await killed.ended;
    expect((await purge(...unwanted(), '--yes')).code).toBe(0);
    expect((await topics()).filter((topic) => /courses|absence/.test(topic))).toEqual([]);
    await using mirror = await mirrored();
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
    const snapshots = (await mirror.records('absence-changes')).map(({ value }) => value?.['snapshot']);
    expect(new Set(snapshots)).toEqual(new Set([true]));
    const types = (await mirror.records('courses')).map(({ headers }) => headers['ce_type']);
    expect(new Set(types)).toEqual(new Set(['rollcall.courses.created']));
  });

  it('is purged down to the index under an earlier topic prefix', async () => {
    const redis = { url: inject('stack').redisUrl, keyPrefix: topicPrefix };
    config = configTextOf(hub, newTopicPrefix(), { collections: ['orgs'], settings: { redis } });
    const gone = await purge(...(await topics()), '--yes');
    expect([gone.code, gone.stdout]).toEqual([0, expect.stringContaining('deleted')]);
    expect(await topics()).toEqual([]);
    expect(await redisKeys('*')).toEqual([]);
  });
});
