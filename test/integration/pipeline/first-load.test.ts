import { afterAll, expect, it } from 'vitest';
import { createKeyPartitioner } from '../../../src/log/outgoing-batches.ts';
import { openMirror, startTestHub, TERM_MORNING_MS } from '../support/mirror.ts';
import { readTopics, type TopicRecord } from '../support/stack-kafka.ts';

/** All tests check the same load of everything. */
const hub = await startTestHub({ students: 40, seed: 3 });
afterAll(() => hub.stop());
const mirror = await openMirror({
  hub,
  // Schedules come from the Core API and have tests of their own.
  collections: { 'class-students': { enabled: true }, schedules: { enabled: false } },
  afterschools: hub.district.afterschoolIds(),
  // Many pages, in batches to each of the brokers.
  hubSettings: { pageSize: 100 },
  settings: { kafka: { partitions: { default: 3, users: 5 } } },
});
afterAll(() => mirror[Symbol.asyncDispose]());
await mirror.full();
const collections = mirror.parts.collections.map(({ name }) => name);
const records = await readTopics(
  [...collections, 'absences', 'rejects', 'progress'].map((name) => mirror.topic(name)),
);

const data = (): TopicRecord[] => records.filter(({ topic }) => !topic.endsWith('.progress'));

it('the first load equals the hub in every collection, publishes each key once, and rejects nothing', async () => {
  expect(collections).toHaveLength(17);
  expect(await mirror.differences()).toEqual({});
  // An absence may be shown by a version whose replacement the sync has not read yet.
  const once = data().filter(({ topic }) => topic !== mirror.topic('absences'));
  expect(new Set(once.map(({ topic, key }) => `${topic} ${key}`)).size).toBe(once.length);
  expect(records.filter(({ topic }) => topic === mirror.topic('rejects'))).toEqual([]);
  // The comparison finds differences.
  const [id = ''] = hub.district.ids('users');
  const before = hub.district.get('users', id);
  hub.district.patch('users', id, { givenName: 'Somebody Else' });
  hub.district.put('orgs', { sourcedId: 'one-more', name: 'One more' });
  expect(await mirror.differences()).toMatchObject({
    users: [expect.stringContaining(id)],
    orgs: ['one-more: missing from the topic'],
  });
  hub.district.put('users', { ...before, sourcedId: id });
  hub.district.remove('orgs', 'one-more');
});

it('the first load carries the headers of the contract on every record', () => {
  for (const { topic, headers, value, publishedAtMs } of data()) {
    const collection = topic.split('.').at(-1) ?? '';
    if (collection === 'absences' && value === null) continue;
    const { ce_id: _, ce_time: time, ...rest } = headers;
    expect(rest).toEqual({
      ce_specversion: '1.0',
      ce_source: `/rollcall/north/${collection}`,
      ce_type: expect.stringMatching(
        collection === 'absences' ? /\.(created|updated)$/ : `^rollcall.${collection}.created$`,
      ) as string,
      'content-type': 'application/avro',
      'content-hash': expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    const modifiedAtMs = value?.['dateLastModified'];
    if (typeof modifiedAtMs === 'number') expect(time).toBe(new Date(modifiedAtMs).toISOString());
    else expect(time).toBeUndefined();
    expect(Math.abs(Date.now() - publishedAtMs)).toBeLessThan(600_000);
  }
  const stamped = data().filter(({ headers }) => headers['ce_time'] !== undefined);
  expect(stamped.length).toBeGreaterThan(1_000);
});

it('the first load puts every key into the partition that a Java producer would choose', () => {
  const partitionOf = createKeyPartitioner();
  for (const { topic, key, partition } of data()) {
    expect(partition).toBe(partitionOf(key, topic === mirror.topic('users') ? 5 : 3));
  }
  expect(new Set(data().map(({ partition }) => partition))).toEqual(new Set([0, 1, 2, 3, 4]));
});

it('the first load records in progress the offsets up to which a reader must read to have every row', () => {
  for (const collection of collections) {
    const own = records.filter(({ topic, key }) => topic === mirror.topic('progress') && key === collection);
    const last = own.at(-1)?.value as {
      complete: boolean;
      sequence: number;
      watermark: number;
      offsets: Record<string, number>;
      lastCompleteFull: { rows: number; offsets: Record<string, number>; startedAt: number };
    };
    expect(own.map(({ value }) => value?.['sequence'])).toEqual(own.map((_, index) => index + 1));
    const topic = mirror.topic(collection);
    const published = records.filter((record) => record.topic === topic);
    const lastOffsets: Record<string, number> = {};
    for (const { partition, offset } of published) lastOffsets[`${topic}/${partition}`] = offset;
    expect([collection, last.lastCompleteFull.offsets]).toEqual([collection, lastOffsets]);
    expect(last).toMatchObject({ complete: true, collection, mode: 'FULL', offsets: lastOffsets });
    expect(last.lastCompleteFull.rows).toBe(published.length);
    expect(Math.abs(last.lastCompleteFull.startedAt - TERM_MORNING_MS)).toBeLessThan(120_000);
    expect(last.watermark).toBeLessThan(last.lastCompleteFull.startedAt);
  }
});
