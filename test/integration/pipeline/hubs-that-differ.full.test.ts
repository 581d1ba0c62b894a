import { expect, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';

const TEN_MINUTES_MS = 600_000;
const FORMAT = ['explicit-nulls', 'relative-hrefs', 'duplicate-rows'];

/** Lets the hub change while a sync runs. */
async function amid({ hub }: Mirror, sync: Promise<unknown>): Promise<void> {
  const over = sync.then(() => true);
  const aMoment = (): Promise<boolean> =>
    new Promise((resolve) => {
      setTimeout(resolve, 15, false);
    });
  for (let steps = 0; steps < 30 && !(await Promise.race([over, aMoment()])); steps += 1) hub.living.step(1);
  await over;
}

it.each([
  'clamp-limit=30 no-link no-total',
  'zero-total no-link clamp-limit=30 number-booleans',
  'unfiltered-total no-link microsecond-stamps',
  'remaining-total no-link real-booleans unknown-fields',
  'next-past-end no-total big-numbers',
  'ignore-after no-link offset-stamps',
  'refuse-unknown refuse-lone-sort text-timestamps',
  'ignore-after refuse-lone-sort no-total no-date',
  'relative-link empty-204 other-envelope=items hidden-microseconds',
  'error-rate=0.03 reset=0.02',
])('topics equal a hub with %s, and repeat no change', async (names) => {
  const faults = names.split(' ');
  await using mirror = await openMirror({
    collections: ['users', 'students', 'enrollments', 'results', 'absence-versions'],
    hubOptions: {
      students: 40,
      faults,
      size: { resultsPerStudentYear: 6, assessmentsPerStudentYear: 2 },
      ...(faults.includes('no-date') ? { startMs: Date.now() } : {}),
    },
    hubSettings: { pageSize: 50 },
    settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
  });
  const { district, clock, living, faults: set } = mirror.hub;
  for (const mode of ['FULL', 'INCREMENTAL', 'INCREMENTAL', 'FULL'] as const) {
    await amid(mirror, mirror.attempt(mode));
    clock.advance(TEN_MINUTES_MS);
  }
  const happened = Object.values(living.happened()).reduce((sum, count) => sum + count, 0);
  // The number depends on the speed of the syncs; without changes the test would prove nothing.
  expect(happened).toBeGreaterThan(15);
  for (const fault of ['error-rate', 'reset']) set.clear(fault);
  // By offset without a total it takes three syncs to remove a row.
  for (let sync = 1; sync <= 3; sync += 1) await mirror.full();
  expect(await mirror.differences()).toEqual({});
  const [first = '', second = ''] = district.ids('users');
  district.patch('users', first, { givenName: 'Changed' });
  const { dateLastModified: _, ...twin } = district.get('users', second) ?? {};
  district.put('users', { ...twin, sourcedId: 'a-new-one' });
  await mirror.incremental();
  expect(await mirror.differences()).toEqual({});
  const settled = await mirror.ends();
  clock.advance(TEN_MINUTES_MS);
  district.restamp();
  await mirror.incremental();
  // The same content in another format.
  for (const fault of FORMAT) set.set(fault);
  await mirror.full();
  expect(await mirror.ends()).toEqual(settled);
});
