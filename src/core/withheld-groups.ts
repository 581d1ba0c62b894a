/** The rows of a collection that wait for a decision, counted by school: whether the hub has really lost them shows at a glance. */
export interface NamedGroups {
  readonly by: 'school';
  /** The largest first; `name` is null where it is unknown. */
  readonly counts: readonly { readonly id: string; readonly name: string | null; readonly rows: number }[];
}

/** The largest groups, and how many groups and rows are in none of them. */
export interface FirstGroups extends NamedGroups {
  readonly others: { readonly groups: number; readonly rows: number };
}

const FIRST_GROUPS = 8;

type Fields = Readonly<Record<string, unknown>>;

/** The number of rows of each school, the largest first. */
export function countBySchool(
  schools: readonly string[],
): readonly { readonly id: string; readonly rows: number }[] {
  return [...Map.groupBy(schools, (id) => id)]
    .map(([id, all]) => ({ id, rows: all.length }))
    .toSorted((one, other) => other.rows - one.rows || (one.id < other.id ? -1 : 1));
}

/** The id of the school that a published row names: a user's main one, or that of its first role. Null for none. */
export function schoolOf(value: unknown): string | null {
  const { school, org, primaryOrg, roles } = fieldsOf(value);
  const [role] = Array.isArray(roles) ? (roles as readonly unknown[]) : [];
  return refOf(school) ?? refOf(org) ?? refOf(primaryOrg) ?? refOf(fieldsOf(role)['org']);
}

function refOf(value: unknown): string | null {
  const { sourcedId } = fieldsOf(value);
  return typeof sourcedId === 'string' ? sourcedId : null;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
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
