import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';

const TEN_MINUTES_MS = 600_000;

const hubEvents = (mirror: Mirror) =>
  mirror.events.flatMap((event) => (event.type === 'hub' ? [event.event] : []));

describe('inconclusive answers', () => {
  it('missing-list where there were rows causes no removal', async () => {
    await using mirror = await openMirror({ collections: ['orgs', 'courses'] });
    const { faults, clock } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    const watermark = async (): Promise<unknown> =>
      (await mirror.view('progress')).get('courses')?.value?.['watermark'];
    const watermarkBefore = await watermark();
    clock.advance(TEN_MINUTES_MS);
    faults.set('missing-list@courses');
    for (const sync of [1, 2, 3]) {
      const results = await mirror.full();
      expect([sync, results.get('courses')?.kind]).toEqual([sync, 'inconclusive']);
      expect(results.get('orgs')?.kind).toBe('complete');
    }
    expect(await watermark()).toBe(watermarkBefore);
    await mirror.delta();
    expect(await mirror.ends()).toEqual(before);
    faults.clear();
    expect((await mirror.full()).get('courses')?.kind).toBe('complete');
    expect(await mirror.ends()).toEqual(before);
  });

  it.each(['empty-list', 'empty-204'])(
    '%s where there were rows misses all, so the collection is held',
    async (fault) => {
      await using mirror = await openMirror({ collections: ['orgs', 'courses'] });
      const { district, faults } = mirror.hub;
      await mirror.full();
      const before = await mirror.ends();
      const kept = district.snapshot('courses');
      faults.set(`${fault}@courses`);
      for (const id of district.ids('courses')) district.remove('courses', id);
      for (const sync of [1, 2, 3]) {
        const results = await mirror.full();
        expect([sync, results.get('courses')]).toMatchObject([sync, { withheld: kept.length }]);
      }
      expect(await mirror.ends()).toEqual(before);
      faults.clear();
      for (const row of kept) district.put('courses', row);
      expect((await mirror.full()).get('courses')).toMatchObject({ kind: 'complete', withheld: 0 });
      expect(await mirror.ends()).toEqual(before);
    },
  );

  it.each([[[]], [['empty-204']], [['empty-204', 'no-total', 'no-link']]])(
    'a collection that is empty from the start is complete, and fills later (%s)',
    async (faults: string[]) => {
      await using mirror = await openMirror({ collections: ['categories'] });
      const { district } = mirror.hub;
      for (const id of district.ids('categories')) district.remove('categories', id);
      for (const fault of faults) mirror.hub.faults.set(fault);
      const first = await mirror.full();
      expect(first.get('categories')).toMatchObject({ kind: 'complete', stats: { rowsSeen: 0 } });
      district.put('categories', { sourcedId: 'cat-1', title: 'Homework' });
      mirror.hub.clock.advance(TEN_MINUTES_MS);
      await mirror.delta();
      expect(await mirror.differences()).toEqual({});
      expect((await mirror.view('categories')).size).toBe(1);
    },
  );

  it('a class-list that comes back empty for every class empties no class', async () => {
    await using mirror = await openMirror({ collections: only({ classes: {}, 'class-students': {} }) });
    await mirror.full('classes');
    await mirror.full('class-students');
    const before = await mirror.ends();
    mirror.hub.faults.set('empty-list@class-students');
    await mirror.full('class-students');
    await mirror.full('class-students');
    expect(await mirror.ends()).toEqual(before);
    mirror.hub.faults.clear();
    expect(await mirror.differences()).toEqual({});
  });

  it('a collection that is not offered is logged once, and the others continue', async () => {
    await using mirror = await openMirror({ collections: ['orgs', 'courses'] });
    mirror.hub.faults.set('not-offered@courses');
    for (const sync of [1, 2]) {
      const outcomes = await mirror.attempt('FULL');
      const courses = outcomes.find(({ collection }) => collection === 'courses');
      expect([sync, courses?.error]).toEqual([sync, expect.objectContaining({ code: 'HUB_NOT_OFFERED' })]);
    }
    const warnings = mirror.logLines
      .map((line) => JSON.parse(line) as { level: string; msg: string; collection?: string })
      .filter(({ level, msg }) => level === 'warn' && msg.includes('does not offer'));
    expect(warnings.map(({ collection }) => collection)).toEqual(['courses']);
    expect(await mirror.differences('orgs')).toEqual({});
    mirror.hub.faults.clear();
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
  });

  it('a collection that the hub begins to offer is no longer marked as not offered, even while its answers are inconclusive', async () => {
    await using mirror = await openMirror({ collections: ['orgs', 'courses'] });
    mirror.hub.faults.set('not-offered@courses');
    await mirror.attempt('FULL');
    expect(mirror.statusText()).toContain('the hub does not offer courses');
    mirror.hub.faults.clear();
    mirror.hub.faults.set('missing-list@courses');
    const [courses] = await mirror.attempt('FULL', 'courses');
    expect(courses?.result?.kind).toBe('inconclusive');
    expect(mirror.statusText()).not.toContain('does not offer');
  });

  it('a collection that is no longer offered loses no row', async () => {
    await using mirror = await openMirror({ collections: ['orgs', 'courses'] });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.faults.set('not-offered@courses');
    await mirror.attempt('FULL');
    await mirror.attempt('FULL');
    expect(await mirror.ends()).toEqual(before);
  });
});

describe('tokens', () => {
  it.each([[[]], [['token-expired-403']]])(
    'an expired token is renewed during a sync (%s)',
    async (faults: string[]) => {
      await using mirror = await openMirror({ collections: ['users'], hubSettings: { pageSize: 10 } });
      const { hub } = mirror;
      for (const fault of faults) hub.faults.set(fault);
      await mirror.full();
      hub.tokens.revokeAll();
      hub.clock.advance(TEN_MINUTES_MS);
      hub.district.restamp();
      hub.district.put('users', { sourcedId: 'new-user', givenName: 'New' });
      await mirror.full();
      expect(await mirror.differences()).toEqual({});
      expect(hubEvents(mirror).filter(({ type }) => type === 'token-obtained')).toHaveLength(2);
    },
  );

  it('a missing right is reported with a remedy, and few tokens are requested for it', async () => {
    await using mirror = await openMirror({ collections: ['orgs', 'courses'] });
    mirror.hub.faults.set('status=403@courses');
    const outcomes = await mirror.attempt('FULL');
    const error = outcomes.find(({ collection }) => collection === 'courses')?.error as RollcallError;
    expect(error).toBeInstanceOf(RollcallError);
    expect([error.code, error.message]).toEqual(['HUB_FORBIDDEN', expect.stringContaining('courses')]);
    expect(error.remedy.length).toBeGreaterThan(20);
    expect(mirror.hub.tokens.issued()).toBeLessThanOrEqual(3);
    expect(await mirror.differences('orgs')).toEqual({});
  });

  it('a Link to another origin is refused and gets no token', async () => {
    const visits: (string | undefined)[] = [];
    const stranger = createServer((request, response) => {
      visits.push(request.headers.authorization);
      response.end('{}');
    });
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    try {
      await using mirror = await openMirror({
        collections: ['users', 'results'],
        hubSettings: { pageSize: 20 },
      });
      mirror.hub.faults.set(`foreign-link=http://127.0.0.1:${(stranger.address() as AddressInfo).port}`);
      await mirror.full();
      await mirror.full();
      expect(visits).toEqual([]);
      expect(await mirror.differences()).toEqual({});
      const refusals = hubEvents(mirror).filter(
        (event) => event.type === 'hub-differs' && event.how.startsWith('a link'),
      );
      expect(refusals.map((event) => ('collection' in event ? event.collection : '')).toSorted()).toEqual([
        'results',
        'users',
      ]);
    } finally {
      stranger.close();
    }
  });
});

describe('a hub that fails now and then', () => {
  it('is mirrored exactly although every tenth request fails', async () => {
    await using mirror = await openMirror({
      collections: ['users', 'students', 'enrollments', 'results', 'absence-versions', 'classes'],
      hubSettings: { pageSize: 100 },
    });
    const { faults, district, clock, requests } = mirror.hub;
    faults.set('error-rate=0.1');
    faults.set('reset=0.05');
    faults.set('refuse-connection=0.02');
    faults.set('truncate@users', { times: 1 });
    faults.set('html-error=502@results', { times: 2 });
    faults.set('html-error=200@enrollments', { times: 1 });
    faults.set('rate-limit=1@classes', { times: 1 });
    faults.set('status=503@token', { times: 1 });
    const settle = async (mode: 'FULL' | 'INCREMENTAL'): Promise<void> => {
      for (let attempt = 1; attempt <= 5; attempt += 1) {
        if ((await mirror.attempt(mode)).every(({ error }) => error === null)) return;
      }
      throw new Error('five syncs in a row failed');
    };
    await settle('FULL');
    clock.advance(TEN_MINUTES_MS);
    const [student = ''] = district.ids('students');
    district.patch('users', student, { givenName: 'Changed' });
    const [enrollment = ''] = district.ids('enrollments');
    district.remove('enrollments', enrollment);
    await settle('INCREMENTAL');
    await settle('FULL');
    const failed = Object.values(requests.counts()).flatMap((byStatus) =>
      Object.entries(byStatus).map(([status, count]) => (Number(status) >= 500 ? count : 0)),
    );
    expect(failed.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(3);
    faults.clear();
    expect(await mirror.differences()).toEqual({});
    const keys = (await mirror.records('results')).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('causes an error with a remedy by an unusable answer, and loses no row', async () => {
    await using mirror = await openMirror({
      collections: ['orgs', 'courses', 'classes', 'academic-sessions'],
      hubSettings: { maxResponseBytes: 1_048_576 },
    });
    const { district, faults } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    faults.set('truncate@courses');
    faults.set('html-error=200@classes');
    faults.set('huge-response=3@academic-sessions');
    const outcomes = await mirror.attempt('FULL');
    const codes = outcomes.map(({ collection, error }): [string, string] => {
      if (!(error instanceof RollcallError)) return [collection, 'none'];
      expect(error.remedy.length).toBeGreaterThan(20);
      return [collection, error.code];
    });
    expect(Object.fromEntries(codes)).toEqual({
      orgs: 'none',
      courses: 'HUB_BODY_INVALID',
      classes: 'HUB_BODY_INVALID',
      'academic-sessions': 'HUB_RESPONSE_TOO_LARGE',
    });
    expect(await mirror.ends()).toEqual(before);
    faults.clear();
    for (const collection of ['courses', 'classes', 'academic-sessions']) {
      district.put(collection, { sourcedId: 'new', title: 'New' });
    }
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
  });
});

describe('a page that is too large', () => {
  it('is requested again in smaller pages, and no row is lost', async () => {
    await using mirror = await openMirror({
      collections: ['users'],
      hubSettings: { maxResponseBytes: 65_536, pageSize: 1000 },
    });
    expect(mirror.hub.district.snapshotJson('users').length).toBeGreaterThan(80_000);
    await mirror.full();
    expect(await mirror.differences()).toEqual({});
    expect(
      hubEvents(mirror).some((event) => event.type === 'hub-differs' && event.how.startsWith('pages of')),
    ).toBe(true);
  });
});
