import { expect, it } from 'vitest';
import { SegmentRolls } from '../../../src/core/segment-rolls.ts';
import { RollcallError } from '../../../src/errors.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { rollSegments } from '../../../src/session/roll-segments.ts';
import type { Tenant } from '../../../src/table/tenant.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
type EndsToMark = ReadonlyMap<string, readonly number[]>;

/** Gives the marks of a stretch of virtual time with their times; `onMark` may fail. */
async function roll(
  untilMs: number,
  options: { onMark?: (atMs: number) => void } = {},
): Promise<{ atMs: number; ends: EndsToMark }[]> {
  const marked: { atMs: number; ends: EndsToMark }[] = [];
  const stop = new AbortController();
  let nowMs = 0;
  const tenant = {
    runtime: {
      now: () => nowMs,
      sleep: (ms: number) => {
        nowMs += ms;
        if (nowMs > untilMs) stop.abort();
        return Promise.resolve();
      },
    },
    log: {
      rollIntervals: (topics: readonly string[]) =>
        Promise.resolve(new Map(topics.map((topic) => [topic, DAY_MS]))),
      markEnds: (ends: EndsToMark) => {
        options.onMark?.(nowMs);
        marked.push({ atMs: nowMs, ends });
        return Promise.resolve();
      },
    },
  } as unknown as Tenant;
  const offsets = { 'p.north.users/2': 7, 'p.north.rejects/0': 3 };
  const writers = new Map([['users' as CollectionName, { committed: { offsets, last: null } }]]);
  await rollSegments(tenant, { rolls: new SegmentRolls(), writers, signal: stop.signal });
  return marked;
}

it('marks the partitions that hold data, rejects among them, at once and an interval later', async () => {
  const marked = await roll(2 * DAY_MS);
  expect(marked.slice(0, 2).map(({ ends }) => Object.fromEntries(ends))).toEqual([
    { users: [2], rejects: [0] },
    { users: [2], rejects: [0] },
  ]);
  const [first, second] = marked;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(DAY_MS);
});

it('tries again soon while Kafka is unreachable, and ends the session when an outcome is unknown', async () => {
  const away = (code: 'KAFKA_UNREACHABLE' | 'KAFKA_OUTCOME_UNKNOWN') => (atMs: number) => {
    if (atMs < 30_000) throw new RollcallError(code, 'away', { remedy: '' });
  };
  const [first] = await roll(HOUR_MS, { onMark: away('KAFKA_UNREACHABLE') });
  expect(first?.atMs).toBe(30_000);
  await expect(roll(HOUR_MS, { onMark: away('KAFKA_OUTCOME_UNKNOWN') })).rejects.toMatchObject({
    code: 'KAFKA_OUTCOME_UNKNOWN',
  });
});
