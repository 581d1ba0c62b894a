import type { Tenant } from '../../../src/table/tenant.ts';
import { halfADayAfter, openMirror, TERM_MORNING_MS, type MirrorOptions } from '../support/mirror.ts';
import { dayAfter, osloDate, scheduleDifferences, type Days } from '../../oracle/schedules.ts';

export const DAY_MS = 86_400_000;
export interface ScheduleOptions extends MirrorOptions {
  readonly students: 'absent' | 'all' | readonly string[];
  readonly daysBack?: number;
  readonly daysAhead?: number;
}

export type ScheduleMirror = Awaited<ReturnType<typeof openScheduleMirror>>;

/** A window that reaches into a term from any day of a year. */
export const ALWAYS_WITH_LESSONS = { daysBack: 35, daysAhead: 35 };

/** A mirror of schedules and of the collections that select their students, on a Tuesday in term. */
export async function openScheduleMirror(options: ScheduleOptions) {
  const { students, daysBack = 1, daysAhead = 3, ...rest } = options;
  const originMs = Date.now();
  let skippedMs = 0;
  const now = (): number => TERM_MORNING_MS + skippedMs + Date.now() - originMs;
  const mirror = await openMirror({
    collections: collectionsFor(students),
    ...rest,
    tenant: {
      schedules: { students, daysBack, daysAhead },
      fullSync: {
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
    /** Moves the clock of the program ahead of the hub's. */
    advanceDays: (days: number): void => {
      skippedMs += days * DAY_MS;
    },
    window,
    /** The differences between `schedules` and the hub. */
    scheduleDifferences: async (wanted: Iterable<string>) =>
      scheduleDifferences({
        hub: mirror.hub,
        students: wanted,
        days: window(),
        records: await mirror.records('schedules'),
      }),
    /** For which students the hub was asked since the last call, in order of ids; twice for two requests. */
    asked: (): string[] => {
      const requests = mirror.hub.requests.all().filter(({ target }) => target === 'schedules');
      mirror.hub.requests.clear();
      return requests.map(({ url }) => new URL(url, 'http://hub').searchParams.get('student') ?? '').sort();
    },
  });
}

function collectionsFor(students: ScheduleOptions['students']): readonly string[] {
  if (students === 'absent') return ['schedules', 'absence-versions', 'absences', 'absence-changes'];
  return students === 'all' ? ['schedules', 'students'] : ['schedules'];
}

/** The chain index forgets old absences by the clock of the machine. */
function absencesAt({ absences }: Tenant, now: () => number): Partial<Tenant> {
  return absences === undefined
    ? {}
    : { absences: { ...absences, absentSinceMs: () => now() - 40 * DAY_MS } };
}
