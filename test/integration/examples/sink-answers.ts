import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import type { TopicRecord } from '../../oracle/rows.ts';

type Row = Readonly<Record<string, unknown>>;

const DAY_MS = 86_400_000;
const OSLO_DAY = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Oslo', dateStyle: 'short' });

export interface AtHub {
  readonly hub: ReferenceHub;
  /** The time for which the second question asks, ms. */
  readonly atMs: number;
  /** The time on whose day the fourth question asks, ms. */
  readonly todayMs: number;
  /** Of `absence-changes`, which only Rollcall detects. */
  readonly changes: readonly TopicRecord[];
}

/** What the four questions of examples/postgres-sink/questions.sql must answer, in no order, by the rows of the hub. */
export function answersAtHub({ hub, atMs, todayMs, changes }: AtHub): object[][] {
  const rowsOf = (collection: string) =>
    new Map<unknown, Row>(hub.district.snapshot(collection).map((row) => [row['sourcedId'], row]));
  const [users, orgs, classes] = [rowsOf('users'), rowsOf('orgs'), rowsOf('classes')];
  const absences = [...rowsOf('absence-versions').values()].filter(
    (row) => row['replacedBy'] == null && row['deletedTime'] == null,
  );
  const nameOf = (user: unknown) => ({
    given_name: users.get(user)?.['givenName'] ?? null,
    family_name: users.get(user)?.['familyName'] ?? null,
  });
  const schoolOf = (absence: Row): string | null => {
    const ids = new Set(((absence['school'] ?? []) as Row[]).map((school) => String(school['sourcedId'])));
    return ids.size === 1 ? ([...ids][0] ?? null) : null;
  };
  const absent = absences
    .filter((row) => timeIn(row, 'fromTime') <= atMs && atMs < timeIn(row, 'toTime'))
    .map((row) =>
      Object.assign(nameOf(idIn(row, 'student')), {
        school: orgs.get(schoolOf(row))?.['name'] ?? null,
        class: classes.get(idIn(row, 'classesAffected'))?.['title'] ?? null,
        from_time: timeIn(row, 'fromTime'),
        to_time: timeIn(row, 'toTime'),
      }),
    );
  const inWeeks = Map.groupBy(absences, (row) => {
    const school = orgs.get(schoolOf(row))?.['name'] ?? schoolOf(row) ?? 'unknown, or several';
    return JSON.stringify({ school, week: mondayOf(timeIn(row, 'fromTime')) });
  });
  const weeks = [...inWeeks].map(([place, rows]) =>
    Object.assign(JSON.parse(place) as object, {
      absences: rows.length,
      students: new Set(rows.map((row) => idIn(row, 'student'))).size,
    }),
  );
  const news = changes.flatMap(({ value }) => {
    if (value === null || value['snapshot'] === true) return [];
    const detectedAt = Number(value['detectedAt']);
    if (OSLO_DAY.format(detectedAt) !== OSLO_DAY.format(todayMs)) return [];
    const version = value['version'] as Row;
    const before = value['previousVersion'] as Row | null;
    return {
      detected_at: detectedAt,
      operation: value['operation'],
      cause: value['cause'],
      step: value['step'],
      ...nameOf(idIn(version, 'student')),
      version_from_time: version['fromTime'],
      version_to_time: version['toTime'],
      previous_version_from_time: before?.['fromTime'] ?? null,
      previous_version_to_time: before?.['toTime'] ?? null,
    };
  });
  return [copies(), absent, weeks, news];
}

/** Each table is whole, and lacks no record. */
function copies(): object[] {
  const collections = [
    ...ROW_COLLECTIONS.filter((name) => name !== 'afterschool-users'),
    'absences',
    'absence-changes',
  ];
  return collections.map((collection) => ({
    collection,
    records_behind: 0,
    whole: true,
    rows_rejected: 0,
    rows_on_hold: 0,
    recreated: false,
  }));
}

function idIn(row: Row, field: string): unknown {
  return (row[field] as Row | null | undefined)?.['sourcedId'] ?? null;
}

function timeIn(row: Row, field: string): number {
  return Date.parse(String(row[field]));
}

/** The Monday of the week, by the clock of Oslo. */
function mondayOf(atMs: number): string {
  const dayMs = Date.parse(OSLO_DAY.format(atMs));
  const daysAfterMonday = (new Date(dayMs).getUTCDay() + 6) % 7;
  return new Date(dayMs - daysAfterMonday * DAY_MS).toISOString().slice(0, 10);
}

/** Times as ms since the epoch, without the two times of the copy itself; each answer as sorted texts. */
export function comparable(answers: readonly (readonly object[])[]): string[][] {
  const valueOf = (value: unknown): unknown =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : value;
  const isCompared = ([name]: [string, unknown]): boolean =>
    name !== 'watermark' && name !== 'complete_as_of';
  const textOf = (row: object): string =>
    JSON.stringify(
      Object.entries(row)
        .filter(isCompared)
        .map(([name, value]) => [name, valueOf(value)])
        .toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
    );
  return answers.map((rows) => rows.map(textOf).toSorted());
}
