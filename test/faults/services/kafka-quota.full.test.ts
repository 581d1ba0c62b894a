import { expect, inject, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub } from '../../integration/support/mirror.ts';
import { readTopicsAt } from '../../integration/support/read-topics.ts';
import { startProcess } from '../../integration/support/running.ts';
import { startOwnKafka, type OwnKafka } from '../support/kafka.ts';

const BYTES_PER_SECOND = 20_000;
const HALF_OF_TIMEOUT_MS = 30_000;
/** More than the quota lets through within the time-out of a transaction. */
const PAGE_BYTES = 1_500_000;

/** Makes the users of a hub a page's worth of bytes. */
function fill({ district }: ReferenceHub): void {
  const ids = district.ids('users').slice(0, 500);
  for (const id of ids)
    district.patch('users', id, { metadata: { text: 'x'.repeat(PAGE_BYTES / ids.length) } });
}

/** Kafka knows the client, but not its tenants. */
async function limit(kafka: OwnKafka, bytesPerSecond: number): Promise<void> {
  const client = ['--entity-type', 'clients', '--entity-name', 'rollcall'];
  const quota = ['--alter', '--add-config', `producer_byte_rate=${bytesPerSecond}`];
  expect(await kafka.tool('kafka.admin.ConfigCommand', [...client, ...quota])).toMatchObject({ code: 0 });
}

it('a first load under a Kafka quota completes, and status says that the broker throttles the tenant', async () => {
  await using kafka = await startOwnKafka({}, 1);
  await using mirror = await openMirror({
    collections: ['orgs', 'users'],
    settings: { kafka: { brokers: kafka.brokers, replicationFactor: 1 } },
  });
  fill(mirror.hub);
  await limit(kafka, BYTES_PER_SECOND);
  const statusSays = (text: string) => expect(mirror.statusText()).toContain(text);
  {
    await using _ = mirror.run();
    await vi.waitFor(() => statusSays('throttled by the broker'), 150_000);
    const loaded = { type: 'sync-ended', collection: 'users', outcome: 'complete' };
    await vi.waitFor(() => expect(mirror.events).toContainEqual(expect.objectContaining(loaded)), 300_000);
  }
  expect(mirror.events.filter(({ type }) => type === 'commit-failed').length).toBeLessThanOrEqual(1);
  const took = mirror.events.flatMap((event) => (event.type === 'committed' ? [event.durationMs] : []));
  expect(Math.max(...took)).toBeLessThan(1.5 * HALF_OF_TIMEOUT_MS);
}, 600_000);

const OTHERS = Array.from({ length: 20 }, (_, at) => `t${at}`);
/** How long the brokers do not read a connection after the first page, which fills more than their window. */
const PAUSE_SECONDS = 20;
const WINDOW_SECONDS = 10;

it('under a Kafka quota, a tenant that loads delays other tenants by at most two of its sends', async () => {
  await using kafka = await startOwnKafka({}, 1);
  await using large = await startTestHub();
  await using small = await startTestHub({ students: 8 });
  const topicPrefix = newTopicPrefix();
  const settings = { kafka: { brokers: kafka.brokers, replicationFactor: 1, partitions: 1 } };
  const options = { tenant: { incrementalEvery: '5s' }, settings };
  const configOf = (hub: ReferenceHub, collections: string[], ids: string[]) =>
    JSON.parse(configTextOf(hub, topicPrefix, { ...options, collections }, ids)) as { tenants: object[] };
  const config = configOf(small, ['orgs'], OTHERS);
  const withLarge = {
    ...config,
    tenants: [...config.tenants, ...configOf(large, ['users'], ['large']).tenants],
  };
  await using run = startProcess(JSON.stringify(config), 'run');
  const isReady = async () => (await run.get('/readyz').catch(() => null))?.status === 200;
  await run.until('the others are mirrored', isReady);
  fill(large);
  await limit(kafka, PAGE_BYTES / (PAUSE_SECONDS + WINDOW_SECONDS));
  run.configure(JSON.stringify(withLarge));
  await run.says('throttled by the broker');
  const throttledAtMs = performance.now();
  small.district.patch('orgs', small.district.ids('orgs')[0] ?? '', { name: 'Another' });
  const servers = { kafkaBrokers: kafka.brokers, registryUrl: inject('stack').registryUrl };
  const topics = OTHERS.map((tenant) => `${topicPrefix}.${tenant}.orgs`);
  const arrival = await vi.waitFor(
    async () => {
      const changed = (await readTopicsAt(servers, topics)).filter(
        ({ value }) => value?.['name'] === 'Another',
      );
      expect(changed).toHaveLength(topics.length);
      return performance.now() - throttledAtMs;
    },
    { timeout: 300_000, interval: 500 },
  );
  // A transaction is two sends. The third pause is for a busy machine.
  expect(arrival).toBeLessThan(3 * PAUSE_SECONDS * 1_000);
  expect(run.output()).not.toMatch(/KAFKA_(FENCED|OUTCOME_UNKNOWN|UNREACHABLE)/);
}, 600_000);
