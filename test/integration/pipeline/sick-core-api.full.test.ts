import { describe, expect, it, vi } from 'vitest';
import { absentStudents } from '../support/schedule-oracle.ts';
import { living, openScheduleMirror, type ScheduleMirror } from './schedule-mirror.ts';

/**
 * A request that hangs is given up after ten seconds. If absences waited for one, each would take longer than this; a loaded
 * machine may delay some of them, but not all.
 */
const UNDELAYED_MS = 8_000;
const CHANGES = 4;

const publishedSoFar = (mirror: ScheduleMirror): number =>
  mirror.events.reduce(
    (sum, event) => sum + (event.type === 'absences-published' ? event.tally.created : 0),
    0,
  );

/** The number of complete pages of schedules. */
const answered = (mirror: ScheduleMirror): number =>
  mirror.events.filter(
    (event) =>
      event.type === 'hub' && event.event.type === 'request-done' && event.event.target === 'schedules',
  ).length;

/** Registers absences one after another; returns how long each took until it was committed, ms. */
async function commitTimes(mirror: ScheduleMirror): Promise<number[]> {
  const times: number[] = [];
  for (const student of mirror.hub.district.ids('students').slice(0, CHANGES)) {
    const before = publishedSoFar(mirror);
    const startedAt = performance.now();
    mirror.hub.district.registerAbsence({
      student,
      fromTime: '2026-03-10T07:00:00Z',
      toTime: '2026-03-10T12:00:00Z',
    });
    await vi.waitFor(() => expect(publishedSoFar(mirror)).toBe(before + 1), {
      timeout: 60_000,
      interval: 20,
    });
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function open(maxConcurrentRequests: number): Promise<ScheduleMirror> {
  return openScheduleMirror({
    students: 'absent',
    daysBack: 7,
    hubOptions: { students: 40 },
    tenant: { deltaEvery: '300ms' },
    hubSettings: { maxConcurrentRequests },
  });
}

/** Waits until absences are loaded and students are being asked for. */
async function isAsking(mirror: ScheduleMirror): Promise<void> {
  const isStarted = (): boolean =>
    mirror.events.some((event) => event.type === 'sync-started' && event.collection === 'schedules');
  await vi.waitFor(() => expect(isStarted()).toBe(true), { timeout: 60_000, interval: 20 });
}

describe('a Core API', () => {
  it.each([
    { how: 'that answers 500', fault: 'status=500@schedules', requests: 4 },
    { how: 'that cuts connections', fault: 'refuse-connection@schedules', requests: 4 },
    { how: 'that hangs', fault: 'latency=600000@schedules', requests: 4 },
    { how: 'that hangs, where one request is allowed', fault: 'latency=600000@schedules', requests: 1 },
    { how: 'that answers byte by byte', fault: 'slow-body=20000@schedules', requests: 2 },
    { how: 'that limits the rate', fault: 'rate-limit=120@schedules', requests: 4 },
    { how: 'that refuses the token', fault: 'status=403@schedules', requests: 4 },
    { how: 'that does not know the token', fault: 'status=401@schedules', requests: 4 },
  ])('$how does not delay absences', async ({ fault, requests }) => {
    await using mirror = await open(requests);
    mirror.hub.faults.set(fault);
    const times = await living(mirror, async () => {
      await isAsking(mirror);
      return commitTimes(mirror);
    });
    // No student was answered for, so no absence can have waited for an answer.
    expect(answered(mirror)).toBe(0);
    expect(await mirror.records('schedules')).toEqual([]);
    expect(Math.min(...times)).toBeLessThan(UNDELAYED_MS);
    expect(mirror.events.filter(({ type }) => type === 'session-failed')).toEqual([]);
  });

  it('that is slow does not delay absences, and is read in full in the end', async () => {
    await using mirror = await open(2);
    mirror.hub.faults.set('latency=1500@schedules');
    await living(mirror, async () => {
      await isAsking(mirror);
      const answeredBefore = answered(mirror);
      await commitTimes(mirror);
      const wanted = absentStudents(mirror.hub, mirror.window());
      // The hub answers one at a time, so it cannot have answered for all of them by now.
      expect(answered(mirror) - answeredBefore).toBeLessThan(wanted.size);
      await vi.waitFor(async () => expect(await mirror.scheduleDifferences(wanted)).toEqual([]), {
        timeout: 90_000,
        interval: 500,
      });
    });
  });

  it.each(['status=503@schedules', 'latency=600000@schedules'])(
    'that recovers is read in full: %s',
    async (fault) => {
      await using mirror = await open(4);
      mirror.hub.faults.set(fault);
      await living(mirror, async () => {
        await isAsking(mirror);
        await commitTimes(mirror);
        mirror.hub.faults.clear();
        const wanted = absentStudents(mirror.hub, mirror.window());
        await vi.waitFor(async () => expect(await mirror.scheduleDifferences(wanted)).toEqual([]), {
          timeout: 90_000,
          interval: 500,
        });
        await vi.waitFor(
          async () => {
            const progress = (await mirror.view('progress')).get('schedules')?.value;
            expect(progress?.['lastCompleteFull']).toMatchObject({ rowsWithheld: 0, rowsRejected: 0 });
          },
          { timeout: 60_000, interval: 500 },
        );
      });
    },
  );
});
