import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Admin } from 'kafkajs';
import {
  deleteTopicsOf,
  readTopics,
  settingsOf,
  setTopicSettings,
  withAdmin,
} from '../support/stack-kafka.ts';
import {
  configTextOf,
  newTopicPrefix,
  openMirror,
  startTestHub,
  type MirrorOptions,
} from '../support/mirror.ts';
import { chainProblems, loggedChanges } from '../../oracle/absences.ts';
import { ending, rollcall, startOwner } from './support/rollcall.ts';

const ABSENCES = ['absence-versions', 'absences', 'absence-changes'] as const;
const collections = ['orgs', 'users', ...ABSENCES];
const TOPICS = [...collections, 'rejects'];

const hub = await startTestHub({ size: { studentsPerSchool: 15, absencesPerStudentYear: 4 } });
afterAll(() => hub.stop());
hub.district.put('orgs', { sourcedId: 42 }, { id: 'unreadable' });

function addPartitions(...suffixes: string[]) {
  return async (admin: Admin): Promise<void> => {
    const topicPartitions = suffixes.map((suffix) => ({ topic: topicOf(suffix), count: 6 }));
    await admin.createPartitions({ topicPartitions });
    await vi.waitFor(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: suffixes.map(topicOf) });
      expect(topics.map(({ partitions }) => partitions.length)).toEqual(suffixes.map(() => 6));
    });
  };
}

interface Situation {
  readonly what: string;
  /** What somebody does to the topics while no process runs. */
  readonly breaks?: (admin: Admin) => Promise<unknown>;
  /** The configured number for `users` afterwards; left out: as before. */
  readonly users?: number;
  readonly says: readonly string[];
  /** Whether the remedy begins with `topics apply`. */
  readonly applies?: true;
  /** The topics that the remedy recreates. */
  readonly recreates?: string;
}

const SITUATIONS: readonly Situation[] = [
  {
    what: 'a setting and a number of partitions',
    breaks: async (admin) => {
      await addPartitions('absences')(admin);
      await setTopicSettings(topicOf('users'), { 'cleanup.policy': 'delete' });
    },
    says: ['users: cleanup.policy is delete', 'absences: it has 6 partitions, but the configuration says 3'],
    applies: true,
    recreates: 'absence-versions',
  },
  {
    what: 'the partitions of orgs, rejects and progress',
    breaks: addPartitions('orgs', 'progress', 'rejects'),
    says: ['progress: it has 6 partitions, but the configuration says 1', 'orgs: it has 6 partitions'],
    recreates: 'orgs rejects progress',
  },
  {
    what: 'the partitions of the changelog',
    breaks: addPartitions('absence-state'),
    says: ['absence-state: it has 6 partitions, but the configuration says 3'],
    recreates: 'absence-state',
  },
  {
    what: 'partitions and, to match, the configuration',
    breaks: addPartitions('users'),
    users: 6,
    says: ['users: it has 6 partitions, but its records were written to 3'],
    recreates: 'users',
  },
  {
    what: 'the configured number of partitions',
    users: 5,
    says: ['it has 3 partitions, but the configuration says 5'],
    recreates: 'users',
  },
];

let topicPrefix: string;
beforeEach(() => {
  topicPrefix = newTopicPrefix();
});
afterEach(() => deleteTopicsOf(topicPrefix));
const topicOf = (suffix: string): string => `${topicPrefix}.north.${suffix}`;

const optionsFor = (users = 3): MirrorOptions => {
  const settings = { kafka: { partitions: { default: 3, users } } };
  return { hub, topicPrefix, collections, settings };
};
const configFor = (users?: number): string => configTextOf(hub, topicPrefix, optionsFor(users));

it.each(SITUATIONS)(
  'after a change of $what, a start is refused, and its remedy repairs the topics',
  async ({ breaks, users, says, applies = false, recreates = '' }) => {
    const remedies = applies ? ['rollcall topics apply'] : [];
    if (recreates !== '') remedies.push(`rollcall topics recreate ${recreates} --tenant north --yes`);
    const recreated = recreates === 'absence-versions' ? ABSENCES : recreates.split(' ');
    await loadOnce();
    if (breaks !== undefined) await withAdmin(breaks);
    const config = configFor(users);
    const refused = await rollcall(config, 'run');
    expect(refused.code).toBe(1);
    for (const each of says) expect(refused.stderr).toContain(each);
    expect(commandsIn(refused.stderr)).toEqual(remedies);
    if (applies)
      expect((await rollcall(config, 'topics', 'list')).stdout).toContain('cleanup.policy is delete');
    const known = await recordsOf(TOPICS);
    // the other remedy of a changed configuration
    if (breaks === undefined) await loadOnce();
    for (const command of remedies) {
      const [, ...args] = command.split(' ');
      const followed = await rollcall(config, ...args);
      if (args[1] === 'recreate')
        expect([followed.code, followed.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
    }
    await loadOnce(users);
    await using mirror = await openMirror(optionsFor(users));
    expect(await mirror.differences('users', 'absence-versions')).toEqual({});
    for (const suffix of TOPICS) {
      const records = await recordsOf([suffix]);
      expect([suffix, keysInTwoPartitions(records)]).toEqual([suffix, []]);
      expect(records.length).toBeGreaterThan(0);
      if (!recreated.some((each) => each === suffix))
        expect(records.length).toBe(known.filter(({ topic }) => topic === topicOf(suffix)).length);
    }
    const absences = await mirror.records('absences');
    const changes = await mirror.records('absence-changes');
    expect(chainProblems({ hub, absences, changes })).toEqual([]);
    expect(loggedChanges(changes).filter(({ snapshot }) => !snapshot)).toEqual([]);
  },
);

it('"topics list" shows what differs, "apply" corrects settings, "recreate" needs --yes and no owner', async () => {
  const topics = (words: string, users?: number) => rollcall(configFor(users), 'topics', ...words.split(' '));
  const list = await topics('list');
  expect(list).toMatchObject(ending(1, 'stdout', 'missing, or different from the contract: 8 of 8 topics'));
  const missing = expect.objectContaining({ topic: topicOf('users'), exists: false }) as unknown;
  expect((await topics('list --json')).json()).toContainEqual(missing);
  const fits = [0, expect.stringMatching(/✓ +\S+users +3 +equal/)];
  const created = await topics('apply');
  expect([created.code, created.stdout]).toEqual(fits);
  // The contract has them all but the internal one.
  const contract = await rollcall(configFor(), 'contract', '--json');
  const channels = Object.keys(contract.json<{ channels: object }>().channels);
  const all = await withAdmin((admin) => admin.listTopics());
  expect([...channels, topicOf('absence-state')].toSorted()).toEqual(
    all.filter((name) => name.startsWith(`${topicPrefix}.`)).toSorted(),
  );
  await setTopicSettings(topicOf('users'), { 'cleanup.policy': 'delete', 'max.message.bytes': '2000000' });
  const differs = { code: 1, stdout: expect.stringContaining('cleanup.policy is delete') as string };
  // The broker that is asked may learn of it later than the one that changed it.
  await vi.waitFor(async () => expect(await topics('list')).toMatchObject(differs));
  const check = await rollcall(configFor(), 'check');
  expect(check).toMatchObject(ending(1, 'stdout', 'rollcall topics apply'));
  const applied = await topics('apply');
  expect([applied.code, applied.stdout]).toEqual(fits);
  // A broker returns the old settings for a moment.
  const settings = { 'cleanup.policy': 'compact', 'max.message.bytes': '2000000' };
  await vi.waitFor(async () =>
    expect(await withAdmin((admin) => settingsOf(admin, topicOf('users')))).toMatchObject(settings),
  );
  const other = await topics('apply', 5);
  expect(other).toMatchObject(ending(1, 'stdout', 'has 3 partitions, but the configuration says 5'));
  expect(other.stdout).toContain('kafka.partitions');
  await loadOnce();
  const before = await recordsOf(['users']);
  const asked = await topics('recreate users');
  expect(asked).toMatchObject(ending(3, 'stdout', 'north.users'));
  expect((await topics('recreate courses --yes')).code).toBe(2);
  await using owner = await startOwner(configFor());
  const refused = await topics('recreate users --yes');
  expect(refused).toMatchObject(ending(2, 'stderr', 'mirrors tenant north'));
  await owner.stop();
  expect(await recordsOf(['users'])).toEqual(before);
});

async function loadOnce(users?: number): Promise<void> {
  await using mirror = await openMirror(optionsFor(users));
  await mirror.full();
}

/** The commands that a remedy names. */
function commandsIn(text: string): string[] {
  return [...text.matchAll(/"(rollcall [^"]+)"/g)].map(([, command = '']) => command);
}

async function recordsOf(suffixes: readonly string[]) {
  const records = await readTopics(suffixes.map(topicOf));
  return records.map(({ topic, partition, key }) => ({ topic, partition, key }));
}

function keysInTwoPartitions(records: readonly { partition: number; key: string }[]): string[] {
  const partitions = Map.groupBy(records, ({ key }) => key);
  return [...partitions].flatMap(([key, all]) =>
    new Set(all.map(({ partition }) => partition)).size === 1 ? [] : [key],
  );
}
