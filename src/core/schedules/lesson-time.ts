import { parseDate, parseTimestamp } from '../timestamps.ts';
import type { ZoneClock } from './zone-clock.ts';

/** A time of a lesson: an instant, or only a day. */
export interface LessonTime {
  /** ms since the epoch, floored; null when only the day is known. */
  readonly ms: number | null;
  /** `YYYY-MM-DD` in the tenant's zone. */
  readonly date: string;
}

const DAY_MS = 86_400_000;
const WALL_TIME = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?$/;
const TIME_OF_DAY = /^(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?$/;
/** Java's `ZonedDateTime` appends the zone's name to the offset. */
const ZONE_NAME_AFTER_OFFSET = /([Zz]|[+-]\d\d(?::?\d\d)?)\[[^\]]*\]$/;

/**
 * Reads a time of a lesson: a timestamp with an offset or `Z`; one without, in the tenant's zone; a time of day on `date`
 * (`08:15`); or a date alone. Null for anything else: it does not guess.
 */
export function readLessonTime(
  raw: unknown,
  context: { readonly zone: ZoneClock; readonly date: string | null },
): LessonTime | null {
  if (typeof raw !== 'string') return null;
  const { zone, date } = context;
  const text = raw.trim().replace(ZONE_NAME_AFTER_OFFSET, '$1');
  const instant = parseTimestamp(text);
  if (instant !== null) return at(typeof instant === 'number' ? instant : instant.ms, zone);
  const wall = WALL_TIME.exec(text);
  if (wall !== null) return onWall(wall[1] ?? '', wall.slice(2), zone);
  const time = TIME_OF_DAY.exec(text);
  if (time !== null) return date === null ? null : onWall(date, time.slice(1), zone);
  return Number.isNaN(parseDate(text)) ? null : { ms: null, date: text };
}

/** The `YYYY-MM-DD` of a date or of a time. */
export function readLessonDate(raw: unknown, zone: ZoneClock): string | null {
  return readLessonTime(raw, { zone, date: null })?.date ?? null;
}

function at(ms: number, zone: ZoneClock): LessonTime {
  return { ms, date: zone.dateAt(ms) };
}

function onWall(date: string, time: readonly (string | undefined)[], zone: ZoneClock): LessonTime | null {
  const [hour, minute, second] = [Number(time[0]), Number(time[1]), Number(time[2] ?? 0)];
  const day = parseDate(date);
  if (Number.isNaN(day) || hour > 23 || minute > 59 || second > 59) return null;
  const millis = Number((time[3] ?? '').slice(0, 3).padEnd(3, '0'));
  return at(zone.instantOf(day * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + millis), zone);
}
