type Fields = Readonly<Record<string, unknown>>;

/** The largest time value of a date, ms (ECMA-262, time range). */
const LARGEST_TIME_MS = 8.64e15;
const UNKNOWN = '?';

/** The times of an absence in a time zone: `2026-11-20 08:15–09:00`; `?` for an unknown time. */
export function absenceTimes(version: Fields, timeZone: string): string {
  return joined(spanOf(version, timeZone));
}

/** The times of two versions: `2026-11-20 08:15–09:00 → 08:15–08:40`, or only once if they are equal. */
export function changedTimes(versions: { before: Fields; after: Fields }, timeZone: string): string {
  const before = spanOf(versions.before, timeZone);
  const after = spanOf(versions.after, timeZone);
  const [first, second] = [joined(before), joined(after)];
  if (first === second) return second;
  const isSameDay =
    before.from.date === before.to.date &&
    after.from.date === after.to.date &&
    before.from.date === after.from.date;
  return `${first} → ${isSameDay ? `${after.from.time}–${after.to.time}` : second}`;
}

interface Moment {
  readonly date: string;
  readonly time: string;
}

interface Span {
  readonly from: Moment;
  readonly to: Moment;
}

function spanOf(version: Fields, timeZone: string): Span {
  return { from: momentOf(version['fromTime'], timeZone), to: momentOf(version['toTime'], timeZone) };
}

function joined({ from, to }: Span): string {
  const first = [from.date, from.time].filter((part) => part !== '').join(' ');
  if (from.date === to.date || to.date === '') return `${first}–${to.time}`;
  return `${first} – ${to.date} ${to.time}`;
}

function momentOf(atMs: unknown, timeZone: string): Moment {
  if (typeof atMs !== 'number' || !(Math.abs(atMs) <= LARGEST_TIME_MS)) return { date: '', time: UNKNOWN };
  const [date = '', time = UNKNOWN] = clockOf(timeZone).format(atMs).split(' ');
  return { date, time };
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Formatters are expensive to create; there is one per time zone of the configuration. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  // Swedish dates and times are written as in ISO 8601.
  const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  clocks.set(timeZone, clock);
  return clock;
}
