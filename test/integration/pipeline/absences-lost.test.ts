import { afterAll, expect, it } from 'vitest';
import { frame } from '../../unit/log/support/frame.ts';
import { chainProblems, loggedChanges } from '../../oracle/absences.ts';
import { rollcall } from '../cli/support/rollcall.ts';
import { openMirror, registerAbsence, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import {
  deleteTopic,
  plainKafka,
  recreateTopic,
  truncateTopic,
  type TopicRecord,
} from '../support/stack-kafka.ts';
import { flushRedis } from './redis-copy.ts';

const ABSENCES = ['absence-versions', 'absences', 'absence-changes'];
const OPTIONS: MirrorOptions = { collections: ['orgs', ...ABSENCES], hubOptions: { students: 12 } };
const WELL = { orgs: null, 'absence-versions': null };
const LOST = { orgs: null, 'absence-versions': 'ABSENCES_LOST' };

/** One tenant, which loses ever more. */
const mirror = await openMirror(OPTIONS);
afterAll(() => mirror[Symbol.asyncDispose]());
await mirror.full();

/** Waits for the markers of the last transaction first: Kafka would wait for those of a deleted topic. */
async function lose(...suffixes: string[]): Promise<void> {
  await mirror.ends();
  for (const suffix of suffixes) await recreateTopic(mirror.topic(suffix));
}

/** Error codes of a full sync, by collection, after a restart. */
async function restarted(): Promise<Record<string, unknown>> {
  await mirror.restart();
  const outcomes = await mirror.attempt('FULL');
  return Object.fromEntries(
    outcomes.map(({ collection, error }) => [collection, (error as { code?: string } | null)?.code ?? null]),
  );
}

/** As the remedy of `ABSENCES_LOST` says. */
async function recreateAbsences(): Promise<void> {
  const remedy = 'topics recreate absences --tenant north --yes';
  expect((await rollcall(mirror.configText, ...remedy.split(' '))).code).toBe(0);
}

/** Of the present lives of the keys. */
async function expectSound(): Promise<void> {
  const [absences, all] = [await mirror.records('absences'), await mirror.records('absence-changes')];
  const ended = new Map(all.flatMap(({ key, value }, at) => (value === null ? [[key, at] as const] : [])));
  const changes = all.filter(({ key }, at) => at > (ended.get(key) ?? -1));
  // Versions that are published again show their absences again.
  const mayRepeat = ({ topic }: TopicRecord) => topic === mirror.topic('absences');
  expect(chainProblems({ hub: mirror.hub, absences, changes, mayRepeat })).toEqual([]);
}

const register = (): string => registerAbsence(mirror.hub);

const changesSince = async (ends: Awaited<ReturnType<Mirror['ends']>>) =>
  (await mirror.since(ends)).filter(({ topic }) => topic === mirror.topic('absence-changes'));

/** Expects the only event of an absence to be news. */
async function expectNews(id: string): Promise<void> {
  const changes = loggedChanges(await mirror.records('absence-changes'));
  const own = changes.filter(({ absenceId }) => absenceId === id);
  expect(own).toMatchObject([{ step: 1, operation: 'CREATED', snapshot: false }]);
}

/** Writes records of progress that nobody can read. */
async function spoilProgress(keys: readonly string[]): Promise<void> {
  const value = frame(2_000_000_000, Buffer.from('nothing that Rollcall wrote'));
  const producer = plainKafka().producer();
  await producer.connect();
  const messages = keys.map((key) => ({ key, value, partition: 0 }));
  await producer.send({ topic: mirror.topic('progress'), messages });
  await producer.disconnect();
}

it('events of changed absences have snapshot false, even if the progress topic was lost or spoilt', async () => {
  await spoilProgress(ABSENCES);
  const id = register();
  mirror.hub.faults.set('missing-list@absences');
  await restarted();
  mirror.hub.faults.clear();
  const ends = await mirror.ends();
  expect(await restarted()).toEqual(WELL);
  await expectNews(id);
  expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([id, id, id]);
  await deleteTopic(mirror.topic('progress'));
  const next = register();
  expect(await restarted()).toEqual(WELL);
  await expectNews(next);
});

it('the loss of the topic absence-versions ends only absences that have left the hub', async () => {
  const vanished = register();
  await mirror.incremental();
  const ends = await mirror.ends();
  await lose('absence-versions');
  mirror.hub.district.purgeAbsence(vanished);
  expect(await restarted()).toEqual(WELL);
  await mirror.full();
  await expectSound();
  expect((await changesSince(ends)).map(({ key }) => key)).toEqual([vanished, vanished]);
});

it('switching the derived collections of absences off and on again loses no absence', async () => {
  const { hub, topicPrefix } = mirror;
  const gone = register();
  await mirror.incremental();
  {
    await using versions = await openMirror({ collections: ['absence-versions'], hub, topicPrefix });
    register();
    await versions.full();
  }
  hub.district.purgeAbsence(gone);
  expect(await restarted()).toEqual(WELL);
  await mirror.full();
  await expectSound();
});

it.each([
  ['absence-state and Redis', () => Promise.all([lose('absence-state'), flushRedis(mirror.topicPrefix)])],
  ['absences', () => truncateTopic(mirror.topic('absences'))],
] as const)(
  'after a loss of %s, each start asks for a decision, and absences begin again in recreated topics',
  async (_name, loseThem) => {
    await loseThem();
    const ends = await mirror.ends();
    for (let start = 1; start <= 2; start += 1) expect(await restarted()).toEqual(LOST);
    expect(await mirror.since(ends)).toEqual([]);
    await mirror.ends();
    await recreateAbsences();
    expect(await restarted()).toEqual(WELL);
    await expectSound();
    const again = loggedChanges(await mirror.records('absence-changes'));
    expect(again.length).toBeGreaterThan(20);
    expect(again.filter(({ snapshot }) => !snapshot)).toEqual([]);
    const id = register();
    await mirror.incremental();
    await expectNews(id);
    const settled = await mirror.ends();
    expect(await restarted()).toEqual(WELL);
    expect(await mirror.since(settled)).toEqual([]);
  },
);
