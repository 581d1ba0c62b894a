import { createHmac } from 'node:crypto';

import type { CollectionName } from '../../model/collections.ts';

/**
 * Version of the conversion of rows to values. Every content hash covers it: raising it republishes every row of every
 * collection, so it changes only with the major version, and the changelog says so.
 */
export const MAPPING_VERSION = 1;

/** A field that must be readable: if it is not, the row goes to `rejects`. */
export interface StrictField {
  readonly name: string;
  /** The expected shape, in words that follow "cannot be read as". */
  readonly shape: string;
  /**
   * If true, a row without the field is unreadable. If false, only a value that cannot be read makes the row
   * unreadable.
   */
  readonly required: boolean;
  /** Whether an empty text, or a "no time" of core/rows/timestamps.ts, means "not set". */
  readonly emptyIsNull: boolean;
}

const TIMESTAMP = 'a timestamp with a zone';
const REFERENCE = 'a reference with a `sourcedId`';

/** Spec 2.2: the fields that place a version in its chain and in time. If a version is not deleted, `deletedTime` is "absent or empty". */
const ABSENCE_FIELDS: readonly StrictField[] = [
  { name: 'fromTime', shape: TIMESTAMP, required: true, emptyIsNull: false },
  { name: 'toTime', shape: TIMESTAMP, required: true, emptyIsNull: false },
  { name: 'deletedTime', shape: TIMESTAMP, required: false, emptyIsNull: true },
  { name: 'replaces', shape: REFERENCE, required: false, emptyIsNull: false },
  { name: 'replacedBy', shape: REFERENCE, required: false, emptyIsNull: false },
];

/** Fields of a collection that must be readable, in addition to `sourcedId`. */
export function strictFieldsOf(collection: CollectionName): readonly StrictField[] {
  return collection === 'absence-versions' ? ABSENCE_FIELDS : [];
}

/** Fields that can be neither dropped nor pseudonymised. */
export function protectedFieldsOf(collection: CollectionName): readonly string[] {
  return ['sourcedId', ...strictFieldsOf(collection).map((field) => field.name)];
}

/** Arrays whose order means nothing, by the name of their field. Another order does not count as a change. */
export const SET_FIELDS: ReadonlySet<string> = new Set([
  'agents',
  'children',
  'credentials',
  'grades',
  'learningObjectiveIds',
  'learningObjectiveResults',
  'learningObjectiveSet',
  'periods',
  'resources',
  'roles',
  'school',
  'subjectCodes',
  'subjects',
  'terms',
  'userIds',
  'userProfiles',
]);

/**
 * Fields that Rollcall adds to a row, in schemas that have them. Each follows from the value beside it. If the hub
 * has a field with such a name, it counts as a field that the schema does not know.
 */
export const OWN_FIELDS: ReadonlyMap<string, (value: Readonly<Record<string, unknown>>) => unknown> = new Map(
  [['schoolId', ({ school }: Readonly<Record<string, unknown>>) => onlyIdIn(school)]],
);

/** The id in a list of references that name one resource; null if they name none or several. */
function onlyIdIn(list: unknown): string | null {
  const [id = null, ...others] = new Set(
    (list as { sourcedId: string }[] | null)?.map((each) => each.sourcedId),
  );
  return others.length === 0 ? id : null;
}

const HEX_DIGITS = 16;

/** The part of a mapping that takes data out of rows. */
export interface Masking {
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  /** Empty when nothing is pseudonymised. */
  readonly pseudonymiseKey: string;
}

/**
 * An id (16 hex digits) of what a mapping drops and pseudonymises, and under which key. It does not reveal the key.
 * Null for a mapping that takes nothing out. Records that were published under a mapping carry its id (`ce_mapping`).
 */
export function mappingIdOf({ drop, pseudonymise, pseudonymiseKey }: Masking): string | null {
  if (drop.length === 0 && pseudonymise.length === 0) return null;
  const key = pseudonymise.length === 0 ? '' : pseudonymiseKey;
  const lists = [drop, pseudonymise].map((names) => [...new Set(names)].sort());
  return createHmac('sha256', key)
    .update(`mapping ${JSON.stringify(lists)}`)
    .digest('hex')
    .slice(0, HEX_DIGITS);
}
