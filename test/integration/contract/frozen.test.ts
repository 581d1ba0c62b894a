import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { expect, inject, it } from 'vitest';
import { liveTheDay, startFixedHub } from '../../../reference-hub/fixed-day.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';
import { COLLECTIONS, OWN_TOPICS, type TopicSuffix } from '../../../src/model/collections.ts';
import { caughtUp, flushRedis } from '../pipeline/redis-copy.ts';
import { newTopicPrefix, openMirror, type Mirror } from '../support/mirror.ts';
import { readMessagesAt } from '../support/read-topics.ts';
import { compactedView, deleteTopicsOf, readTopics, type TopicRecord } from '../support/stack-kafka.ts';
import { freeze, thaw, type FrozenTenant } from './frozen-services.ts';

/* The contract holds since 0.1.0 (docs/contract.md, "What may change"). Two files show what that version published and left. */

const LEFT_BY_0_1_0 = new URL('left-by-0.1.0.json.br', import.meta.url);

function openDay(hub: ReferenceHub, topicPrefix: string): Promise<Mirror> {
  return openMirror({
    hub,
    topicPrefix,
    afterschools: hub.district.afterschoolIds(),
    collections: COLLECTIONS,
    hubSettings: { pageSize: 50 },
    tenant: {
      schedules: { students: hub.district.ids('students').slice(0, 2), daysBack: 1, daysAhead: 1 },
      fullSync: { at: '03:00', timeZone: 'Europe/Oslo' },
    },
    parts: ({ runtime }) => ({ runtime: { ...runtime, now: hub.clock.now } }),
  });
}

it('a fixed day of the reference hub has the schemas, keys, headers, hashes and values of version 0.1.0', async () => {
  const hub = await startFixedHub();
  const topicPrefix = newTopicPrefix();
  {
    await using mirror = await openDay(hub, topicPrefix);
    await mirror.full();
    liveTheDay(hub);
    await mirror.full();
  }
  const parts: string[] = [];
  for (const suffix of [...COLLECTIONS, ...OWN_TOPICS])
    parts.push(partsOf(suffix, await readTopics([`${topicPrefix}.north.${suffix}`])));
  await expect(parts.join('\n')).toMatchFileSnapshot('day-of-0.1.0.txt');
  if (process.env['ROLLCALL_FREEZE'] !== undefined)
    writeFileSync(LEFT_BY_0_1_0, brotliCompressSync(JSON.stringify(await freeze(topicPrefix))));
  await deleteTopicsOf(topicPrefix);
  await hub.stop();
});

it('topics of version 0.1.0 are continued without a new record or a new life, even if Redis is lost', async () => {
  const left = JSON.parse(String(brotliDecompressSync(readFileSync(LEFT_BY_0_1_0)))) as FrozenTenant;
  const { topicPrefix, topics } = left;
  const data = topics.flatMap(({ suffix }) =>
    suffix === 'progress' ? [] : `${topicPrefix}.north.${suffix}`,
  );
  const recordsIn = async () =>
    (await readMessagesAt(inject('stack'), data)).map(
      ({ topic, message }) => `${topic} ${String(message.key)}`,
    );
  const livesIn = async () => {
    const progress = compactedView(await readTopics([`${topicPrefix}.north.progress`]));
    return [...progress.values()].map(({ key, value }) => `${key} ${String(value?.['lifeId'])}`).toSorted();
  };
  await thaw(left);
  const before = await recordsIn();
  const lives = await livesIn();
  const hub = await startFixedHub();
  liveTheDay(hub);
  for (const how of ['current', 'rebuilt']) {
    await using mirror = await openDay(hub, topicPrefix);
    await mirror.full();
    expect(new Set(caughtUp(mirror).values())).toEqual(new Set([how]));
    expect((await recordsIn()).toSorted()).toEqual(before.toSorted());
    expect(await livesIn()).toEqual(lives);
    await flushRedis(topicPrefix);
  }
  await deleteTopicsOf(topicPrefix);
  await hub.stop();
});

const MOST_SHOWN = 1_500;

/** Differ each time, or from registry to registry: of these only the names are frozen, and whether they are null. */
const VOLATILE = new Set(
  'ce_id ce_deletions ce_schemas sequence transactionId syncId lifeId offsets'.split(' '),
);

/** One line a part, so that a difference names it, and the first record as an example. */
function partsOf(suffix: TopicSuffix, all: readonly TopicRecord[]): string {
  const isProgress = suffix === 'progress';
  // How many transactions there were depends on the time that they took: of `progress` the last record of each collection.
  const shown = isProgress ? [...compactedView(all).values()].filter(({ key }) => !key.startsWith('@')) : all;
  const records = shown.toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)));
  const text = (value: unknown): string =>
    JSON.stringify(value, (name, member: unknown) => {
      if (name === 'doc') return undefined;
      const isVolatile = VOLATILE.has(name) || (isProgress && name === 'content-hash');
      return isVolatile && member !== null ? '…' : member;
    });
  const digest = (value: unknown) => createHash('sha256').update(text(value)).digest('hex').slice(0, 16);
  const [first] = records;
  const parts = {
    schema: digest(readSchemaFiles().get(suffix)),
    keys: digest(records.map(({ key }) => key)),
    partitions: digest(records.map(({ key, partition }) => [key, partition])),
    hashes: digest(records.map(({ headers }) => ({ 'content-hash': headers['content-hash'] }))),
    headers: digest(records.map(({ headers }) => ({ ...headers, 'content-hash': '' }))),
    values: digest(records.map(({ value }) => value)),
    first: `${first?.key} in ${first?.partition} ${text(first?.headers)}`,
    '     ': text(first?.value).slice(0, MOST_SHOWN),
  };
  const lines = Object.entries(parts).map(([name, part]) => `  ${name} ${part}\n`);
  return `${suffix}: ${records.length} records\n${lines.join('')}`;
}
