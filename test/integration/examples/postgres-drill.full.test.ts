import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, inject, it, vi } from 'vitest';
import { compareTables } from '../../../examples/postgres-sink/run/compare-tables.ts';
import { fetchConnect, startConnect } from '../../../examples/postgres-sink/run/connect.ts';
import { openDatabase, type Database } from '../../../examples/postgres-sink/run/postgres.ts';
import {
  addressesOf,
  EXAMPLE,
  takePositions,
  untilTaken,
  type Sink,
} from '../../../examples/postgres-sink/run/sink.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { startOwner, rollcall } from '../cli/support/rollcall.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { compactedView, deleteTopicsOf, readTopics } from '../support/stack-kafka.ts';
import { answersAtHub, comparable } from './sink-answers.ts';

const LONGEST_MS = 1_500_000;
const CHANGES_MS = 300_000;
const WITHIN = { timeout: 180_000, interval: 1_000 };
const COUNT_REMOVED = "SELECT n_tup_del AS count FROM pg_stat_user_tables WHERE relname = 'courses'";

/** The answers of questions.sql, all rows of each, as if `now()` were another time. */
async function answersOf(database: Database, nowsMs: readonly (number | null)[]): Promise<object[][]> {
  const text = readFileSync(join(EXAMPLE, 'questions.sql'), 'utf8').replaceAll(/^--.*$|^LIMIT \d+/gm, '');
  const questions = text.split(';').filter((sql) => sql.trim() !== '');
  expect(questions).toHaveLength(nowsMs.length);
  const answers: object[][] = [];
  for (const [index, sql] of questions.entries()) {
    const now = new Date(nowsMs[index] ?? 0).toISOString();
    answers.push(await database.rows(sql.replaceAll('now()', `timestamptz '${now}'`)));
  }
  return answers;
}

/** Follows docs/consuming.md#when-a-topic-was-recreated: looks, and begins again what was recreated. */
async function beginAgain({ connect, database }: Sink, topics: string): Promise<string[]> {
  const look = 'SELECT collection FROM copy_state WHERE recreated';
  const recreated = () => database.rows<{ collection: string }>(look);
  await vi.waitFor(async () => expect(await recreated()).not.toEqual([]), WITHIN);
  const found = (await recreated()).map(({ collection }) => collection);
  for (const collection of found) {
    const env = {
      DATABASE: database.url.href,
      ROLLCALL_TOPICS: topics,
      CONNECT_PORT: new URL(connect.url).port,
    };
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const command = [join(EXAMPLE, 'begin-again.sh'), 'rows', collection];
    const { code, output } = await runCommand('env', [...variables, ...command]);
    expect([code, output]).toEqual([0, expect.anything()]);
  }
  return found;
}

/** Removes most courses, and has a person approve it. */
async function removeAndApprove(hub: ReferenceHub, config: string): Promise<number> {
  const gone = hub.district.ids('courses').slice(3);
  for (const id of gone) hub.district.remove('courses', id);
  await rollcall(config, 'pull', '--full', '--collection', 'courses');
  const list = await rollcall(config, 'deletes', 'list', '--json');
  expect([list.code, list.json()]).toEqual([3, expect.objectContaining({ waits: true })]);
  const { tenants } = list.json<{ tenants: { parts: { digest: string }[] }[] }>();
  const digests = tenants.flatMap(({ parts }) => parts.map(({ digest }) => digest));
  const approved = await rollcall(config, 'deletes', 'approve', ...digests, '--reason', 'a drill');
  expect([approved.code, approved.stderr]).toEqual([0, expect.any(String)]);
  return gone.length;
}

async function published(topics: string): Promise<{ collection: string; sequence: number }[]> {
  const values = [...compactedView(await readTopics([`${topics}.progress`])).values()];
  return values.flatMap(({ key, value }) =>
    key.startsWith('@') || value === null ? [] : [{ collection: key, sequence: Number(value['sequence']) }],
  );
}

it(
  'the example postgres-sink equals the hub after a hold, a recreated topic and a kill of Connect',
  async ({ signal }) => {
    await fetchConnect({ signal });
    await using hub = await startTestHub({ live: true });
    const topicPrefix = newTopicPrefix();
    await using rest = new AsyncDisposableStack();
    rest.defer(() => deleteTopicsOf(topicPrefix));
    const topics = `${topicPrefix}.north`;
    const options = { hub, topicPrefix, tenant: { incrementalEvery: '2s' } };
    const config = configTextOf(hub, topicPrefix, options);
    await using database = await openDatabase(null, signal);
    await database.runFile(join(EXAMPLE, 'tables.sql'));
    const changedUntilMs = performance.now() + CHANGES_MS;
    let owner = await startOwner(config);
    rest.defer(async () => void (await owner.stop()));
    await rollcall(config, 'pull', '--full');
    await using connect = await startConnect(addressesOf(inject('stack'), topics, database), { signal });
    const sink = { connect, database };
    await untilTaken(sink, await published(topics), { signal });
    await database.runFile(join(EXAMPLE, 'lives.sql'));

    hub.district.restamp();
    await connect.killAndStart();
    const removed = await removeAndApprove(hub, config);
    const countRemoved = async () => (await database.rows<{ count: number }>(COUNT_REMOVED))[0]?.count;
    await vi.waitFor(async () => expect(await countRemoved()).toBeGreaterThanOrEqual(removed), WITHIN);
    hub.district.restamp();

    // While the topic is gone a user leaves the hub: of that the new topic says nothing.
    await owner.stop();
    const [leaver = ''] = hub.district.ids('users');
    hub.district.remove('users', leaver);
    const recreate = await rollcall(config, 'topics', 'recreate', 'users', '--tenant', 'north', '--yes');
    expect([recreate.code, recreate.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
    owner = await startOwner(config);
    expect(await beginAgain(sink, topics)).toEqual(['users']);

    await delay(Math.max(0, changedUntilMs - performance.now()), undefined, { signal });
    hub.living.freeze();
    await owner.stop();
    await using mirror: Mirror = await openMirror(options);
    await mirror.full();
    await untilTaken(sink, await published(topics), { signal });
    for await (const { table, differences } of compareTables(database, hub))
      expect([table, differences]).toEqual([table, []]);

    await takePositions(sink);
    const [atMs, todayMs] = [hub.clock.now(), Date.now()];
    const answers = await answersOf(database, [null, atMs, null, todayMs]);
    const changes = await mirror.records('absence-changes');
    const wanted = answersAtHub({ hub, atMs, todayMs, changes });
    expect(comparable(answers)).toEqual(comparable(wanted));
    expect(wanted.map(({ length }) => length > 0)).toEqual([true, true, true, true]);
  },
  LONGEST_MS,
);
