import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { caughtUp, flushRedis } from './redis-copy.ts';
import { setTopicSettings } from '../support/stack-kafka.ts';

const CODECS = { users: 'gzip', orgs: 'snappy', rejects: 'lz4', progress: 'zstd', 'absence-state': 'zstd' };

it('an index lost while brokers compress topics is rebuilt, and no record is published twice', async () => {
  await using mirror = await openMirror({
    collections: ['users', 'orgs', 'absence-versions', 'absences', 'absence-changes'],
  });
  mirror.hub.district.put('orgs', { sourcedId: 42 }, { id: 'unreadable' });
  for (const [suffix, codec] of Object.entries(CODECS))
    await setTopicSettings(mirror.topic(suffix), { 'compression.type': codec });
  await mirror.full();
  const ends = await mirror.ends();
  await flushRedis(mirror.topicPrefix);
  await mirror.restart();
  expect([...new Set(caughtUp(mirror).values())]).toEqual(['rebuilt']);
  for (const collection of ['users', 'orgs'] as const)
    expect(await mirror.problemsOfIndex(collection)).toEqual([]);
  await mirror.full();
  expect(await mirror.since(ends)).toEqual([]);
});
