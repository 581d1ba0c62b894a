import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { configTextOf, newTopicPrefix, openMirror, startTestHub } from '../support/mirror.ts';
import { endOffsets } from '../support/topic-reader.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { configFile } from './support/config-file.ts';
import { connectAdmin } from './support/connect-admin.ts';
import { rollcall, startRollcall, type Ended } from './support/rollcall.ts';

const ALL = ['orgs', 'courses', 'afterschool-users', 'absence-versions', 'absences', 'absence-changes'];
const CHAINS = ['absence-versions', 'absences', 'absence-changes'];

let hub: ReferenceHub;
let one: string;
let two: string;
beforeAll(async () => {
  hub = await startTestHub({ size: { studentsPerSchool: 15, absencesPerStudentYear: 4 } });
  [one = '', two = ''] = hub.district.afterschoolIds();
});
afterAll(() => hub.stop());

/** Mirrors everything into topics of a new prefix, and ends; some rows of courses cannot be read. */
async function mirrored(): Promise<string> {
  const topicPrefix = newTopicPrefix();
  await using mirror = await openMirror({ hub, topicPrefix, collections: ALL, afterschools: [one, two] });
  hub.faults.set('malformed-rows=0.2@courses');
  await mirror.full();
  hub.faults.clear();
  return topicPrefix;
}

function configOf(topicPrefix: string, collections: readonly string[], afterschools: readonly string[] = []) {
  return configFile(
    configTextOf(hub, topicPrefix, { collections, afterschools, settings: { http: { port: 0 } } }),
  );
}

const purge = (path: string, ...args: string[]): Promise<Ended> => rollcall(path, 'topics', 'purge', ...args);

async function topicsOf(topicPrefix: string): Promise<string[]> {
  const admin = await connectAdmin();
  const topics = await admin.listTopics();
  await admin.disconnect();
  return topics.filter((topic) => topic.startsWith(`${topicPrefix}.`)).toSorted();
}

async function redisKeys(pattern: string): Promise<string[]> {
  const redis = new Redis(inject('stack').redisUrl);
  const keys = await redis.keys(pattern);
  redis.disconnect();
  return keys;
}

async function deleteAll(topicPrefix: string): Promise<void> {
  const admin = await connectAdmin();
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`));
  if (topics.length > 0) await admin.deleteTopics({ topics });
  await admin.disconnect();
}

async function subjects(topicPrefix: string): Promise<string[]> {
  const response = await fetch(`${inject('stack').registryUrl}/subjects`);
  return ((await response.json()) as string[]).filter((each) => each.startsWith(`${topicPrefix}.`));
}

describe('data that the configuration no longer wants', () => {
  it('is shown by topics list, stays without a confirmation, and is purged only by the names of its topics', async () => {
    const topicPrefix = await mirrored();
    const topicOf = (name: string): string => `${topicPrefix}.north.${name}`;
    try {
      using config = configOf(topicPrefix, ['orgs', 'afterschool-users'], [one]);
      const listed = JSON.parse((await rollcall(config.path, 'topics', 'list', '--json')).stdout) as {
        topic: string;
        notConfigured: string | null;
      }[];
      const unwanted = listed.flatMap(({ topic, notConfigured }) => (notConfigured === null ? [] : [topic]));
      expect(unwanted).toEqual(['courses', ...CHAINS, 'absence-state'].map(topicOf).toSorted());
      const before = await endOffsets(await topicsOf(topicPrefix));
      const asked = await purge(config.path, topicOf('courses'));
      expect([asked.code, asked.stdout]).toEqual([3, expect.stringContaining(topicOf('courses'))]);
      expect((await purge(config.path, topicOf('courses'), topicOf('orgs'), '--yes')).code).toBe(2);
      expect((await purge(config.path, topicOf('rejects'), '--yes')).code).toBe(2);
      expect((await purge(config.path, 'courses', '--yes')).code).toBe(2);
      expect(await endOffsets(await topicsOf(topicPrefix))).toEqual(before);
      const gone = await purge(config.path, ...unwanted, '--yes');
      expect([gone.code, gone.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
      expect(await topicsOf(topicPrefix)).toEqual(
        ['afterschool-users', 'orgs', 'progress', 'rejects'].map(topicOf),
      );
      expect(await subjects(topicPrefix)).not.toContain(`${topicOf('courses')}-value`);
      expect(await redisKeys(`{${topicPrefix}:${topicPrefix}:north:courses}*`)).toEqual([]);
      expect((await purge(config.path, topicOf('courses'), '--yes')).code).toBe(0);
      expect((await rollcall(config.path, 'topics', 'list')).stdout).not.toContain('courses');
    } finally {
      await deleteAll(topicPrefix);
    }
  });

  it('is not purged while a process runs for its tenant', async () => {
    const topicPrefix = await mirrored();
    try {
      using config = configOf(topicPrefix, ['orgs', 'afterschool-users'], [one]);
      const running = startRollcall(config.path, ['run']);
      await running.says('mirroring');
      const refused = await purge(config.path, `${topicPrefix}.north.courses`, '--yes');
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('runs tenant north')]);
      expect(await topicsOf(topicPrefix)).toContain(`${topicPrefix}.north.courses`);
      running.kill('SIGTERM');
      await running.ended;
    } finally {
      await deleteAll(topicPrefix);
    }
  });

  it('is purged by a second purge after the first was killed, and is published again when it is wanted again', async () => {
    const topicPrefix = await mirrored();
    try {
      using config = configOf(topicPrefix, ['orgs']);
      const names = ['courses', ...CHAINS, 'absence-state'].map((each) => `${topicPrefix}.north.${each}`);
      const words = ['topics', 'purge', ...names, '--yes'];
      const killed = startRollcall(config.path, words);
      await killed.says('deleting');
      killed.kill('SIGKILL');
      await killed.ended;
      expect((await rollcall(config.path, ...words)).code).toBe(0);
      const left = await topicsOf(topicPrefix);
      expect(left.filter((topic) => /courses|absence/.test(topic))).toEqual([]);
      const afterschools = [one, two];
      await using mirror = await openMirror({ hub, topicPrefix, collections: ALL, afterschools });
      await mirror.full();
      expect(await mirror.differences()).toEqual({});
      const changes = await mirror.records('absence-changes');
      expect(changes.length).toBeGreaterThan(0);
      expect(changes.filter(({ value }) => value?.['snapshot'] !== true)).toEqual([]);
      const types = (await mirror.records('courses')).map(({ headers }) => headers['ce_type']);
      expect(new Set(types)).toEqual(new Set(['rollcall.courses.created']));
    } finally {
      await deleteAll(topicPrefix);
    }
  });

  it('is purged down to the index under an earlier topic prefix', async () => {
    const topicPrefix = await mirrored();
    try {
      using config = configFile(
        configTextOf(hub, newTopicPrefix(), { collections: ['orgs'] }).replaceAll(
          /"keyPrefix":"[^"]+"/g,
          `"keyPrefix":"${topicPrefix}"`,
        ),
      );
      const topics = await topicsOf(topicPrefix);
      expect((await redisKeys(`{${topicPrefix}:${topicPrefix}:north*`)).length).toBeGreaterThan(0);
      const gone = await purge(config.path, ...topics, '--yes');
      expect([gone.code, gone.stdout]).toEqual([0, expect.stringContaining('deleted')]);
      expect(await topicsOf(topicPrefix)).toEqual([]);
      expect(await redisKeys(`{${topicPrefix}:${topicPrefix}:north:*`)).toEqual([]);
    } finally {
      await deleteAll(topicPrefix);
    }
  });
});
