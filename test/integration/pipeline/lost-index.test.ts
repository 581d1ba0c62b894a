import { describe, expect, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { indexAgainstLog, keysPublishedTwice } from './index-check.ts';
import { caughtUp, copyRedis } from './redis-copy.ts';

const OPTIONS = { collections: ['users', 'orgs'] } as const;

describe('a lost index', () => {
  it('Redis flushed before a start: nothing is published twice', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const redis = await copyRedis(mirror);
    const ends = await mirror.ends();
    await redis.flush();
    await mirror.restart();
    expect(caughtUp(mirror)).toEqual(
      new Map([
        ['users', 'rebuilt'],
        ['orgs', 'rebuilt'],
      ]),
    );
    expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    expect(await mirror.differences()).toEqual({});
  });

  it('a flush under a running process is noticed, and not mistaken for an empty collection', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const redis = await copyRedis(mirror);
    const ends = await mirror.ends();
    await redis.flush();
    const [id = ''] = mirror.hub.district.ids('users');
    mirror.hub.district.patch('users', id, { givenName: 'Somebody Else' });
    const [failed] = await mirror.attempt('FULL', 'users');
    expect(failed?.error).toMatchObject({ code: 'INDEX_DIVERGED' });
    expect(await mirror.since(ends)).toEqual([]);
    await mirror.restart();
    await mirror.full();
    expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([id]);
    expect(await mirror.differences()).toEqual({});
  });

  it('A→B→A while Redis was restored from an older snapshot: all three are published, and the last one stays', async () => {
    await using mirror = await openMirror(OPTIONS);
    const { district } = mirror.hub;
    const [id = ''] = district.ids('users');
    const nameA = district.get('users', id)?.['givenName'];
    await mirror.full();
    const atA = await copyRedis(mirror);
    district.patch('users', id, { givenName: 'B' });
    await mirror.delta();
    expect((await mirror.view('users')).get(id)?.value).toMatchObject({ givenName: 'B' });
    await atA.restore();
    district.patch('users', id, { givenName: nameA });
    await mirror.restart();
    expect(caughtUp(mirror).get('users')).toBe('resumed');
    expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    await mirror.delta();
    const records = (await mirror.records('users')).filter(({ key }) => key === id);
    expect(records.map(({ value }) => value?.['givenName'])).toEqual([nameA, 'B', nameA]);
    expect(new Set(records.map(({ headers }) => headers['ce_id'])).size).toBe(3);
    expect(await mirror.differences()).toEqual({});
  });

  it('a silent failover to an older Redis during a session is noticed before any decision uses it', async () => {
    await using mirror = await openMirror(OPTIONS);
    const { district } = mirror.hub;
    const [id = ''] = district.ids('users');
    const nameA = district.get('users', id)?.['givenName'];
    await mirror.full();
    const atA = await copyRedis(mirror);
    district.patch('users', id, { givenName: 'B' });
    await mirror.delta();
    await atA.restore();
    district.patch('users', id, { givenName: nameA });
    const [failed] = await mirror.attempt('INCREMENTAL', 'users');
    expect(failed?.error).toMatchObject({ code: 'INDEX_DIVERGED' });
    await mirror.restart();
    await mirror.delta();
    const names = (await mirror.records('users'))
      .filter(({ key }) => key === id)
      .map(({ value }) => value?.['givenName']);
    expect(names).toEqual([nameA, 'B', nameA]);
  });

  it('an older Redis was restored: a published removal is not repeated, and a row that came back is published', async () => {
    await using mirror = await openMirror(OPTIONS);
    const { district } = mirror.hub;
    const id = 'just-for-a-while';
    const row = { sourcedId: id, name: 'Just for a while', type: 'school' };
    district.put('orgs', row);
    await mirror.full();
    const there = await copyRedis(mirror);
    district.remove('orgs', id);
    await mirror.full('orgs');
    await there.restore();
    await mirror.restart();
    expect(await indexAgainstLog(mirror, 'orgs')).toEqual([]);
    await mirror.full();
    const valuesOf = async () =>
      (await mirror.records('orgs')).filter(({ key }) => key === id).map(({ value }) => value === null);
    expect(await valuesOf()).toEqual([false, true]);
    district.put('orgs', row);
    await mirror.delta();
    expect(await valuesOf()).toEqual([false, true, false]);
    expect(await mirror.differences()).toEqual({});
  });

  it('without Redis a restart rebuilds the index from the topics and publishes nothing', async () => {
    await using mirror = await openMirror({ ...OPTIONS, inMemory: true });
    await mirror.full();
    const ends = await mirror.ends();
    await mirror.restart();
    expect(caughtUp(mirror)).toEqual(
      new Map([
        ['users', 'rebuilt'],
        ['orgs', 'rebuilt'],
      ]),
    );
    expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    expect(await keysPublishedTwice(mirror, 'users')).toEqual([]);
  });

  it('an older Redis was restored: removals published since then still count towards the limit of the day', async () => {
    await using mirror = await openMirror({ collections: ['categories'] });
    const { district } = mirror.hub;
    for (const id of district.ids('categories')) district.remove('categories', id);
    const ids = Array.from({ length: 400 }, (_, index) => `row-${index}`);
    for (const sourcedId of ids) district.put('categories', { sourcedId, title: sourcedId });
    await mirror.full();
    const removeSome = async (from: number, to: number): Promise<number> => {
      for (const id of ids.slice(from, to)) district.remove('categories', id);
      const result = (await mirror.full()).get('categories');
      return result?.kind === 'complete' ? result.withheld : Number.NaN;
    };
    expect(await removeSome(0, 25)).toBe(0);
    const redis = await copyRedis(mirror);
    expect(await removeSome(25, 50)).toBe(0);
    await redis.restore();
    await mirror.restart();
    expect(caughtUp(mirror).get('categories')).toBe('resumed');
    expect(await removeSome(50, 51)).toBe(1);
  });
});
