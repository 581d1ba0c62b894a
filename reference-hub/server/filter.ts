import type { JsonValue } from '../json.ts';
import { valuesAt } from '../json.ts';
import type { Row } from '../district/row.ts';
import type { RowStore } from '../district/row-store.ts';
import { contentOf, stampOf } from '../district/row-store.ts';
import { RequestRefused } from './reply.ts';

export type Operator = '=' | '!=' | '>' | '>=' | '<' | '<=' | '~';

export interface Clause {
  readonly path: readonly string[];
  readonly operator: Operator;
  readonly value: string;
}

export interface Filter {
  readonly clauses: readonly Clause[];
  readonly join: 'AND' | 'OR';
}

/** How this hub compares; some real hubs do it differently. */
export interface Comparison {
  /** Timestamps as text instead of as instants. */
  readonly textTimestamps: boolean;
  /** Stamps have microseconds that are compared but not shown. */
  readonly hiddenMicroseconds: boolean;
}

const CLAUSE =
  /^([A-Za-z_][\w-]*(?:\.[\w-]+)*)(!=|>=|<=|=|>|<|~)(?:'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?|true|false))/;
const INSTANT = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Reads a filter: `field<operator>'value'`, at most two of them around one ` AND ` or ` OR `, a quote inside a value
 * doubled, numbers and booleans also bare.
 *
 * @param fields the collection's fields; another one is refused, as the standard says
 * @throws RequestRefused 400 invalid_filter_field
 */
export function parseFilter(text: string, fields: readonly string[]): Filter {
  const first = parseClause(text, fields);
  if (first.rest === '') return { clauses: [first.clause], join: 'AND' };
  const join = first.rest.startsWith(' AND ') ? 'AND' : first.rest.startsWith(' OR ') ? 'OR' : undefined;
  if (join === undefined) throw refusedFilter('clauses are joined by one " AND " or " OR "');
  const second = parseClause(first.rest.slice(join.length + 2), fields);
  if (second.rest !== '') throw refusedFilter('at most one AND or OR is possible');
  return { clauses: [first.clause, second.clause], join };
}

function parseClause(text: string, fields: readonly string[]): { clause: Clause; rest: string } {
  const match = CLAUSE.exec(text);
  const [whole, dotted, operator, quoted, bare] = match ?? [];
  if (whole === undefined || dotted === undefined) throw refusedFilter("a clause looks like field>'value'");
  const path = dotted.split('.');
  if (!fields.includes(path[0] ?? '')) throw refusedFilter(`this collection has no field ${path[0] ?? ''}`);
  const value = quoted === undefined ? (bare ?? '') : quoted.replaceAll("''", "'");
  if (
    path[0] === 'dateLastModified' &&
    operator !== '~' &&
    (!INSTANT.test(value) || Number.isNaN(Date.parse(value)))
  ) {
    throw refusedFilter('dateLastModified is compared with an ISO 8601 timestamp');
  }
  return { clause: { path, operator: operator as Operator, value }, rest: text.slice(whole.length) };
}

function refusedFilter(why: string): RequestRefused {
  return new RequestRefused(400, `The filter cannot be used: ${why}.`, { codeMinor: 'invalid_filter_field' });
}

export type Predicate = (row: Row) => boolean;

/** A predicate as cheap as the filter allows: ids and stamps are compared without building the row. */
export function compileFilter(
  filter: Filter,
  options: { store: RowStore; comparison: Comparison },
): Predicate {
  const [first, second] = filter.clauses.map((clause) => compileClause(clause, options));
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  return filter.join === 'AND' ? (row) => first(row) && second(row) : (row) => first(row) || second(row);
}

/** The id that a filter `sourcedId='…'` asks for, so that it can be looked up instead of searched. */
export function soughtId(filter: Filter): string | undefined {
  const [clause] = filter.clauses;
  if (filter.clauses.length !== 1 || clause?.operator !== '=') return undefined;
  return clause.path.length === 1 && clause.path[0] === 'sourcedId' ? clause.value : undefined;
}

function compileClause(clause: Clause, options: { store: RowStore; comparison: Comparison }): Predicate {
  const { store, comparison } = options;
  const [field] = clause.path;
  if (clause.path.length === 1 && field === 'sourcedId') return (row) => compareText(row.id, clause);
  if (clause.path.length === 1 && field === 'dateLastModified')
    return stampPredicate(clause, { store, comparison });
  return (row) => {
    const values = valuesAt(contentOf(store, row), clause.path);
    if (clause.operator === '!=') return values.every((value) => compareValue(value, { clause, comparison }));
    return values.some((value) => compareValue(value, { clause, comparison }));
  };
}

function stampPredicate(clause: Clause, options: { store: RowStore; comparison: Comparison }): Predicate {
  const { store, comparison } = options;
  if (comparison.textTimestamps || clause.operator === '~') {
    return (row) => compareText(new Date(stampOf(store, row)).toISOString(), clause);
  }
  const limit = Date.parse(clause.value);
  const { operator } = clause;
  if (comparison.hiddenMicroseconds) return (row) => holds(operator, stampOf(store, row) + 0.321 - limit);
  if (operator === '>') return (row) => stampOf(store, row) > limit;
  return (row) => holds(operator, stampOf(store, row) - limit);
}

function compareValue(value: JsonValue, options: { clause: Clause; comparison: Comparison }): boolean {
  const { clause, comparison } = options;
  if (value === null || typeof value === 'object') return false;
  if (clause.operator === '~') return String(value).includes(clause.value);
  if (typeof value === 'number') {
    const number = Number(clause.value);
    return Number.isNaN(number) ? clause.operator === '!=' : holds(clause.operator, value - number);
  }
  if (
    typeof value === 'string' &&
    !comparison.textTimestamps &&
    INSTANT.test(value) &&
    INSTANT.test(clause.value)
  ) {
    return holds(clause.operator, Date.parse(value) - Date.parse(clause.value));
  }
  return compareText(String(value), clause);
}

function compareText(text: string, clause: Clause): boolean {
  if (clause.operator === '~') return text.includes(clause.value);
  return holds(clause.operator, text === clause.value ? 0 : text < clause.value ? -1 : 1);
}

function holds(operator: Operator, difference: number): boolean {
  switch (operator) {
    case '=':
      return difference === 0;
    case '!=':
      return difference !== 0;
    case '>':
      return difference > 0;
    case '>=':
      return difference >= 0;
    case '<':
      return difference < 0;
    case '<=':
      return difference <= 0;
    case '~':
      return false;
  }
}
