/**
 * The collections Rollcall mirrors: names, places at the hub, shape of keys.
 * Names are the contract: topics, config, commands and metrics use them as they stand here.
 */

const ROSTERING = '/ims/oneroster/rostering/v1p2';
const GRADEBOOK = '/ims/oneroster/gradebook/v1p2';
const ABSENCES = '/ims/oneroster/absences/v1p0';

/** Collections whose rows come one by one out of a list at the hub (spec 4.1), each row one record. */
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

/** Collections whose records Rollcall puts together from several rows. */
export const COMPOSED_COLLECTIONS = ['class-students', 'schedules'] as const;

/**
 * Topics that follow from the rows of `absence-versions` (spec 3) and are published in the same transactions: they have
 * no passes and no index of their own.
 */
export const CHAIN_COLLECTIONS = ['absences', 'absence-changes'] as const;
export type ChainCollection = (typeof CHAIN_COLLECTIONS)[number];

export const COLLECTIONS = [...ROW_COLLECTIONS, ...COMPOSED_COLLECTIONS, ...CHAIN_COLLECTIONS] as const;

export type CollectionName = (typeof COLLECTIONS)[number];

/** Topics of a tenant that hold no collection of the hub's. */
export const OWN_TOPICS = ['rejects', 'progress'] as const;
export type TopicSuffix = CollectionName | (typeof OWN_TOPICS)[number];

export interface Collection {
  readonly name: CollectionName;
  /** Path below the base URL; `{id}` stands for the parent's id in nested collections. */
  readonly path: string;
  /** Property of the response body that holds the list (OneRoster 1.2 envelopes). */
  readonly envelope: string;
  /** False where the hub takes only `limit` and `offset` (spec 4.1): then no delta either. */
  readonly keyset: boolean;
  /** Mirrored when the configuration says `collections: all`. */
  readonly byDefault: boolean;
  /** The collection whose passes bring this one's records; null where it has passes of its own. */
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
  // Of the Core API: asked for by student and days, in bodies of several shapes (spec 4.4).
  collection('schedules', '/api/core/schedules', 'schedules', { keyset: false }),
  collection('absences', `${ABSENCES}/absences/detail`, 'absences', { derivedFrom: 'absence-versions' }),
  collection('absence-changes', `${ABSENCES}/absences/detail`, 'absences', {
    derivedFrom: 'absence-versions',
  }),
];

const BY_NAME = new Map(DESCRIPTIONS.map((description) => [description.name, description]));

/** The description of a collection. Every `CollectionName` has one. */
export function collectionNamed(name: CollectionName): Collection {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new Error(`no collection is named ${name}`);
  return found;
}

export function isCollectionName(name: string): name is CollectionName {
  return (COLLECTIONS as readonly string[]).includes(name);
}

/** The collection whose passes bring its records: for most the collection itself. */
export function sourceOf(name: CollectionName): CollectionName {
  return collectionNamed(name).derivedFrom ?? name;
}

export function isChainCollection(name: string): name is ChainCollection {
  return (CHAIN_COLLECTIONS as readonly string[]).includes(name);
}
