/** Formats of numbers, times and text for people. */

const COUNT = new Intl.NumberFormat('en-GB');

/** Such as `12,345`. */
export function formatCount(count: number): string {
  return COUNT.format(count);
}

/** Such as `97 of 7,565`. */
export function outOf(part: number, all: number): string {
  return `${formatCount(part)} of ${formatCount(all)}`;
}

/** Such as `1 row`, `2 rows`, `no rows`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  if (count === 0) return `no ${many}`;
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration (ms) in its largest unit: `12 s`, `4 min`, `3 h`, `2 d`. A negative one counts as zero. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, durationMs);
  if (ms < 2 * MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} d`;
}

/** The time since `since` (ISO 8601): `4 min ago`; `-` for null. */
export function formatAge(since: string | null, nowMs: number): string {
  return since === null ? '-' : `${formatDuration(nowMs - Date.parse(since))} ago`;
}

/** Such as `, for 3 h`; empty where `since` (ISO 8601) is not known. */
export function forHow(since: string | null | undefined, nowMs: number): string {
  return since == null ? '' : `, for ${formatDuration(nowMs - Date.parse(since))}`;
}

/** `2026-11-20T07:15:00.000Z`, or null for null. */
export function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

/** Text from outside for a terminal, without control and direction characters. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- a key must not steer a terminal
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\uFFFD');
}

/** Breaks a text into lines of at most `width` characters, each indented by `indent`. A longer word gets a line of its own. */
export function wrapped(text: string, width: number, indent = ''): string[] {
  const most = Math.max(20, width - indent.length);
  const lines = text.match(new RegExp(String.raw`\S.{0,${most - 1}}(?!\S)|\S+`, 'g')) ?? [];
  return lines.map((line) => indent + line.trimEnd());
}
