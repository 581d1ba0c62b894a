import { expect, it } from 'vitest';
import { RollcallError, type ErrorCode } from '../../../src/errors.ts';
import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { rollSegments } from '../../../src/session/roll-segments.ts';
import type { Tenant } from '../../../src/table/tenant.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The marks of a process in virtual time, with their times; in its first half minute Kafka fails as given. */
async function roll(
  fromMs: number,
  untilMs: number,
  { fails, markedAtMs = new Map() }: { fails?: ErrorCode; markedAtMs?: Map<TopicSuffix, number> } = {},
) {
  const marked: { atMs: number; ends: Record<string, readonly number[]> }[] = [];
  const stop = new AbortController();
  let nowMs = fromMs;
  const sleep = async (ms: number) => {
    nowMs += ms;
    if (nowMs >= untilMs) stop.abort();
  };
  const rollIntervals = async (topics: readonly string[]) => new Map(topics.map((topic) => [topic, DAY_MS]));
  const markEnds = async (ends: ReadonlyMap<string, readonly number[]>) => {
    if (fails !== undefined && nowMs < fromMs + 30_000)
      throw new RollcallError(fails, 'away', { remedy: '' });
    marked.push({ atMs: nowMs, ends: Object.fromEntries(ends) });
  };
  const tenant = { runtime: { now: () => nowMs, sleep }, log: { rollIntervals, markEnds } };
  const offsets = { 'p.north.users/2': 7, 'p.north.rejects/0': 3 };
  const writers = new Map([['users' as CollectionName, { committed: { offsets, last: null } }]]);
  await rollSegments(tenant as unknown as Tenant, { markedAtMs, writers, signal: stop.signal });
  return marked;
}

it('each partition with data, also of rejects, gets an end marker at once and then daily', async () => {
  const marked = await roll(0, 30 * DAY_MS);
  const ends = { users: [2], rejects: [0] };
  expect(marked.map((each) => each.ends)).toEqual(marked.map(() => ends));
  expect([marked[0]?.atMs, marked.length]).toEqual([0, 30]);
});

it('the segment of a change is closed within two intervals, however often the process restarts', async () => {
  for (const startsEveryMs of [30 * DAY_MS, 20 * HOUR_MS]) {
    const markersMs: number[] = [];
    for (let atMs = 0; atMs < 30 * DAY_MS; atMs += startsEveryMs)
      markersMs.push(...(await roll(atMs, atMs + startsEveryMs)).map((each) => each.atMs));
    for (const changeMs of [HOUR_MS, 12 * HOUR_MS, DAY_MS, 3 * DAY_MS + HOUR_MS, 20 * DAY_MS + 5 * HOUR_MS]) {
      // An append closes the segment before it if that is older than the interval, as Kafka does.
      let openedMs = 0;
      const closedMs = [changeMs, ...markersMs]
        .toSorted((one, other) => one - other)
        .find((atMs) => {
          const closes = atMs - openedMs > DAY_MS;
          if (closes) openedMs = atMs;
          return closes && atMs > changeMs;
        });
      expect((closedMs ?? Infinity) - changeMs).toBeLessThanOrEqual(2 * DAY_MS + HOUR_MS);
    }
  }
});

it('end markers are tried again while Kafka is unreachable, but an unknown outcome ends the session', async () => {
  expect((await roll(0, HOUR_MS, { fails: 'KAFKA_UNREACHABLE' }))[0]?.atMs).toBe(30_000);
  const fails = 'KAFKA_OUTCOME_UNKNOWN';
  await expect(roll(0, HOUR_MS, { fails })).rejects.toMatchObject({ code: fails });
});

it('no end marker is delayed by more than an interval when a clock is corrected', async () => {
  const markedAtMs = new Map<TopicSuffix, number>();
  await roll(30 * DAY_MS, 30 * DAY_MS + HOUR_MS, { markedAtMs });
  const marked = await roll(0, 2 * DAY_MS, { markedAtMs });
  expect(marked.map(({ atMs }) => atMs)).toEqual([0, DAY_MS + 1_000]);
});
