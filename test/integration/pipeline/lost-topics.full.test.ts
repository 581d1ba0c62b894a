import { describe, expect, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { indexAgainstLog } from './index-check.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { frame } from '../../../src/log/framing.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import { plainKafka } from './kafka-admin.ts';
import { deleteTopic, recreateTopic, truncateTopic } from './recreate-topic.ts';

const OPTIONS = { collections: ['users', 'orgs'] } as const;

async function expectFilledAgain(mirror: Mirror, rows: number): Promise<void> {
  expect(await mirror.differences()).toEqual({});
  expect((await mirror.records('users')).length).toBe(rows);
  expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
  const ends = await mirror.ends();
  await mirror.restart();
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
}

describe('a topic that lost its records while the index has them', () => {
  it.each([
    ['deleted', (mirror: Mirror) => deleteTopic(mirror.topic('users'))],
    ['deleted and recreated', (mirror: Mirror) => recreateTopic(mirror.topic('users'))],
    ['emptied', (mirror: Mirror) => truncateTopic(mirror.topic('users'))],
    ['cut off at its beginning', (mirror: Mirror) => truncateTopic(mirror.topic('users'), '5')],
  ])(
    '%s: the next start notices the loss and fills the topic again, and leaves the others as they are',
    async (_, lose) => {
      await using mirror = await openMirror(OPTIONS);
      await mirror.full();
      const rows = (await mirror.view('users')).size;
      const orgsBefore = await mirror.records('orgs');
      await lose(mirror);
      const before = mirror.events.length;
      await mirror.restart();
      expect(mirror.events.slice(before)).toContainEqual(
        expect.objectContaining({ type: 'caught-up', collection: 'users', how: 'rebuilt' }),
      );
      // A full sync is due whatever is asked for, because the watermark was lost with the records.
      await mirror.delta();
      expect(await mirror.records('orgs')).toEqual(orgsBefore);
      await expectFilledAgain(mirror, rows);
    },
  );

  it('recreated under a running process: the next commit fails, and a restart fills the topic again', async () => {
    await using mirror = await openMirror({ ...OPTIONS, settings: { kafka: { partitions: 1 } } });
    const { district } = mirror.hub;
    await mirror.full();
    const rows = (await mirror.view('users')).size;
    await recreateTopic(mirror.topic('users'));
    const [id = ''] = district.ids('users');
    district.patch('users', id, { givenName: 'Somebody Else' });
    const [failed] = await mirror.attempt('INCREMENTAL', 'users');
    expect(failed?.error).toMatchObject({ code: 'KAFKA_OUTCOME_UNKNOWN' });
    await mirror.restart();
    await mirror.delta();
    await expectFilledAgain(mirror, rows);
  });

  it.each([
    ['deleted', (mirror: Mirror) => deleteTopic(mirror.topic('users')), 'KAFKA_TOPIC_MISSING'],
    ['recreated', (mirror: Mirror) => recreateTopic(mirror.topic('users')), 'KAFKA_RECORDS_LOST'],
    ['cut off', (mirror: Mirror) => truncateTopic(mirror.topic('users'), '5'), 'KAFKA_RECORDS_LOST'],
  ])(
    '%s under a running process on an unchanged hub: the next full sync fails, and a restart fills the topic again',
    async (_, lose, code) => {
      await using mirror = await openMirror(OPTIONS);
      await mirror.full();
      const rows = (await mirror.view('users')).size;
      await lose(mirror);
      const [failed] = await mirror.attempt('FULL', 'users');
      expect(failed?.error).toMatchObject({ code });
      await mirror.restart();
      await mirror.delta();
      await expectFilledAgain(mirror, rows);
    },
  );

  it('recreated just before the hub changes every row: a restart notices the loss and fills the topic again', async () => {
    await using mirror = await openMirror({ ...OPTIONS, settings: { kafka: { partitions: 1 } } });
    const { district } = mirror.hub;
    await mirror.full();
    const ids = district.ids('users');
    await recreateTopic(mirror.topic('users'));
    for (const id of ids) district.patch('users', id, { givenName: 'Somebody Else' });
    await mirror.attempt('INCREMENTAL', 'users');
    // A restart forgets whatever the process had noticed.
    const before = mirror.events.length;
    await mirror.restart();
    expect(mirror.events.slice(before)).toContainEqual(
      expect.objectContaining({ type: 'caught-up', collection: 'users', how: 'rebuilt', rows: 0 }),
    );
    await mirror.delta();
    expect(await mirror.differences()).toEqual({});
    expect((await mirror.view('users')).size).toBe(ids.length);
  });

  it('rejects recreated: each reject is published again', async () => {
    await using mirror = await openMirror(OPTIONS);
    const { district } = mirror.hub;
    district.put('orgs', { sourcedId: 42 }, { id: 'odd' });
    await mirror.full();
    expect((await mirror.view('rejects')).size).toBe(1);
    await recreateTopic(mirror.topic('rejects'));
    await mirror.restart();
    await mirror.full();
    expect((await mirror.view('rejects')).size).toBe(1);
  });

  it('progress recreated under a running process: the next sync fails, and a restart publishes nothing twice', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    await recreateTopic(mirror.topic('progress'));
    const [failed] = await mirror.attempt('FULL', 'users');
    expect(failed?.error).toMatchObject({ code: 'KAFKA_OUTCOME_UNKNOWN' });
    const ends = await mirror.ends();
    await mirror.restart();
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
  });

  it('progress deleted: the index is rebuilt from the topics and nothing is published twice', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const ends = await mirror.ends();
    await deleteTopic(mirror.topic('progress'));
    await mirror.restart();
    expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
  });

  it.each([
    ['under the id of another schema: no record of it is lost', true, 'current'],
    ['that cannot be read: the index is rebuilt from the topics', false, 'rebuilt'],
  ] as const)('progress %s, and nothing is published twice', async (_, isComplete, how) => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const ends = await mirror.ends();
    const topic = mirror.topic('progress');
    const codec = createValueCodec<object>(readSchemaFiles().get('progress')?.schema ?? 'null');
    const producer = plainKafka().producer();
    await producer.connect();
    for (const { key, value, headers } of (await mirror.view('progress')).values()) {
      const body = isComplete ? codec.toBuffer({ ...value }) : Buffer.from('nothing that Rollcall wrote');
      await producer.send({
        topic,
        messages: [{ key, value: frame(2_000_000_000, body), headers, partition: 0 }],
      });
    }
    await producer.disconnect();
    const before = mirror.events.length;
    await mirror.restart();
    expect(mirror.events.slice(before)).toContainEqual(
      expect.objectContaining({ type: 'caught-up', collection: 'users', how }),
    );
    expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
  });
});
