import type { TopicRecord } from '../support/read-topics.ts';

type Row = Readonly<Record<string, unknown>>;

/** A table that examples/flink-tables makes of an array in the values of a topic. */
interface ArrayTable {
  readonly table: string;
  readonly topic: string;
  /** The column that has the key of the record. */
  readonly key: string;
  readonly array: string;
  /** The rows that the table must have for an element of the array, without the key and the place. */
  readonly rows: (element: Row, value: Row) => readonly Row[];
}

const inUsers = { topic: 'users', key: 'user_id' };
const inSchedules = { topic: 'schedules', key: 'day', array: 'lessons' };

/** The tables of examples/flink-tables/tables.sql. */
export const ARRAY_TABLES: readonly ArrayTable[] = [
  { table: 'user_agents', ...inUsers, array: 'agents', rows: reference },
  { table: 'user_resources', ...inUsers, array: 'resources', rows: reference },
  { table: 'class_terms', topic: 'classes', key: 'class_id', array: 'terms', rows: reference },
  { table: 'class_resources', topic: 'classes', key: 'class_id', array: 'resources', rows: reference },
  { table: 'course_resources', topic: 'courses', key: 'course_id', array: 'resources', rows: reference },
  { table: 'org_children', topic: 'orgs', key: 'org_id', array: 'children', rows: reference },
  {
    table: 'session_children',
    topic: 'academic-sessions',
    key: 'session_id',
    array: 'children',
    rows: reference,
  },
  { table: 'absence_schools', topic: 'absences', key: 'absence_id', array: 'school', rows: reference },
  { table: 'user_ids', ...inUsers, array: 'userIds', rows: ({ type, identifier }) => [{ type, identifier }] },
  { table: 'user_roles', ...inUsers, array: 'roles', rows: role },
  { table: 'user_profiles', ...inUsers, array: 'userProfiles', rows: profile },
  { table: 'lessons', ...inSchedules, rows: lesson },
  {
    table: 'lesson_classes',
    ...inSchedules,
    rows: ({ classes }) => placed(classes, 'class_place', reference),
  },
  {
    table: 'lesson_teachers',
    ...inSchedules,
    rows: ({ teachers }) => placed(teachers, 'teacher_place', reference),
  },
  ...['results', 'assessment-results', 'line-items', 'assessment-line-items'].map((topic): ArrayTable => ({
    table: 'learning_objectives',
    topic,
    key: 'row_id',
    array: 'learningObjectiveSet',
    rows: (set) => objectives(set).map((row) => Object.assign({ topic, source: set['source'] }, row)),
  })),
];

/** The rows that a table must have, by what the records of its topic hold now. */
export function rowsOf({ key, array, rows }: ArrayTable, records: Iterable<TopicRecord>): Row[] {
  return [...records].flatMap(({ key: id, value }) => {
    const found = placed(value?.[array], 'place', (element) => rows(element, value ?? {}));
    return found.map((row) => Object.assign({ [key]: id }, row));
  });
}

/** The rows of each element of an array, with the place of the element. */
function placed(array: unknown, column: string, rows: (element: Row) => readonly Row[]): Row[] {
  const elements = (array ?? []) as readonly Row[];
  return elements.flatMap((element, at) =>
    rows(element).map((row) => Object.assign({ [column]: at + 1 }, row)),
  );
}

function reference({ sourcedId }: Row): Row[] {
  return [{ sourced_id: sourcedId }];
}

function role({ roleType, role: name, org, userProfile, beginDate, endDate }: Row): Row[] {
  const dates = { begin_date: dateOf(beginDate), end_date: dateOf(endDate) };
  const orgId = (org as Row | null)?.['sourcedId'] ?? null;
  return [{ role_type: roleType, role: name, org_id: orgId, user_profile: userProfile, ...dates }];
}

function profile({ profileId, profileType, vendorId, applicationId, description }: Row): Row[] {
  const ids = { profile_id: profileId, vendor_id: vendorId, application_id: applicationId };
  return [{ ...ids, profile_type: profileType, description }];
}

function lesson({ id, title, start, end, cancelled }: Row, { student }: Row): Row[] {
  const times = { starts: timeOf(start), ends: timeOf(end) };
  return [{ student_id: student, lesson_id: id, title, cancelled, ...times }];
}

/** Only results have scores. */
function objectives({ learningObjectiveResults, learningObjectiveIds }: Row): Row[] {
  const ids = learningObjectiveIds as readonly string[] | undefined;
  const scored = learningObjectiveResults ?? ids?.map((learningObjectiveId) => ({ learningObjectiveId }));
  return placed(scored, 'objective_place', ({ learningObjectiveId, score = null, textScore = null }) => [
    { learning_objective_id: learningObjectiveId, score, text_score: textScore },
  ]);
}

/** Avro counts the days since 1970. */
function dateOf(days: unknown): string | null {
  return typeof days === 'number' ? new Date(days * 86_400_000).toISOString().slice(0, 10) : null;
}

/** As PostgreSQL writes a time into JSON, in UTC. */
function timeOf(ms: unknown): string | null {
  return typeof ms === 'number' ? new Date(ms).toISOString().replace('.000Z', '+00:00') : null;
}
