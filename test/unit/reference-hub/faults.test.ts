import { afterAll, afterEach, expect, it } from 'vitest';
import { COLLECTION_NAMES, COLLECTIONS } from '../../../reference-hub/district/collections.ts';
import { FAULTS } from '../../../reference-hub/server/faults/registry.ts';
import type { Parameters, Row } from './hub-client.ts';
import { ABSENCES, ROSTERING, SCHEDULES, USERS, startTestHub } from './hub-client.ts';

const test = await startTestHub();
afterAll(() => test[Symbol.asyncDispose]());
const { district, faults } = test.hub;
afterEach(() => faults.clear());

const all = district.ids('users');
const [student = ''] = district.ids('students');
const ORGS = `${ROSTERING}/orgs`;
const STUDENTS_ONLY = { limit: 1000, filter: "roles.role='student'" };
const MONDAY = { student, from: '2026-11-16', to: '2026-11-16' };
const orgStamp = district.snapshot('orgs')[0]!['dateLastModified'] as string;
const lessons = district.lessons(MONDAY);
const text = (part: string | RegExp): { text: unknown } => ({ text: expect.stringMatching(part) });
const next = (url: RegExp): object => ({ links: { next: expect.stringMatching(url) } });
const first = (fields: object): { rows: unknown } => ({
  rows: expect.arrayContaining([expect.objectContaining(fields)]),
});

const UNKNOWN: unknown = expect.objectContaining({ 'x.extra': ['a', 1] });

/** What a hub with a fault answers, and the same hub without it does not. */
const SEEN: Record<string, readonly [path: string, parameters: Parameters, answer: object]> = {
  'no-date': [USERS, {}, { status: 200, date: null }],
  'status=503': [USERS, {}, { status: 503 }],
  'html-error=502': [USERS, {}, { status: 502, ...text(/^<!DOCTYPE html>/) }],
  'not-offered@users': [USERS, {}, { status: 404 }],
  truncate: [USERS, {}, { status: 200, ...text(/[^\]}]$/) }],
  'clamp-limit=30': [USERS, { limit: 50 }, { ids: all.slice(0, 30) }],
  'no-link': [USERS, {}, { status: 200, link: null }],
  'no-total': [USERS, {}, { status: 200, total: null }],
  'zero-total': [USERS, {}, { status: 200, total: '0' }],
  'unfiltered-total': [USERS, STUDENTS_ONLY, { total: String(all.length) }],
  'remaining-total': [USERS, { afterSourcedId: all[9]! }, { total: String(all.length - 10) }],
  'ignore-after': [USERS, { limit: 5, afterSourcedId: all[50]! }, { ids: all.slice(0, 5), links: {} }],
  'refuse-unknown': [USERS, { colour: 'blue' }, { status: 400 }],
  'refuse-lone-sort': [USERS, { sort: 'sourcedId' }, { status: 400 }],
  'foreign-link=http://127.0.0.2:9': [USERS, {}, next(/^http:\/\/127\.0\.0\.2:9\/north\/.*afterSourcedId=/)],
  'relative-link': [USERS, {}, next(/^\/north\/ims\/.*afterSourcedId=/)],
  'empty-list': [USERS, {}, { status: 200, text: '{"users":[]}', total: '0' }],
  'missing-list': [USERS, {}, { status: 200, text: '{}' }],
  'other-envelope=data': [USERS, {}, { ids: all.slice(0, 100), ...text(/^{"data":/) }],
  'empty-204': [USERS, { filter: "sourcedId='nobody'" }, { status: 204, text: '' }],
  'duplicate-rows': [USERS, {}, { ids: [all[0], ...all.slice(0, 100)] }],
  'skip-rows': [USERS, {}, { ids: all.slice(0, 100).filter((_, at) => at !== 50) }],
  // As text, a time without milliseconds sorts after the same one with them.
  'text-timestamps': [ORGS, { filter: `dateLastModified<'${orgStamp.replace('.000Z', 'Z')}'` }, first({})],
  'hidden-microseconds': [ORGS, { filter: `dateLastModified>'${orgStamp}'` }, first({})],
  'real-booleans': [USERS, {}, first({ enabledUser: true })],
  'number-booleans': [USERS, {}, first({ enabledUser: 1 })],
  'explicit-nulls': [USERS, {}, first({ middleName: null })],
  'unknown-fields': [USERS, {}, first({ 'x-shoeSize': 42, metadata: UNKNOWN })],
  'relative-hrefs': [USERS, {}, text(/"href":"\/north\/ims\//)],
  'microsecond-stamps': [USERS, {}, first({ dateLastModified: expect.stringMatching(/\.\d{6}Z$/) })],
  'offset-stamps': [USERS, {}, first({ dateLastModified: expect.stringMatching(/\.\d{3}\+00:00$/) })],
  'big-numbers': [USERS, {}, text('"x-big":9007199254740993.25}')],
  'deep-nesting=5000': [USERS, {}, text(/\[{5000}/)],
  'malformed-rows=0.4': [ABSENCES, { limit: 1000 }, first({ replacedBy: expect.any(String) })],
  'schedules-shape=odata': [SCHEDULES, MONDAY, { rows: lessons, ...text('"value":') }],
};

/** What shows only in several answers, or in none. */
const PROVEN: Record<string, () => Promise<void>> = {
  'latency=120': async () => {
    const startedAt = performance.now();
    expect((await test.get(USERS)).ids).toHaveLength(100);
    expect(performance.now() - startedAt).toBeGreaterThan(110);
  },
  reset: () => expect(test.get(USERS)).rejects.toThrow(/fetch failed|terminated/),
  'refuse-connection': () => expect(test.get(USERS)).rejects.toThrow(/fetch failed|terminated/),
  'next-past-end': async () => {
    for (const parameters of [{ limit: 1000 }, { limit: 1000, offset: 0 }]) {
      const { next = '' } = (await test.get(USERS, parameters)).links;
      expect((await test.getUrl(next)).ids).toEqual([]);
    }
  },
  'lost-school=2': async () => {
    await using other = await startTestHub({ size: { studentsPerSchool: 25 }, faults: ['lost-school=2'] });
    const rowsOf = (name: string): Row[] => other.hub.district.snapshot(name);
    const school = rowsOf('orgs').find(({ identifier }) => identifier === '900000002')![
      'sourcedId'
    ] as string;
    const students = rowsOf('students').filter((row) => JSON.stringify(row).includes(school));
    const lost = [school, ...students.map(({ sourcedId }) => sourcedId as string)];
    expect(lost.length).toBeGreaterThan(10);
    for (const name of COLLECTION_NAMES) {
      const kept = rowsOf(name).filter(
        (row) => row['type'] === 'district' || !lost.some((id) => JSON.stringify(row).includes(id)),
      );
      const ids = kept.map(({ sourcedId }) => sourcedId);
      const shown = await other.get(COLLECTIONS[name].path, { limit: 100_000 });
      expect([name, shown.ids, shown.total]).toEqual([name, ids, String(ids.length)]);
    }
  },
  'error-rate=0.5': async () => {
    const pages = await Promise.all(Array.from({ length: 60 }, () => test.get(USERS, { limit: 1 })));
    const failed = pages.filter((page) => page.status >= 500).length;
    expect([failed > 10, failed < 50]).toEqual([true, true]);
  },
};

const statusOf = async (path: string): Promise<number> => (await test.get(path)).status;

it('each fault of the reference hub has a test', () => {
  const proven = Object.keys({ ...SEEN, ...PROVEN }).map((spec) => spec.split(/[=@]/)[0]);
  expect(new Set(proven)).toEqual(new Set(FAULTS.map((fault) => fault.name)));
});

it.each(Object.entries(SEEN))(
  'the fault %s of the reference hub shows, and only while it is set',
  async (spec, [path, parameters, answer]) => {
    faults.set(spec);
    expect(await test.get(path, parameters)).toMatchObject(answer);
    faults.clear();
    expect(await test.get(path, parameters)).not.toMatchObject(answer);
  },
);

it.each(Object.entries(PROVEN))(
  'the reference hub shows the fault %s when it is set',
  async (spec, prove) => {
    faults.set(spec);
    await prove();
  },
);

it('the token endpoint of the reference hub has only the faults that name it', async () => {
  faults.set('status', { value: 500 });
  await test.newToken();
  expect(await statusOf(USERS)).toBe(500);
  faults.set('status', { value: 503, collection: 'token' });
  expect((await fetch(test.hub.tokenUrl, { method: 'POST' })).status).toBe(503);
});

it('a fault of the reference hub for two requests does not affect the third', async () => {
  faults.set('status=500', { times: 2 });
  const statuses = [await statusOf(USERS), await statusOf(USERS), await statusOf(USERS)];
  expect([...statuses, faults.list()]).toEqual([500, 500, 200, []]);
});

it.each(['nonsense', 'latency@nowhere', 'no-link=5'])('the reference hub refuses the fault %s', (spec) => {
  expect(() => faults.set(spec)).toThrow(RangeError);
});
