import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { COLLECTION_NAMES, COLLECTIONS } from '../../../reference-hub/district/collections.ts';
import type { ReferenceHub, ReferenceHubOptions } from '../../../reference-hub/start-reference-hub.ts';
import { startReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import type { Row } from './hub-client.ts';
import { NOON } from './hub-client.ts';

const idOf = (reference: unknown): string => (reference as { sourcedId: string } | null)?.sourcedId ?? '';

/** Uses a fixed clock, so that the times follow from the seed alone. */
async function withHub<T>(options: ReferenceHubOptions, use: (hub: ReferenceHub) => T): Promise<Awaited<T>> {
  const fixed = { students: 40, startMs: NOON, now: () => 0, publicOrigin: 'http://hub.example' };
  const hub = await startReferenceHub({ ...fixed, ...options });
  try {
    return await use(hub);
  } finally {
    await hub.stop();
  }
}

function everything(hub: ReferenceHub): Record<string, Row[]> {
  return Object.fromEntries(COLLECTION_NAMES.map((name) => [name, hub.district.snapshot(name)]));
}

/** How many references there are, and those that lead nowhere. */
function references(rows: Record<string, Row[]>): { sound: number; broken: string[] } {
  const places = COLLECTION_NAMES.flatMap((name) =>
    (rows[name] ?? []).map((row) => `${COLLECTIONS[name].path}/${encodeURIComponent(idOf(row))}`),
  );
  const known = new Set(places);
  const hrefs = [...JSON.stringify(rows).matchAll(/"href":"http:\/\/hub\.example\/north([^"]*)"/g)];
  const broken = hrefs.map(([, place = '']) => place).filter((place) => !known.has(place));
  return { sound: hrefs.length - broken.length, broken };
}

function brokenChains(absences: Row[]): string[] {
  const byId = new Map(absences.map((row) => [idOf(row), row]));
  return absences.flatMap((row) => {
    const { replaces, replacedBy, deletedTime, fromTime, toTime } = row;
    const isSound =
      (replaces === null || idOf(byId.get(idOf(replaces))?.['replacedBy']) === idOf(row)) &&
      (replacedBy === null || idOf(byId.get(idOf(replacedBy))?.['replaces']) === idOf(row)) &&
      (replacedBy === null || deletedTime === undefined) &&
      (fromTime as string) < (toTime as string);
    return isSound ? [] : [idOf(row)];
  });
}

it('the living district of the reference hub keeps every reference and every chain sound', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(1_000_000), fc.integer({ min: 0, max: 400 }), async (seed, steps) => {
      const rows = await withHub({ seed, students: 20 }, (hub) => {
        hub.living.step(steps);
        return everything(hub);
      });
      const { sound, broken } = references(rows);
      expect([sound > 1_000, broken, brokenChains(rows['absences']!)]).toEqual([true, [], []]);
      for (const role of ['student', 'teacher']) {
        const ofRole = rows['users']!.filter((row) => (row['roles'] as Row[])[0]?.['role'] === role);
        expect(rows[`${role}s`]!.map(idOf)).toEqual(ofRole.map(idOf));
      }
    }),
    { numRuns: 6 },
  );
}, 120_000);

it('the living district of the reference hub makes every kind of change, always the same for a seed', async () => {
  const live = (seed: number) =>
    withHub({ seed }, (hub) => JSON.stringify([hub.living.step(200), everything(hub)]));
  const rows = await live(5);
  expect([await live(5), (await live(6)) === rows]).toEqual([rows, false]);
  const happened = await withHub({ seed: 5 }, (hub) => hub.living.step(2000));
  const kinds =
    'absence deleted,absence registered,absence replaced,class moved to another room,contact changed,' +
    'enrolment moved,line item added,line item moved,result arrived,result corrected,student joined,student left';
  expect(Object.keys(happened).toSorted()).toEqual(kinds.split(','));
});

it('the living district of the reference hub changes until it is frozen, and re-stamps rows at night', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const startMs = Date.UTC(2026, 10, 20, 23, 59, 50);
  const options = { live: true, changesPerMinute: 3000, startMs, restampAt: '01:00' };
  await withHub(options, ({ living, clock }) => {
    const happenedAfter = (ms: number) => {
      vi.advanceTimersByTime(ms);
      return living.happened();
    };
    const frozen = happenedAfter(1000);
    expect([Object.keys(frozen).length > 0, 'restamp' in frozen]).toEqual([true, false]);
    living.freeze();
    expect(happenedAfter(60_000)).toEqual(frozen);
    living.unfreeze();
    clock.advance(11_000);
    expect(happenedAfter(1000)).toMatchObject({ restamp: 1 });
  });
  vi.useRealTimers();
});
