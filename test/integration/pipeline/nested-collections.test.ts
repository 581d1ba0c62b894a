import { describe, expect, it } from 'vitest';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { only } from '../support/only.ts';
import { idOf } from '../support/rows.ts';

const ENABLED = only({ classes: {}, users: {}, enrollments: {}, 'class-students': {} });

function enrol(hub: ReferenceHub, classId: string, user: string): string {
  return hub.district.put('enrollments', {
    sourcedId: `${classId}:${user}:student`,
    status: 'active',
    role: 'student',
    primary: 'false',
    user: { sourcedId: user, type: 'user', href: 'x' },
    class: { sourcedId: classId, type: 'class', href: 'x' },
  });
}

const keys = async (mirror: Mirror, suffix: string): Promise<string[]> =>
  [...(await mirror.view(suffix)).keys()].toSorted();

describe('class-students', () => {
  it('hold the sorted ids of the students of each class, whatever characters its id has', async () => {
    await using mirror = await openMirror({ collections: ENABLED, hubOptions: { students: 40 } });
    const { district } = mirror.hub;
    const [first = '', second = ''] = district.ids('students');
    for (const id of ['a|b', 'a%7Cb', 'a/b?c', 'æ ø']) {
      district.put('classes', { sourcedId: id, title: id });
      enrol(mirror.hub, id, second);
      enrol(mirror.hub, id, first);
    }
    await mirror.full();
    expect(await mirror.differences('classes', 'class-students')).toEqual({});
    const view = await mirror.view('class-students');
    expect([...view.keys()].toSorted()).toEqual(district.ids('classes').toSorted());
    expect(view.get('a|b')?.value).toEqual({ classId: 'a|b', students: [first, second].toSorted() });
    const before = await mirror.ends();
    await mirror.full('class-students');
    expect(await mirror.ends()).toEqual(before);
  });

  it('have one record each for a student who joins, one who leaves and a class that is removed', async () => {
    await using mirror = await openMirror({ collections: ENABLED, hubOptions: { students: 40 } });
    const { district } = mirror.hub;
    await mirror.full();
    const before = await mirror.ends();
    const [classA = '', classB = '', classC = ''] = district
      .ids('classes')
      .filter((id) => district.studentsOfClass(id).length > 2);
    const outsider =
      district.ids('students').find((id) => !district.studentsOfClass(classA).includes(id)) ?? '';
    enrol(mirror.hub, classA, outsider);
    const leaving = district
      .snapshot('enrollments')
      .find(
        (row) => row['role'] === 'student' && (row['class'] as { sourcedId: string }).sourcedId === classB,
      );
    district.remove('enrollments', idOf(leaving));
    district.remove('classes', classC);
    await mirror.full();
    const published = (await mirror.since(before)).filter(
      ({ topic }) => topic === mirror.topic('class-students'),
    );
    expect(new Map(published.map(({ key, headers }) => [key, headers['ce_type']]))).toEqual(
      new Map([
        [classA, 'rollcall.class-students.updated'],
        [classB, 'rollcall.class-students.updated'],
        [classC, 'rollcall.class-students.deleted'],
      ]),
    );
    expect(published).toHaveLength(3);
    expect(await mirror.differences('class-students')).toEqual({});
  });

  it('are not offered while the hub does not offer classes, and are mirrored once it does', async () => {
    await using mirror = await openMirror({ collections: ENABLED, hubOptions: { students: 40 } });
    mirror.hub.faults.set('not-offered@classes');
    for (let republication = 0; republication < 2; republication += 1) {
      const outcomes = await mirror.attempt('FULL');
      const failed = outcomes.filter(({ error }) => error !== null);
      expect(failed.map(({ collection }) => collection)).toEqual(['classes', 'class-students']);
      for (const { error } of failed) expect(error).toMatchObject({ code: 'HUB_NOT_OFFERED' });
    }
    expect(mirror.statusText()).toContain('the hub does not offer classes, class-students');
    const said = mirror.events.filter((event) => event.type === 'not-offered' && event.isNews);
    expect(said).toHaveLength(2);
    mirror.hub.faults.clear();
    await mirror.full();
    expect(await mirror.differences('classes', 'class-students')).toEqual({});
    expect(mirror.statusText()).not.toContain('does not offer');
  });

  it('are complete over several pages', async () => {
    await using mirror = await openMirror({
      collections: ENABLED,
      hubOptions: { students: 40, faults: ['clamp-limit=7@class-students', 'no-link@class-students'] },
    });
    await mirror.full();
    expect(await mirror.differences('class-students')).toEqual({});
  });
});

describe('class-students that cannot be read', () => {
  it('keep the known list, with a reject that is cleared once they can be read', async () => {
    await using mirror = await openMirror({ collections: ENABLED, hubOptions: { students: 40 } });
    await mirror.full();
    const before = await mirror.ends();
    mirror.hub.faults.set('malformed-rows=0.1@class-students');
    await mirror.full('class-students');
    await mirror.full('class-students');
    const published = await mirror.since(before);
    expect(published.length).toBeGreaterThan(0);
    for (const { topic, key, value } of published) {
      expect([topic, key.split('|')[0], value?.['row']]).toEqual([
        mirror.topic('rejects'),
        'class-students',
        null,
      ]);
    }
    mirror.hub.faults.clear();
    await mirror.full('class-students');
    expect((await mirror.view('rejects')).size).toBe(0);
    expect(await mirror.differences('class-students')).toEqual({});
  });
});

describe('afterschool-users', () => {
  it('have percent-encoded keys of two parts, and are removed one by one', async () => {
    const hub = await startTestHub({ size: { studentsPerSchool: 15 } });
    try {
      const [one = '', two = ''] = hub.district.afterschoolIds();
      expect(two).not.toBe('');
      for (const id of ['a|b', 'a%7Cb', '%']) {
        hub.district.put('users', { sourcedId: id, givenName: id });
        expect(hub.district.joinAfterschool(one, id)).toBe(true);
      }
      hub.district.joinAfterschool(two, 'a|b');
      await using mirror = await openMirror({
        hub,
        collections: ['afterschool-users'],
        afterschools: hub.district.afterschoolIds(),
        hubSettings: { pageSize: 5 },
      });
      await mirror.full();
      expect(await mirror.differences()).toEqual({});
      const all = await keys(mirror, 'afterschool-users');
      for (const key of [`${one}|a%7Cb`, `${one}|a%257Cb`, `${one}|%25`, `${two}|a%7Cb`]) {
        expect(all).toContain(key);
      }
      const before = await mirror.ends();
      hub.district.leaveAfterschool(one, 'a|b');
      await mirror.full();
      expect((await mirror.since(before)).map(({ key, value }) => [key, value])).toEqual([
        [`${one}|a%7Cb`, null],
      ]);
      expect(await mirror.differences()).toEqual({});
    } finally {
      await hub.stop();
    }
  });

  it('stay when their programme answers with an empty list', async () => {
    const hub = await startTestHub();
    try {
      const [one = ''] = hub.district.afterschoolIds();
      await using mirror = await openMirror({ hub, collections: ['afterschool-users'], afterschools: [one] });
      await mirror.full();
      const before = await mirror.ends();
      expect((await keys(mirror, 'afterschool-users')).length).toBeGreaterThan(0);
      hub.faults.set('empty-list@afterschool-users');
      await mirror.full();
      await mirror.full();
      expect(await mirror.ends()).toEqual(before);
    } finally {
      await hub.stop();
    }
  });

  it('of one programme are mirrored although another is not found', async () => {
    const hub = await startTestHub();
    try {
      const [one = ''] = hub.district.afterschoolIds();
      await using mirror = await openMirror({
        hub,
        collections: ['afterschool-users', 'orgs'],
        afterschools: ['no-such-programme', one],
      });
      await mirror.attempt('FULL');
      expect((await keys(mirror, 'afterschool-users')).length).toBe(
        hub.district.snapshot(`afterschool-users/${one}`).length,
      );
      expect(await mirror.differences('orgs')).toEqual({});
    } finally {
      await hub.stop();
    }
  });

  it('of an afterschool that the configuration no longer names are missing rows like others', async () => {
    const hub = await startTestHub({ size: { studentsPerSchool: 15 }, startMs: Date.now() });
    try {
      const collections = ['afterschool-users'];
      const rowsAt = (id: string): number => hub.district.snapshot(`afterschool-users/${id}`).length;
      const [one = '', two = ''] = hub.district.afterschoolIds().toSorted((a, b) => rowsAt(b) - rowsAt(a));
      await using mirror = await openMirror({ hub, collections, afterschools: [one, two] });
      await mirror.full();
      const before = await keys(mirror, 'afterschool-users');
      const left = before.filter((key) => key.startsWith(`${one}|`));
      expect(left.length).toBeGreaterThanOrEqual(5);
      const { topicPrefix } = mirror;
      await using changed = await openMirror({ hub, collections, afterschools: [two], topicPrefix });
      const results = await changed.full();
      // Half of the known rows or more: a person decides.
      expect(results.get('afterschool-users')).toMatchObject({ kind: 'complete', withheld: left.length });
      expect(await keys(changed, 'afterschool-users')).toEqual(before);
    } finally {
      await hub.stop();
    }
  });

  it('begin each session with a full sync, which loads an afterschool that entered the configuration', async () => {
    const hub = await startTestHub({ size: { studentsPerSchool: 15 }, startMs: Date.now() });
    try {
      const [one = '', two = ''] = hub.district.afterschoolIds();
      const collections = ['afterschool-users'];
      const firstSync = async (mirror: Mirror): Promise<string> => {
        const stop = new AbortController();
        const runner = mirror.session.runners.get('afterschool-users');
        const running = runner?.loop(stop.signal);
        const ended = () => mirror.events.find(({ type }) => type === 'sync-ended');
        await expect.poll(ended, { timeout: 30_000 }).toBeDefined();
        stop.abort();
        await running;
        const event = ended();
        return event?.type === 'sync-ended' ? event.stats.mode : '';
      };
      await using mirror = await openMirror({ hub, collections, afterschools: [one] });
      await mirror.full();
      const { topicPrefix } = mirror;
      await using grown = await openMirror({ hub, collections, afterschools: [one, two], topicPrefix });
      expect(await firstSync(grown)).toBe('FULL');
      expect(await grown.differences()).toEqual({});
    } finally {
      await hub.stop();
    }
  });

  it('of an afterschool named before a known one are not mistaken for another tenant’s, however many pages they fill', async () => {
    const hub = await startTestHub({ size: { studentsPerSchool: 15 } });
    try {
      const [one = '', two = ''] = hub.district.afterschoolIds();
      const options = { hub, collections: ['afterschool-users'], hubSettings: { pageSize: 1 } };
      for (const id of hub.district.ids('users').slice(0, 30)) hub.district.joinAfterschool(two, id);
      await using mirror = await openMirror({ ...options, afterschools: [one] });
      await mirror.full();
      const { topicPrefix } = mirror;
      await using grown = await openMirror({ ...options, afterschools: [two, one], topicPrefix });
      const results = await grown.full();
      expect(results.get('afterschool-users')).toMatchObject({ kind: 'complete', withheld: 0 });
      expect(await grown.differences()).toEqual({});
    } finally {
      await hub.stop();
    }
  });
});
