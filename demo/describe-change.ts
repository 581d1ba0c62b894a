import type { Colors } from './screen.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Fields to show, by collection; none is the name of a person. */
const SHOWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  'academic-sessions': ['title', 'startDate', 'endDate'],
  'line-items': ['title', 'dueDate'],
  'assessment-line-items': ['title'],
  categories: ['title'],
  classes: ['title'],
  courses: ['title'],
  enrollments: ['role', 'beginDate', 'endDate'],
  orgs: ['name'],
  results: ['scoreStatus', 'score', 'textScore', 'scoreDate'],
  'assessment-results': ['scoreStatus', 'score', 'scoreDate'],
  users: ['enabledUser', 'grades'],
  students: ['enabledUser', 'grades'],
  teachers: ['enabledUser'],
};

const DATE_FIELDS = new Set(['beginDate', 'endDate', 'startDate', 'scoreDate']);
const TIME_FIELDS = new Set(['fromTime', 'toTime', 'deletedTime', 'dueDate', 'assignDate']);
const DAY_MS = 86_400_000;

/** Describes a decoded value briefly. */
export function describeValue(collection: string, value: unknown, colors: Colors): string {
  if (value === null || typeof value !== 'object') return '';
  const fields = value as Fields;
  if (collection === 'class-students') return `${(fields['students'] as readonly string[]).length} students`;
  return (SHOWN_FIELDS[collection] ?? [])
    .flatMap((name) => {
      const text = describeField(name, fields[name]);
      return text === '' ? [] : [`${colors.dim(name)} ${text}`];
    })
    .join('  ');
}

function describeField(name: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (TIME_FIELDS.has(name)) return minute(Number(value));
  if (DATE_FIELDS.has(name)) return new Date(Number(value) * DAY_MS).toISOString().slice(0, 10);
  if (Array.isArray(value)) return value.map(String).join(' ');
  if (typeof value === 'object') {
    const { sourcedId } = value as { sourcedId?: unknown };
    return typeof sourcedId === 'string' ? shortId(sourcedId) : '';
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}

function minute(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ');
}

/** Shortens an id to a recognisable start; a start of random hexadecimal digits needs no `…`. */
export function shortId(id: string, length = 12): string {
  if (id.length <= length + 1) return id;
  const start = id.slice(0, length);
  return /^[0-9a-f]{8}$/.test(start) ? start : `${start}…`;
}
