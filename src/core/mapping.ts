import type { CollectionName } from '../model/collections.ts';

/**
 * Version of what rows are turned into. It is mixed into every content hash: raising it publishes every row of every
 * collection again, so it changes only with a mapping that must do that, and the changelog says so.
 */
export const MAPPING_VERSION = 1;

/** A field without which a row cannot be understood: where it cannot be read, the row goes to `rejects` whole. */
export interface StrictField {
  readonly name: string;
  /** What it must be, in words that follow "cannot be read as". */
  readonly shape: string;
  /** Whether the row is unreadable without it; else only a value that cannot be read makes it so. */
  readonly required: boolean;
  /** Whether an empty text means "not set". */
  readonly emptyIsNull: boolean;
}

const TIMESTAMP = 'a timestamp with a zone';
const REFERENCE = 'a reference with a `sourcedId`';

/** Spec 2.2: what the place of a version in its chain and in time depends on. `deletedTime` is "absent or empty". */
const ABSENCE_FIELDS: readonly StrictField[] = [
  { name: 'fromTime', shape: TIMESTAMP, required: true, emptyIsNull: false },
  { name: 'toTime', shape: TIMESTAMP, required: true, emptyIsNull: false },
  { name: 'deletedTime', shape: TIMESTAMP, required: false, emptyIsNull: true },
  { name: 'replaces', shape: REFERENCE, required: false, emptyIsNull: false },
  { name: 'replacedBy', shape: REFERENCE, required: false, emptyIsNull: false },
];

/** Fields of a collection that must be readable, beside `sourcedId`. */
export function strictFieldsOf(collection: CollectionName): readonly StrictField[] {
  return collection === 'absence-versions' ? ABSENCE_FIELDS : [];
}

/** Fields that can be neither dropped nor pseudonymised. */
export function protectedFieldsOf(collection: CollectionName): readonly string[] {
  return ['sourcedId', ...strictFieldsOf(collection).map((field) => field.name)];
}

/** Arrays whose order carries no meaning, by the name of their field: another order is no change. */
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
