import type { CollectionName } from '../model/collections.ts';

/** A withheld deletion: its key, and the row as it was last published, null where that is unknown. */
export interface WithheldRow {
  readonly key: string;
  readonly value: unknown;
}

/** The withheld deletions of a collection, counted by what tells a person whether the hub has really lost them. */
export interface WithheldGroups {
  readonly by: 'school' | 'class' | 'date';
  /** The largest first; `id` is the id of a school or class, or a date. */
  readonly counts: readonly { readonly id: string; readonly rows: number }[];
}

/** The same with the names of schools and classes; null for a date, and where the name is unknown. */
export interface NamedGroups extends Pick<WithheldGroups, 'by'> {
  readonly counts: readonly { readonly id: string; readonly name: string | null; readonly rows: number }[];
}

/** The largest groups, and how many groups and rows are in none of them. */
export interface FirstGroups extends NamedGroups {
  readonly others: { readonly groups: number; readonly rows: number };
}

const FIRST_GROUPS = 8;
/** What rows are counted by, and what a school or class is called. */
const USED = [
  'roles',
  'school',
  'org',
  'primaryOrg',
  'class',
  'classesAffected',
  'fromTime',
  'name',
  'title',
];

type Fields = Readonly<Record<string, unknown>>;

/** Counts rows by school, class and date, where they have them. No group names a person. */
export function groupWithheld(
  collection: CollectionName,
  rows: readonly WithheldRow[],
): readonly WithheldGroups[] {
  const parts = {
    school: rows.map(({ value }) => schoolOf(fieldsOf(value))),
    class: rows.map(({ key, value }) => (collection === 'class-students' ? key : classOf(fieldsOf(value)))),
    date: rows.map(({ key, value }) =>
      collection === 'schedules' ? dateInKey(key) : dayOf(fieldsOf(value)),
    ),
  };
  return Object.entries(parts).flatMap(([by, ids]) => {
    const known = ids.filter((id) => id !== null);
    if (known.length === 0) return [];
    const counts = [...Map.groupBy(known, (id) => id)].map(([id, all]) => ({ id, rows: all.length }));
    return [{ by: by as WithheldGroups['by'], counts: counts.toSorted(byRows) }];
  });
}

function byRows(one: { id: string; rows: number }, other: { id: string; rows: number }): number {
  return other.rows - one.rows || (one.id < other.id ? -1 : 1);
}

function schoolOf(row: Fields): string | null {
  const [role] = Array.isArray(row['roles']) ? (row['roles'] as readonly unknown[]) : [];
  return (
    refOf(row['school']) ?? refOf(row['org']) ?? refOf(row['primaryOrg']) ?? refOf(fieldsOf(role)['org'])
  );
}

function classOf(row: Fields): string | null {
  return refOf(row['class']) ?? refOf(row['classesAffected']);
}

/** The day of an absence, in UTC. */
function dayOf({ fromTime }: Fields): string | null {
  return typeof fromTime === 'number' ? new Date(fromTime).toISOString().slice(0, 10) : null;
}

/** `<student>|<YYYY-MM-DD>`. */
function dateInKey(key: string): string | null {
  return /\|(\d{4}-\d\d-\d\d)$/.exec(key)?.[1] ?? null;
}

function refOf(value: unknown): string | null {
  const { sourcedId } = fieldsOf(value);
  return typeof sourcedId === 'string' ? sourcedId : null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** The fields of a row that counting uses: of many rows, no more needs to be held. */
export function groupingFields(row: unknown): Fields {
  const fields = fieldsOf(row);
  return Object.fromEntries(USED.flatMap((name) => (name in fields ? [[name, fields[name]]] : [])));
}

/** What fits on a line, for people. */
export function firstGroups({ by, counts }: NamedGroups): FirstGroups {
  const left = counts.slice(FIRST_GROUPS);
  return {
    by,
    counts: counts.slice(0, FIRST_GROUPS),
    others: { groups: left.length, rows: left.reduce((sum, { rows }) => sum + rows, 0) },
  };
}
