import { describe, expect, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';

const TEN_MINUTES_MS = 600_000;
const SMALL = { students: 40, size: { resultsPerStudentYear: 6, assessmentsPerStudentYear: 2 } };
const COLLECTIONS = ['users', 'results', 'enrollments'] as const;

/** Plays a first load, an incremental sync with a changed and a new row, and a vanished row: after each the topics equal the hub. */
async function liveThroughADay(mirror: Mirror): Promise<void> {
  const { district, clock } = mirror.hub;
  await mirror.full();
  expect(await mirror.differences()).toEqual({});
  clock.advance(TEN_MINUTES_MS);
  const [first = '', second = ''] = district.ids('users');
  district.patch('users', first, { givenName: 'Changed' });
  const { dateLastModified: _, ...twin } = district.get('users', second) ?? {};
  district.put('users', { ...twin, sourcedId: 'a-new-one' });
  await mirror.delta();
  expect(await mirror.differences()).toEqual({});
  const [result = ''] = district.ids('results').slice(5);
  district.remove('results', result);
  const before = await mirror.ends();
  await mirror.full();
  await mirror.full();
  expect((await mirror.since(before)).map(({ key, value }) => [key, value])).toEqual([[result, null]]);
  expect(await mirror.differences()).toEqual({});
  clock.advance(TEN_MINUTES_MS);
  district.restamp();
  const settled = await mirror.ends();
  await mirror.delta();
  await mirror.full();
  expect(await mirror.ends()).toEqual(settled);
}

describe('hubs that differ from the standard are mirrored exactly', () => {
  it.each([
    ['a clamped limit', ['clamp-limit=30']],
    ['a missing Link', ['no-link']],
    ['a missing total', ['no-total']],
    ['a clamped limit without Link or total', ['clamp-limit=30', 'no-link', 'no-total']],
    ['a total of 0', ['zero-total', 'no-link', 'clamp-limit=30']],
    ['a total of the unfiltered set', ['unfiltered-total', 'no-link']],
    ['a total of the remaining rows', ['remaining-total', 'no-link']],
    ['a next link past the end', ['next-past-end', 'no-total']],
    ['a hub that ignores afterSourcedId', ['ignore-after', 'no-link']],
    ['a hub that refuses afterSourcedId', ['refuse-unknown', 'refuse-lone-sort']],
    ['a hub that supports only offset paging', ['ignore-after', 'one-clause', 'no-total']],
    ['relative links and 204 for an empty list', ['relative-link', 'empty-204']],
    ['another envelope', ['other-envelope=items']],
    ['a row twice in a page', ['duplicate-rows']],
    ['a timestamp filter compared as text', ['text-timestamps']],
    ['stamps that hide their microseconds', ['hidden-microseconds']],
    ['stamps in microseconds', ['microsecond-stamps']],
    ['stamps with an offset', ['offset-stamps']],
    ['booleans that are booleans', ['real-booleans']],
    ['booleans that are numbers', ['number-booleans']],
    ['explicit nulls', ['explicit-nulls']],
    ['unknown fields', ['unknown-fields']],
    ['numbers that no double holds', ['big-numbers']],
    ['relative hrefs', ['relative-hrefs']],
  ])('%s', async (_, faults) => {
    await using mirror = await openMirror({
      collections: COLLECTIONS,
      hubOptions: { ...SMALL, faults },
      hubSettings: { pageSize: 50 },
    });
    await liveThroughADay(mirror);
  });

  it('no Date header: the local clock is used', async () => {
    await using mirror = await openMirror({
      collections: COLLECTIONS,
      hubOptions: { ...SMALL, faults: ['no-date'], startMs: Date.now() },
    });
    await liveThroughADay(mirror);
  });
});

describe('a hub that changes its format', () => {
  it.each([
    ['explicit nulls', ['explicit-nulls']],
    ['booleans as booleans', ['real-booleans']],
    ['booleans as numbers', ['number-booleans']],
    ['relative hrefs', ['relative-hrefs']],
    ['rows twice', ['duplicate-rows']],
  ])('%s: the same content in another format causes no record', async (_, faults) => {
    await using mirror = await openMirror({ collections: COLLECTIONS, hubSettings: { pageSize: 50 } });
    await mirror.full();
    const before = await mirror.ends();
    for (const fault of faults) mirror.hub.faults.set(fault);
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });

  it('another paging: the sync that meets it fails by name, and the next one causes no record', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS, hubSettings: { pageSize: 50 } });
    await mirror.full();
    const before = await mirror.ends();
    for (const fault of ['ignore-after', 'ignore-filter', 'no-link']) mirror.hub.faults.set(fault);
    for (const name of COLLECTIONS)
      await expect(mirror.full(name)).rejects.toMatchObject({ code: 'HUB_PAGING_BROKEN' });
    await mirror.full();
    expect(await mirror.ends()).toEqual(before);
  });
});
