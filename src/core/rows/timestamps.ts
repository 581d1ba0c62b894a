import { DAY_MS } from '../zone-clock.ts';
import { isJsonObject } from './raw-json.ts';

/**
 * Parsers of timestamps (RFC 3339, ISO 8601) and calendar dates. They do not use `Date`, which is slow, and guesses.
 * They read the years 1 to 9999 in UTC, which Java, Python, Go and .NET can hold, except `0001-01-01T00:00:00`, which
 * means "no value" in .NET. If they begin to read a text differently, the hashes of rows change: see
 * `MAPPING_VERSION`.
 */

/** 0001-01-01 */
const NO_DAY = -719_162;
const NO_TIME_MS = NO_DAY * DAY_MS;
/** 9999-12-31T23:59:59.999Z */
const LAST_MS = 253_402_300_799_999;

/** A parsed timestamp, rounded down to ms. */
export interface Instant {
  readonly ms: number;
  /** False when the text holds more than `ms`: microseconds, or an offset other than `Z` and `+00:00`. */
  readonly exact: boolean;
}

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)$/;

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days since 1970-01-01 in the proleptic Gregorian calendar; NaN for a day that does not exist. */
function epochDay(year: number, month: number, day: number): number {
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month))) return NaN;
  // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil.
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The two digits at `at`; NaN when there are none. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

/** Days since the epoch of the `YYYY-MM-DD` that `text` begins with; NaN when it does not. */
function leadingEpochDay(text: string): number {
  if (text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return NaN;
  return epochDay(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8));
}

/** Days since the epoch of exactly `YYYY-MM-DD`; NaN for anything else, including a day that does not exist. */
export function parseDate(text: string): number {
  const day = text.length === 10 ? leadingEpochDay(text) : NaN;
  return day > NO_DAY ? day : NaN;
}

/** The inverse of {@link parseDate}. */
export function formatDate(epochDay: number): string {
  return new Date(epochDay * DAY_MS).toISOString().slice(0, 10);
}

/** ms since the epoch for `YYYY-MM-DDTHH:MM:SSZ` and `YYYY-MM-DDTHH:MM:SS.sssZ`, the usual forms; NaN for all others. */
function parseCommonForm(text: string): number {
  const { length } = text;
  if (length !== 24 && length !== 20) return NaN;
  if (text.charCodeAt(10) !== 84 || text.charCodeAt(13) !== 58 || text.charCodeAt(16) !== 58) return NaN;
  if (text.charCodeAt(length - 1) !== 90) return NaN;
  let millis = 0;
  if (length === 24) {
    if (text.charCodeAt(19) !== 46) return NaN;
    const last = text.charCodeAt(22) - 48;
    if (!(last >= 0 && last <= 9)) return NaN;
    millis = twoDigits(text, 20) * 10 + last;
  }
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (!(hour < 24 && minute < 60 && second < 60)) return NaN;
  return leadingEpochDay(text) * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1000 + millis;
}

/** Parses any other date-time with a zone. Refuses leap seconds and 24:00, which have no instant of their own. */
function parseOtherForm(text: string): Instant | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const [, , , , hourText, minuteText, secondText = '0', fraction = '', zulu, sign] = match;
  const [offsetHours, offsetMinutes] = [Number(match[10] ?? 0), Number(match[11] ?? 0)];
  const [hour, minute, second] = [Number(hourText), Number(minuteText), Number(secondText)];
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return null;
  const millis = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000 * (sign === '-' ? -1 : 1);
  const dayMs = leadingEpochDay(text) * DAY_MS;
  if (Number.isNaN(dayMs)) return null;
  const localMs = dayMs + hour * 3_600_000 + minute * 60_000 + second * 1000 + millis;
  const ms = localMs - offsetMs;
  if (localMs <= NO_TIME_MS || ms <= NO_TIME_MS || ms > LAST_MS) return null;
  const isUtc = zulu !== undefined || (offsetMs === 0 && sign === '+');
  return { ms, exact: isUtc && !/[1-9]/.test(fraction.slice(3)) };
}

/**
 * Parses a timestamp with a zone (RFC 3339; ISO 8601 without seconds, with `+hhmm`, with a comma).
 * Returns a number (ms since the epoch) for an exact instant, so that the common case allocates nothing; null when the
 * text is no such timestamp.
 */
export function parseTimestamp(text: string): number | Instant | null {
  const common = parseCommonForm(text);
  return common > NO_TIME_MS ? common : parseOtherForm(text);
}

/** The instant of a timestamp with a zone, rounded down to ms; null for any other value. */
export function msOf(raw: unknown): number | null {
  const instant = typeof raw === 'string' ? parseTimestamp(raw) : null;
  return typeof instant === 'object' ? (instant?.ms ?? null) : instant;
}

/** The `dateLastModified` of an undecoded row, rounded down to ms; null without a readable one. */
export function modifiedTimeOf(row: unknown): number | null {
  return isJsonObject(row) ? msOf(row['dateLastModified']) : null;
}

const NO_TIME = /^(?:0000-\d\d-\d\d|0001-01-01)(?:[Tt ][\d:.,]+(?:[Zz]|[+-][\d:]+)?)?$/;

/** Whether a value means "no time", with any zone or none: the default `DateTime` of .NET, or a time of year 0. */
export function isNoTime(raw: unknown): boolean {
  return typeof raw === 'string' && NO_TIME.test(raw);
}
