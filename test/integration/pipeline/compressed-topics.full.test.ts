import { expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { indexAgainstLog } from './index-check.ts';
import { caughtUp, copyRedis } from './redis-copy.ts';
import { setTopicSettings } from './recreate-topic.ts';

const COMPRESSED = ['progress', 'users', 'absence-versions', 'absence-state', 'rejects'];

it.each(['gzip', 'snappy', 'lz4', 'zstd'])(
  'a tenant whose topics the brokers compress with %s loses its index: nothing is lost or published twice',
  async (codec) => {
    await using mirror = await openMirror({
      collections: ['users', 'orgs', 'absence-versions', 'absences', 'absence-changes'],
    });
    mirror.hub.district.put('orgs', { sourcedId: 42 }, { id: 'odd' });
    for (const suffix of COMPRESSED) {
      await setTopicSettings(mirror.topic(suffix), { 'compression.type': codec });
    }
    await mirror.full();
    const ends = await mirror.ends();
    await (await copyRedis(mirror)).flush();
    await mirror.restart();
    expect(caughtUp(mirror).get('users')).toBe('rebuilt');
    expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    expect(await mirror.differences('users', 'absence-versions')).toEqual({});
    const [id = ''] = mirror.hub.district.ids('users');
    mirror.hub.district.patch('users', id, { givenName: 'Somebody Else' });
    await mirror.delta('users');
    expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([id]);
  },
);
