import { expect, it } from 'vitest';
import { SegmentRolls } from '../../../src/core/segment-rolls.ts';
import { RollcallError, type ErrorCode } from '../../../src/errors.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { rollSegments } from '../../../src/session/roll-segments.ts';
import type { Tenant } from '../../../src/table/tenant.ts';

const DAY_MS = 24 * 3_600_000;

/** The marks of a stretch of virtual time with their times; for the first half minute Kafka fails as given. */
async function roll(untilMs: number, fails?: ErrorCode) {
  const marked: { atMs: number; ends: Record<string, readonly number[]> }[] = [];
  const stop = new AbortController();
  let nowMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms;
    if (nowMs > untilMs) stop.abort();
  };
  const rollIntervals = async (topics: readonly string[]) => new Map(topics.map((topic) => [topic, DAY_MS]));
  const markEnds = async (ends: ReadonlyMap<string, readonly number[]>) => {
    if (fails !== undefined && nowMs < 30_000) throw new RollcallError(fails, 'away', { remedy: '' });
    marked.push({ atMs: nowMs, ends: Object.fromEntries(ends) });
  };
  const tenant = { runtime: { now: () => nowMs, sleep }, log: { rollIntervals, markEnds } };
  const offsets = { 'p.north.users/2': 7, 'p.north.rejects/0': 3 };
  const writers = new Map([['users' as CollectionName, { committed: { offsets, last: null } }]]);
  const options = { rolls: new SegmentRolls(), writers, signal: stop.signal };
  await rollSegments(tenant as unknown as Tenant, options);
  return marked;
}

it('the partitions that hold data, rejects among them, are marked at once and an interval later', async () => {
  const [first, second] = await roll(2 * DAY_MS);
  const ends = { users: [2], rejects: [0] };
  expect([first?.ends, second?.ends]).toEqual([ends, ends]);
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(DAY_MS);
});

it('marks are tried again soon while Kafka is unreachable, and end the session when an outcome is unknown', async () => {
  expect((await roll(3_600_000, 'KAFKA_UNREACHABLE'))[0]?.atMs).toBe(30_000);
  const code = 'KAFKA_OUTCOME_UNKNOWN';
  await expect(roll(3_600_000, code)).rejects.toMatchObject({ code });
});
