import { isDeepStrictEqual } from 'node:util';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { ROW_COLLECTIONS } from '../../../src/model/collections.ts';
import type { Database } from './postgres.ts';

type Row = Readonly<Record<string, unknown>>;

/** Arrays of records, which the sink cannot write, and the password, which no one should. */
const NOT_CARRIED = new Set(
  'agents children learningObjectiveSet password resources roles school terms userIds userProfiles'.split(
    ' ',
  ),
);
/** A re-stamp of the hub changes no record, so the table has an older time. */
const NOT_COMPARED = new Set(['sourcedId', 'dateLastModified']);
/** Columns that no field of the hub has. */
const OWN_COLUMNS = new Set([
  'absence_id',
  'sourced_id',
  'date_last_modified',
  'additional_fields',
  'published_at',
]);
const MOST_SHOWN = 5;

export interface ComparedTable {
  readonly table: string;
  readonly rows: number;
  /** The first differences, one line per row. */
  readonly differences: readonly string[];
}

/** Compares each table with what the hub has now. The tables of collections are keyed by `sourced_id` and named in snake case. */
export async function* compareTables(database: Database, hub: ReferenceHub): AsyncGenerator<ComparedTable> {
  const tables = new Set((await database.rows<{ table: string }>(TABLES)).map(({ table }) => table));
  for (const collection of ROW_COLLECTIONS) {
    const table = snake(collection);
    if (!tables.has(table)) continue;
    const rows = await database.rows<Row>(`SELECT * FROM ${table}`);
    yield { table, rows: rows.length, differences: differences(rows, hub.district.snapshot(collection)) };
  }
  const absences = await database.rows<Row>('SELECT * FROM absences');
  const current = hub.district
    .snapshot('absence-versions')
    .filter((row) => row['replacedBy'] == null && row['deletedTime'] == null);
  yield { table: 'absences', rows: absences.length, differences: differences(absences, current) };
  const [steps] = await database.rows<{ count: number }>('SELECT count(*) FROM absence_changes');
  const wrong = await database.rows<{ absence_id: string; why: string }>(HISTORY_AGAINST_ABSENCES);
  yield {
    table: 'absence_changes',
    rows: steps?.count ?? 0,
    differences: wrong.map(({ absence_id, why }) => `${absence_id}: ${why}`),
  };
}

const TABLES = `SELECT table_name AS "table" FROM information_schema.tables WHERE table_schema = 'public'`;

/** The history of each absence is without gaps, and ends with what `absences` shows. */
const HISTORY_AGAINST_ABSENCES = `
  WITH last AS (
    SELECT DISTINCT ON (absence_id) absence_id, step, version_sourced_id, operation,
      count(*) OVER (PARTITION BY absence_id) AS steps
    FROM absence_changes ORDER BY absence_id, detected_at DESC, step DESC)
  SELECT coalesce(a.absence_id, l.absence_id) AS absence_id, CASE
    WHEN l.absence_id IS NULL THEN 'is in absences alone'
    WHEN l.steps <> l.step THEN 'lacks a step, or has one twice'
    WHEN a.absence_id IS NULL THEN 'was not deleted, but is not in absences'
    ELSE 'ends with another version than absences shows' END AS why
  FROM last l FULL JOIN absences a USING (absence_id)
  WHERE l.absence_id IS NULL OR l.steps <> l.step
    OR a.sourced_id IS DISTINCT FROM CASE WHEN l.operation <> 'DELETED' THEN l.version_sourced_id END
  LIMIT ${MOST_SHOWN}`;

function differences(rows: readonly Row[], wanted: readonly Row[]): string[] {
  const found = new Map(rows.map((row) => [row['sourced_id'], row]));
  const problems = wanted.flatMap((atHub) => {
    const id = String(atHub['sourcedId']);
    const row = found.get(id);
    found.delete(id);
    const why = row === undefined ? 'is at the hub alone' : differenceOf(row, atHub);
    return why === null ? [] : [`${id} ${why}`];
  });
  return [...problems, ...[...found.keys()].map((id) => `${String(id)} is in the table alone`)].slice(
    0,
    MOST_SHOWN,
  );
}

function differenceOf(row: Row, atHub: Row): string | null {
  const others = (row['additional_fields'] ?? {}) as Row;
  const compared = new Set(OWN_COLUMNS);
  const wanted = Object.hasOwn(row, 'school_id') ? { ...atHub, schoolId: schoolIdOf(atHub) } : atHub;
  for (const [name, value] of Object.entries(wanted)) {
    if (NOT_COMPARED.has(name)) continue;
    const reference = (value as { sourcedId?: unknown } | null | undefined)?.sourcedId;
    const column = columnOf(name, row);
    compared.add(column);
    if (Object.hasOwn(others, name)) {
      if (!isDeepStrictEqual(others[name], value)) return `has another ${name} in additional_fields`;
    } else if (Object.hasOwn(row, column)) {
      if (!isSame(row[column], reference ?? value)) return `has another ${column}`;
    } else if (!NOT_CARRIED.has(name) && value != null) return `has no column for ${name}`;
  }
  const more = Object.keys(row).find((column) => !compared.has(column) && row[column] !== null);
  return more === undefined ? null : `has a ${more}, which the hub has not`;
}

/** Of an absence that names exactly one school. */
function schoolIdOf({ school }: Row): unknown {
  const ids = new Set(Array.isArray(school) ? (school as Row[]).map((each) => each['sourcedId']) : []);
  return ids.size === 1 ? [...ids][0] : null;
}

function columnOf(name: string, row: Row): string {
  if (name === 'primary') return 'is_primary';
  const column = snake(name);
  return Object.hasOwn(row, `${column}_sourced_id`) ? `${column}_sourced_id` : column;
}

function isSame(found: unknown, atHub: unknown): boolean {
  if (found === null || atHub === null || atHub === undefined)
    return found === null && (atHub ?? null) === null;
  if (typeof found === 'boolean')
    return (found ? [true, 'true', 1, '1'] : [false, 'false', 0, '0']).includes(atHub as string);
  if (Array.isArray(found) && Array.isArray(atHub)) return isDeepStrictEqual(new Set(found), new Set(atHub));
  if (typeof found === 'string' && typeof atHub === 'string')
    return found === atHub || Date.parse(found) === Date.parse(atHub);
  return found === atHub;
}

function snake(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}
