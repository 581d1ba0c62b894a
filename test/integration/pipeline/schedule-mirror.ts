import type { Tenant } from '../../../src/table/tenant.ts';
import { halfADayAfter } from '../support/half-a-day.ts';
import { openMirror, TERM_MORNING_MS, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { dayAfter, osloDate, scheduleDifferences, type Days } from '../support/schedule-oracle.ts';

export const DAY_MS = 86_400_000;
export interface ScheduleOptions extends MirrorOptions {
  readonly students: 'absent' | 'all' | readonly string[];
  readonly daysBack?: number | undefined;
  readonly daysAhead?: number | undefined;
  readonly fields?: Record<string, string> | undefined;
}

export interface ScheduleMirror extends Mirror {
  /** Moves the clock of the program ahead of the hub's. */
  advanceDays(days: number): void;
  window(): Days;
  /** The differences between `schedules` and the hub. */
  scheduleDifferences(students: Iterable<string>, becameEmpty?: readonly string[]): Promise<string[]>;
  /** How often the hub was asked for each student since the last call. */
  asked(): Map<string, number>;
}

/** A window that reaches into a term from any day of a year. */
export const ALWAYS_WITH_LESSONS = { daysBack: 35, daysAhead: 35 };

/** A mirror of schedules and of the collections that select their students, on a Tuesday in term. */
export async function openScheduleMirror(options: ScheduleOptions): Promise<ScheduleMirror> {
  const { students, daysBack = 1, daysAhead = 3, fields, ...rest } = options;
  const originMs = Date.now();
  let skippedMs = 0;
  const now = (): number => TERM_MORNING_MS + skippedMs + Date.now() - originMs;
  const mirror = await openMirror({
    collections: collectionsFor(students),
    ...rest,
    tenant: {
      schedules: { students, daysBack, daysAhead, ...(fields === undefined ? {} : { fields }) },
      fullPull: {
        at: halfADayAfter(options.hubOptions?.startMs ?? TERM_MORNING_MS),
        timeZone: 'Europe/Oslo',
      },
      ...rest.tenant,
    },
    hubOptions: { students: 10, ...rest.hubOptions },
    parts: (parts) => ({
      runtime: { ...parts.runtime, now },
      ...absencesAt(parts, now),
      ...rest.parts?.(parts),
    }),
  });
  const window = (): Days => {
    const today = osloDate(now());
    return { from: dayAfter(today, -daysBack), to: dayAfter(today, daysAhead) };
  };
  return Object.assign(mirror, {
    advanceDays: (days: number) => {
      skippedMs += days * DAY_MS;
    },
    window,
    scheduleDifferences: async (wanted: Iterable<string>, becameEmpty: readonly string[] = []) =>
      scheduleDifferences({
        hub: mirror.hub,
        students: wanted,
        days: window(),
        records: await mirror.records('schedules'),
        becameEmpty,
      }),
    asked: () => {
      const counts = new Map<string, number>();
      for (const { target, url } of mirror.hub.requests.all()) {
        if (target !== 'schedules') continue;
        const student = new URL(url, 'http://hub').searchParams.get('student') ?? '';
        counts.set(student, (counts.get(student) ?? 0) + 1);
      }
      mirror.hub.requests.clear();
      return counts;
    },
  });
}

function collectionsFor(students: ScheduleOptions['students']): ReturnType<typeof only> {
  if (students === 'absent') {
    return only({ schedules: {}, 'absence-versions': {}, absences: {}, 'absence-changes': {} });
  }
  return only(students === 'all' ? { schedules: {}, students: {} } : { schedules: {} });
}

/** The chain index forgets old absences by the clock of the machine. */
function absencesAt({ absences }: Tenant, now: () => number): Partial<Tenant> {
  return absences === undefined
    ? {}
    : { absences: { ...absences, absentSinceMs: () => now() - 40 * DAY_MS } };
}

/** Runs the collections of the tenant as `run` does during the work. Fails when one of them fails. */
export async function living<T>(mirror: Mirror, work: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const loops = [...mirror.session.runners.values()].map(async (runner) => runner.loop(stop.signal));
  const broken = Promise.all(loops).then((): never => {
    throw new Error('the loops ended');
  });
  broken.catch(() => undefined);
  try {
    return await Promise.race([work(), broken]);
  } finally {
    stop.abort(new Error('the test is over'));
    await Promise.allSettled(loops);
  }
}
