import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Admin } from 'kafkajs';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { deleteTopicsOf, withAdmin } from '../pipeline/kafka-admin.ts';
import { setTopicSettings } from '../pipeline/recreate-topic.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type MirrorOptions,
} from '../support/mirror.ts';
import { chainProblems, loggedChanges } from '../support/chain-oracle.ts';
import { readTopics } from '../support/topic-reader.ts';
import { configFile } from './support/config-file.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

const ABSENCES = ['absence-versions', 'absences', 'absence-changes'] as const;
const collections = ['orgs', 'users', ...ABSENCES];
const TOPICS = [...collections, 'rejects'];

let hub: ReferenceHub;
beforeAll(async () => {
  hub = await startTestHub({ size: { studentsPerSchool: 15, absencesPerStudentYear: 4 } });
  hub.district.put('orgs', { sourcedId: 42 }, { id: 'odd' });
});
afterAll(() => hub.stop());

type Break = (admin: Admin, topicOf: (suffix: string) => string) => Promise<unknown>;

function addPartitions(...suffixes: string[]): Break {
  return async (admin, topicOf) => {
    const topicPartitions = suffixes.map((suffix) => ({ topic: topicOf(suffix), count: 6 }));
    await admin.createPartitions({ topicPartitions });
    await vi.waitFor(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: suffixes.map(topicOf) });
      expect(topics.map(({ partitions }) => partitions.length)).toEqual(suffixes.map(() => 6));
    }, 10_000);
  };
}

interface Situation {
  readonly what: string;
  /** What somebody does to the topics while no process runs. */
  readonly breaks: Break;
  /** `kafka.partitions` afterwards; left out: as before. */
  readonly partitions?: Readonly<Record<string, number>>;
  /** Whether it can be set back. */
  readonly isOfConfiguration?: true;
  readonly says: string;
  /** The commands of the remedy. */
  readonly remedies: readonly string[];
  /** The topics that the remedy begins anew. */
  readonly anew: readonly string[];
}

const SITUATIONS: readonly Situation[] = [
  {
    what: 'a setting',
    breaks: (_, topicOf) => setTopicSettings(topicOf('users'), { 'cleanup.policy': 'delete' }),
    says: 'cleanup.policy is delete',
    remedies: ['rollcall topics apply'],
    anew: [],
  },
  {
    what: 'a number of partitions',
    breaks: addPartitions('users', 'orgs'),
    says: 'it has 6 partitions, the configuration says 3',
    remedies: ['rollcall topics recreate orgs users --tenant north --yes'],
    anew: ['orgs', 'users'],
  },
  {
    what: 'a number of partitions, and the configuration in its wake',
    breaks: addPartitions('users'),
    partitions: { default: 3, users: 6 },
    says: 'it has 6 partitions, its records were written to 3',
    remedies: ['rollcall topics recreate users --tenant north --yes'],
    anew: ['users'],
  },
  {
    what: 'a configured number of partitions',
    breaks: () => Promise.resolve(),
    partitions: { default: 3, users: 5 },
    isOfConfiguration: true,
    says: 'it has 3 partitions, the configuration says 5',
    remedies: ['rollcall topics recreate users --tenant north --yes'],
    anew: ['users'],
  },
  {
    what: 'a configured number of partitions to a smaller one',
    breaks: () => Promise.resolve(),
    partitions: { default: 3, users: 2 },
    isOfConfiguration: true,
    says: 'it has 3 partitions, the configuration says 2',
    remedies: ['rollcall topics recreate users --tenant north --yes'],
    anew: ['users'],
  },
  {
    what: 'a setting of one topic and the number of partitions of another',
    breaks: async (admin, topicOf) => {
      await addPartitions('absences')(admin, topicOf);
      await setTopicSettings(topicOf('users'), { 'cleanup.policy': 'delete' });
    },
    says: 'absences: it has 6 partitions, the configuration says 3',
    remedies: ['rollcall topics apply', 'rollcall topics recreate absence-versions --tenant north --yes'],
    anew: ABSENCES,
  },
  {
    what: 'the number of partitions of progress and rejects',
    breaks: addPartitions('progress', 'rejects'),
    says: 'progress: it has 6 partitions, the configuration says 1',
    remedies: ['rollcall topics recreate rejects progress --tenant north --yes'],
    anew: ['rejects'],
  },
  {
    what: 'the number of partitions of the changelog of absences',
    breaks: addPartitions('absence-state'),
    says: 'absence-state: it has 6 partitions, the configuration says 3',
    remedies: ['rollcall topics recreate absence-state --tenant north --yes'],
    anew: [],
  },
];

describe('somebody has changed', () => {
  it.each(SITUATIONS)(
    '$what: the start is refused, and its remedy restores a copy that is right',
    async (situation) => {
      const topicPrefix = newTopicPrefix();
      const topicOf = (suffix: string): string => `${topicPrefix}.north.${suffix}`;
      const { partitions } = situation;
      const before: MirrorOptions = { hub, topicPrefix, collections };
      const after = { ...before, settings: { kafka: partitions === undefined ? {} : { partitions } } };
      try {
        await loadOnce(before);
        await withAdmin((admin) => situation.breaks(admin, topicOf));
        using config = configFile(
          configTextOf(hub, topicPrefix, { ...after, settings: { ...after.settings, http: { port: 0 } } }),
        );
        const refused = await rollcall(config.path, 'run');
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(situation.says)]);
        expect(commandsIn(refused.stderr)).toEqual(situation.remedies);
        const known = await recordsOf(TOPICS.map(topicOf));
        // the other remedy of a changed configuration
        if (situation.isOfConfiguration === true) await loadOnce(before);
        for (const command of commandsIn(refused.stderr)) {
          const [, ...args] = command.split(' ');
          const followed = await rollcall(config.path, ...args);
          if (args[1] === 'recreate')
            expect([followed.code, followed.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
        }
        await loadOnce(after);
        await using mirror = await openMirror(after);
        expect(await mirror.differences('users', 'absence-versions')).toEqual({});
        for (const suffix of TOPICS) {
          const topic = topicOf(suffix);
          const records = await recordsOf([topic]);
          expect([suffix, keysInTwoPartitions(records)]).toEqual([suffix, []]);
          expect(records.length).toBeGreaterThan(0);
          if (!situation.anew.includes(suffix))
            expect(records.length).toBe(known.filter((record) => record.topic === topic).length);
        }
        const absences = await mirror.records('absences');
        const changes = await mirror.records('absence-changes');
        expect(chainProblems({ hub, absences, changes })).toEqual([]);
        expect(loggedChanges(changes).filter(({ snapshot }) => !snapshot)).toEqual([]);
      } finally {
        await deleteTopicsOf(topicPrefix);
      }
    },
  );
});

describe('topics recreate', () => {
  it('changes nothing without --yes, while a process owns the tenant, or for a topic that is not configured', async () => {
    const topicPrefix = newTopicPrefix();
    const options: MirrorOptions = {
      hub,
      topicPrefix,
      collections: ['users'],
      settings: { http: { port: 0 } },
    };
    try {
      await loadOnce(options);
      using config = configFile(configTextOf(hub, topicPrefix, options));
      const recreate = (...args: string[]) => rollcall(config.path, 'topics', 'recreate', ...args);
      const before = await recordsOf([`${topicPrefix}.north.users`]);
      expect(await recreate('users')).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('north.users'),
      });
      expect(await recreate('orgs', '--yes')).toMatchObject({ code: 2 });
      const running = startRollcall(config.path, ['run']);
      await running.says('mirroring');
      const refused = await recreate('users', '--yes');
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('runs tenant north')]);
      running.kill('SIGTERM');
      await running.ended;
      expect(await recordsOf([`${topicPrefix}.north.users`])).toEqual(before);
    } finally {
      await deleteTopicsOf(topicPrefix);
    }
  });
});

async function loadOnce(options: MirrorOptions): Promise<void> {
  await using mirror = await openMirror(options);
  await mirror.full();
}

/** The commands that a remedy names. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/"(rollcall [^"]+)"/g)].map(([, command = '']) => command);
}

async function recordsOf(topics: readonly string[]) {
  const records = await readTopics(topics);
  return records.map(({ topic, partition, key }) => ({ topic, partition, key }));
}

function keysInTwoPartitions(records: readonly { partition: number; key: string }[]): string[] {
  const partitions = Map.groupBy(records, ({ key }) => key);
  return [...partitions].flatMap(([key, all]) =>
    new Set(all.map(({ partition }) => partition)).size === 1 ? [] : [key],
  );
}
