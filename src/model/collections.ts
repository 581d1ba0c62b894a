/**
 * The collections that Rollcall mirrors: their names, and their addresses at the hub.
 * The names are part of the contract: topics, configuration, commands and metrics use them.
 */

const ROSTERING = '/ims/oneroster/rostering/v1p2';
const GRADEBOOK = '/ims/oneroster/gradebook/v1p2';
const ABSENCES = '/ims/oneroster/absences/v1p0';

/** Collections that the hub serves as a list of rows (spec 4.1); each row becomes one record. */
export const ROW_COLLECTIONS = [
  'orgs',
  'academic-sessions',
  'courses',
  'classes',
  'users',
  'students',
  'teachers',
  'enrollments',
  'categories',
  'line-items',
  'results',
  'assessment-line-items',
  'assessment-results',
  'absence-summaries',
  'absence-versions',
  'afterschool-users',
] as const;

/** Collections whose records Rollcall composes from several rows. */
export const COMPOSED_COLLECTIONS = ['class-students', 'schedules'] as const;

/**
 * Topics that are derived from the rows of `absence-versions` (spec 3) and published in the same transactions. They
 * have no syncs and no index of their own.
 */
export const DERIVED_COLLECTIONS = ['absences', 'absence-changes'] as const;
export type DerivedCollection = (typeof DERIVED_COLLECTIONS)[number];

export const COLLECTIONS = [...ROW_COLLECTIONS, ...COMPOSED_COLLECTIONS, ...DERIVED_COLLECTIONS] as const;

export type CollectionName = (typeof COLLECTIONS)[number];

/** Topics of a tenant without a collection of the hub. */
export const OWN_TOPICS = ['rejects', 'progress'] as const;
/** The changelog of the absence view. Only Rollcall reads it; its values are no Avro. */
export const STATE_TOPIC = 'absence-state' as const;
export type TopicSuffix = CollectionName | (typeof OWN_TOPICS)[number] | typeof STATE_TOPIC;

export interface Collection {
  readonly name: CollectionName;
  /** Path below the base URL; `{id}` stands for the parent's id in nested collections. */
  readonly path: string;
  /** Property of the response body with the list (OneRoster 1.2 envelopes). */
  readonly envelope: string;
  /** False if the hub accepts only `limit` and `offset` (spec 4.1): then incremental syncs are impossible too. */
  readonly keyset: boolean;
  /** Whether `collections: all` includes it. */
  readonly byDefault: boolean;
  /** The collection whose syncs publish this one's records; null when it has its own syncs. */
  readonly derivedFrom: CollectionName | null;
}

function collection(
  name: CollectionName,
  path: string,
  envelope: string,
  options: { keyset?: boolean; byDefault?: boolean; derivedFrom?: CollectionName } = {},
): Collection {
  const { keyset = true, byDefault = true, derivedFrom = null } = options;
  return { name, path, envelope, keyset, byDefault, derivedFrom };
}

const DESCRIPTIONS: readonly Collection[] = [
  collection('orgs', `${ROSTERING}/orgs`, 'orgs'),
  collection('academic-sessions', `${ROSTERING}/academicSessions`, 'academicSessions'),
  collection('courses', `${ROSTERING}/courses`, 'courses'),
  collection('classes', `${ROSTERING}/classes`, 'classes'),
  collection('users', `${ROSTERING}/users`, 'users'),
  collection('students', `${ROSTERING}/students`, 'users'),
  collection('teachers', `${ROSTERING}/teachers`, 'users'),
  collection('enrollments', `${ROSTERING}/enrollments`, 'enrollments'),
  collection('categories', `${GRADEBOOK}/categories`, 'categories'),
  collection('line-items', `${GRADEBOOK}/lineItems`, 'lineItems'),
  collection('results', `${GRADEBOOK}/results`, 'results'),
  collection('assessment-line-items', `${GRADEBOOK}/assessmentLineItems`, 'assessmentLineItems'),
  collection('assessment-results', `${GRADEBOOK}/assessmentResults`, 'assessmentResults'),
  collection('absence-summaries', `${ABSENCES}/absences/summary`, 'absences'),
  collection('absence-versions', `${ABSENCES}/absences/detail`, 'absences'),
  collection('afterschool-users', `${ROSTERING}/afterschools/{id}/users`, 'users'),
  collection('class-students', `${ROSTERING}/classes/{id}/students`, 'users', {
    keyset: false,
    byDefault: false,
  }),
  // Core API: requests name a student and days, and bodies have several shapes (spec 4.4).
  collection('schedules', '/api/core/schedules', 'schedules', { keyset: false }),
  collection('absences', `${ABSENCES}/absences/detail`, 'absences', { derivedFrom: 'absence-versions' }),
  collection('absence-changes', `${ABSENCES}/absences/detail`, 'absences', {
    derivedFrom: 'absence-versions',
  }),
];

const BY_NAME = new Map(DESCRIPTIONS.map((description) => [description.name, description]));

/** Returns the description of a collection. */
export function collectionNamed(name: CollectionName): Collection {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new Error(`no collection is named ${name}`);
  return found;
}

export function isCollectionName(name: string): name is CollectionName {
  return (COLLECTIONS as readonly string[]).includes(name);
}

/** Returns the collection whose syncs publish its records: for most collections, the collection itself. */
export function sourceOf(name: CollectionName): CollectionName {
  return collectionNamed(name).derivedFrom ?? name;
}

export const TOPICS_OF_ABSENCES: readonly TopicSuffix[] = [
  'absence-versions',
  ...DERIVED_COLLECTIONS,
  STATE_TOPIC,
];

/**
 * The topics that begin again together with a topic. Absences are published from their first version again: otherwise
 * their steps would not fit.
 */
export function topicsBegunWith(suffix: TopicSuffix): readonly TopicSuffix[] {
  const isOfAbsences = suffix !== STATE_TOPIC && TOPICS_OF_ABSENCES.includes(suffix);
  return isOfAbsences ? TOPICS_OF_ABSENCES : [suffix];
}

export function isDerivedCollection(name: string): name is DerivedCollection {
  return (DERIVED_COLLECTIONS as readonly string[]).includes(name);
}
