import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { compactedView, type TopicRecord } from './read-topics.ts';

/**
 * Compares a topic with the hub by the contract alone: known fields typed, the rest as JSON text in
 * `additionalFields`, null and omitted the same, sets without order, `dateLastModified` and `href` left out.
 */

type Row = Readonly<Record<string, unknown>>;

const NOT_COMPARED = new Set(['dateLastModified', 'href']);
const DAY_MS = 86_400_000;

export interface OracleOptions {
  readonly hub: ReferenceHub;
  /** The topic's last part. */
  readonly collection: string;
  /** All records of that topic. */
  readonly records: readonly TopicRecord[];
  readonly afterschoolIds?: readonly string[] | undefined;
  /** Fields that are not compared. */
  readonly without?: readonly string[] | undefined;
  /** Keys the hub has and the topic must not have, such as those of unreadable rows. */
  readonly unreadable?: ReadonlySet<string> | undefined;
}

/** The first differences between the compacted topic and the hub, each with its key; empty when they are equal. */
export function differences(options: OracleOptions): string[] {
  const { records, unreadable = new Set(), without = [] } = options;
  const expected = expectedRows(options);
  const view = compactedView(records);
  const found: string[] = [];
  for (const [key, row] of expected) {
    const record = view.get(key);
    if (unreadable.has(key)) {
      if (record !== undefined) found.push(`${key}: published although unreadable`);
    } else if (record?.value == null) {
      found.push(`${key}: missing from the topic`);
    } else {
      const difference = differenceOf(row, asRow(record.value), new Set([...NOT_COMPARED, ...without]));
      if (difference !== null) found.push(`${key}: ${difference}`);
    }
  }
  for (const key of view.keys()) if (!expected.has(key)) found.push(`${key}: not at the hub`);
  return found.slice(0, 10);
}

function expectedRows({ hub, collection, afterschoolIds = [] }: OracleOptions): Map<string, Row> {
  const { district } = hub;
  if (collection === 'class-students') {
    return new Map(
      district.ids('classes').map((id) => [id, { classId: id, students: district.studentsOfClass(id) }]),
    );
  }
  if (collection === 'afterschool-users') {
    return new Map(
      afterschoolIds.flatMap((parent) =>
        district
          .snapshot(`afterschool-users/${parent}`)
          .map((row): [string, Row] => [`${escaped(parent)}|${escaped(idOf(row))}`, row]),
      ),
    );
  }
  return new Map(district.snapshot(collection).map((row) => [idOf(row), row]));
}

/** A value that is not a text cannot be a key, so the topic must not have it either. */
function idOf(row: Row): string {
  const id = row['sourcedId'];
  return typeof id === 'string' ? id : `not a text: ${JSON.stringify(id)}`;
}

function escaped(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('|', '%7C');
}

/** The row of the hub again: `additionalFields` hold the original texts. */
function asRow(value: Row): Row {
  const { additionalFields, ...typed } = value;
  if (typeof additionalFields !== 'object' || additionalFields === null) return typed;
  const row: Record<string, unknown> = Object.assign(Object.create(null) as object, typed);
  for (const [name, text] of Object.entries(additionalFields)) row[name] = JSON.parse(String(text));
  return row;
}

/** Null when a value of the hub and one of the topic are equal. */
function differenceOf(
  hub: unknown,
  topic: unknown,
  notCompared: ReadonlySet<string>,
  path = '',
): string | null {
  const difference = (what: string): string => `${path === '' ? 'the row' : path} ${what}`;
  if (isNothing(hub)) return isNothing(topic) || topic === '' ? null : difference('is null at the hub only');
  if (isNothing(topic)) return hub === '' ? null : difference('is null in the topic only');
  if (Array.isArray(hub)) {
    if (!Array.isArray(topic) || topic.length !== hub.length) return difference('has other elements');
    const left = [...(topic as unknown[])];
    for (const element of hub as unknown[]) {
      const match = left.findIndex((other) => differenceOf(element, other, notCompared) === null);
      if (match === -1) return difference('has other elements');
      left.splice(match, 1);
    }
    return null;
  }
  if (typeof hub === 'object') {
    if (typeof topic !== 'object') return difference('is an object at the hub only');
    const there = hub as Row;
    const here = topic as Row;
    for (const name of new Set([...Object.keys(there), ...Object.keys(here)])) {
      if (notCompared.has(name)) continue;
      const below = differenceOf(own(there, name), own(here, name), notCompared, `${path}.${name}`);
      if (below !== null) return below;
    }
    return null;
  }
  return sameScalar(hub, topic) ? null : difference('differs');
}

function own(row: Row, name: string): unknown {
  return Object.hasOwn(row, name) ? row[name] : undefined;
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined;
}

function sameScalar(hub: unknown, topic: unknown): boolean {
  if (typeof topic === 'boolean') {
    return (topic ? [true, 'true', 1, '1'] : [false, 'false', 0, '0']).includes(hub as string);
  }
  if (typeof topic === 'number' && typeof hub === 'string') {
    const ms = Date.parse(hub);
    return hub.length === 10 ? topic * DAY_MS === ms : topic === ms;
  }
  return hub === topic;
}
