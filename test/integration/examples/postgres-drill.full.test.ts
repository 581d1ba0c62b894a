import { join } from 'node:path';
import { expect, inject, it, vi } from 'vitest';
import { compareTables } from '../../../examples/postgres-sink/run/compare-tables.ts';
import { fetchConnect, startConnect } from '../../../examples/postgres-sink/run/connect.ts';
import { openDatabase } from '../../../examples/postgres-sink/run/postgres.ts';
import { addressesOf, EXAMPLE, untilTaken, type Sink } from '../../../examples/postgres-sink/run/sink.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { startOwner, rollcall } from '../cli/support/rollcall.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { compactedView, deleteTopicsOf, readTopics } from '../support/stack-kafka.ts';

const LONGEST_MS = 900_000;
const WITHIN = { timeout: 180_000, interval: 1_000 };

/** Follows docs/consuming.md#when-a-topic-was-recreated: waits until the sink shows it, and begins the users again. */
async function beginAgain({ connect, database }: Sink, topics: string): Promise<void> {
  const recreated = () => database.rows('SELECT collection FROM copy_state WHERE recreated');
  await vi.waitFor(async () => expect(await recreated()).toEqual([{ collection: 'users' }]), WITHIN);
  const variables = [
    `DATABASE=${database.url.href}`,
    `ROLLCALL_TOPICS=${topics}`,
    `CONNECT_PORT=${new URL(connect.url).port}`,
  ];
  const command = [join(EXAMPLE, 'begin-again.sh'), 'rows', 'users'];
  const { code, output } = await runCommand('env', [...variables, ...command]);
  expect([code, output]).toEqual([0, expect.anything()]);
}

async function published(topics: string): Promise<{ collection: string; sequence: number }[]> {
  const values = [...compactedView(await readTopics([`${topics}.progress`])).values()];
  return values.flatMap(({ key, value }) =>
    key.startsWith('@') || value === null ? [] : [{ collection: key, sequence: Number(value['sequence']) }],
  );
}

it(
  'postgres-sink equals the hub after a topic was recreated, and after kill -9 of Connect',
  async ({ signal }) => {
    await fetchConnect({ signal });
    const hub = await startTestHub({ live: true });
    const topicPrefix = newTopicPrefix();
    const topics = `${topicPrefix}.north`;
    const options = { hub, topicPrefix, tenant: { incrementalEvery: '2s' }, settings: { http: { port: 0 } } };
    const config = configTextOf(hub, topicPrefix, options);
    await using database = await openDatabase(null, signal);
    await database.runFile(join(EXAMPLE, 'tables.sql'));
    try {
      let owner = await startOwner(config);
      await using rest = new AsyncDisposableStack();
      rest.defer(async () => void (await owner.stop()));
      await rollcall(config, 'pull', '--full');
      await using connect = await startConnect(addressesOf(inject('stack'), topics, database), { signal });
      const sink = { connect, database };
      await untilTaken(sink, await published(topics), { signal });
      await database.runFile(join(EXAMPLE, 'lives.sql'));

      await connect.killAndStart();
      // While the topic is gone a user leaves the hub: of that the new topic says nothing.
      await owner.stop();
      const [leaver = ''] = hub.district.ids('users');
      hub.district.remove('users', leaver);
      const recreate = await rollcall(config, 'topics', 'recreate', 'users', '--tenant', 'north', '--yes');
      expect([recreate.code, recreate.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
      owner = await startOwner(config);
      await beginAgain(sink, topics);

      hub.living.freeze();
      await owner.stop();
      await using mirror: Mirror = await openMirror(options);
      await mirror.full();
      await untilTaken(sink, await published(topics), { signal });
      for await (const { table, differences } of compareTables(database, hub))
        expect([table, differences]).toEqual([table, []]);
    } finally {
      await hub.stop();
      await deleteTopicsOf(topicPrefix);
    }
  },
  LONGEST_MS,
);
