/**
 * The collections that Rollcall mirrors: their names, and their addresses at the hub.
 * The names are part of the contract: topics, configuration, commands and metrics use them.
 */

const ROSTERING = '/ims/oneroster/rostering/v1p2';
const GRADEBOOK = '/ims/oneroster/gradebook/v1p2';
const ABSENCES = '/ims/oneroster/absences/v1p0';

interface Described {
  /** Path below the base URL; `{id}` stands for the parent's id in nested collections. */
  readonly path: string;
  /** The property of the response body that holds the list (OneRoster 1.2 envelopes). */
  readonly envelope: string;
  /** False if the hub accepts only `limit` and `offset` (spec 4.1): then incremental syncs are impossible too. */
  readonly keyset?: boolean;
  /** Whether `collections: all` includes it. */
  readonly byDefault?: boolean;
  /** The collection whose syncs publish this one's records; null when it has its own syncs. */
  readonly derivedFrom?: 'absence-versions' | null;
}

/** Collections that the hub serves as a list of rows (spec 4.1); each row becomes one record. */
const ROWS = {
  orgs: { path: `${ROSTERING}/orgs`, envelope: 'orgs' },
  'academic-sessions': { path: `${ROSTERING}/academicSessions`, envelope: 'academicSessions' },
  courses: { path: `${ROSTERING}/courses`, envelope: 'courses' },
  classes: { path: `${ROSTERING}/classes`, envelope: 'classes' },
  users: { path: `${ROSTERING}/users`, envelope: 'users' },
  students: { path: `${ROSTERING}/students`, envelope: 'users' },
  teachers: { path: `${ROSTERING}/teachers`, envelope: 'users' },
  enrollments: { path: `${ROSTERING}/enrollments`, envelope: 'enrollments' },
  categories: { path: `${GRADEBOOK}/categories`, envelope: 'categories' },
  'line-items': { path: `${GRADEBOOK}/lineItems`, envelope: 'lineItems' },
  results: { path: `${GRADEBOOK}/results`, envelope: 'results' },
  'assessment-line-items': { path: `${GRADEBOOK}/assessmentLineItems`, envelope: 'assessmentLineItems' },
  'assessment-results': { path: `${GRADEBOOK}/assessmentResults`, envelope: 'assessmentResults' },
  'absence-summaries': { path: `${ABSENCES}/absences/summary`, envelope: 'absences' },
  'absence-versions': { path: `${ABSENCES}/absences/detail`, envelope: 'absences' },
  'afterschool-users': { path: `${ROSTERING}/afterschools/{id}/users`, envelope: 'users' },
} as const satisfies Record<string, Described>;

/** Collections whose records Rollcall composes from several rows. */
const COMPOSED = {
  'class-students': {
    path: `${ROSTERING}/classes/{id}/students`,
    envelope: 'users',
    keyset: false,
    byDefault: false,
  },
  // Core API: requests name a student and days, and bodies have several shapes (spec 4.4).
  schedules: { path: '/api/core/schedules', envelope: 'schedules', keyset: false },
} as const satisfies Record<string, Described>;

/**
 * Topics that are derived from the rows of `absence-versions` (spec 3) and published in the same transactions. They
 * have no syncs and no index of their own.
 */
const DERIVED = {
  absences: { ...ROWS['absence-versions'], derivedFrom: 'absence-versions' },
  'absence-changes': { ...ROWS['absence-versions'], derivedFrom: 'absence-versions' },
} as const satisfies Record<string, Described>;

export type DerivedCollection = keyof typeof DERIVED;
export type CollectionName = keyof typeof ROWS | keyof typeof COMPOSED | DerivedCollection;

const DESCRIBED: Readonly<Record<CollectionName, Described>> = { ...ROWS, ...COMPOSED, ...DERIVED };

export const ROW_COLLECTIONS = Object.keys(ROWS) as readonly (keyof typeof ROWS)[];
export const DERIVED_COLLECTIONS = Object.keys(DERIVED) as readonly DerivedCollection[];
export const COLLECTIONS = Object.keys(DESCRIBED) as readonly CollectionName[];

/** Topics of a tenant that do not belong to a collection of the hub. */
export const OWN_TOPICS = ['rejects', 'progress'] as const;
/** The changelog of the absence view. Only Rollcall reads it. Its values are not Avro. */
export const STATE_TOPIC = 'absence-state' as const;
export type TopicSuffix = CollectionName | (typeof OWN_TOPICS)[number] | typeof STATE_TOPIC;

export interface Collection extends Required<Described> {
  readonly name: CollectionName;
}

export function collectionNamed(name: CollectionName): Collection {
  return { name, keyset: true, byDefault: true, derivedFrom: null, ...DESCRIBED[name] };
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
 * The topics that begin again together with a topic. The topics of absences all begin again together: then every absence is
 * published from its first version, and its steps begin at 1.
 */
export function topicsBegunWith(suffix: TopicSuffix): readonly TopicSuffix[] {
  const isOfAbsences = suffix !== STATE_TOPIC && TOPICS_OF_ABSENCES.includes(suffix);
  return isOfAbsences ? TOPICS_OF_ABSENCES : [suffix];
}

export function isDerivedCollection(name: string): name is DerivedCollection {
  return (DERIVED_COLLECTIONS as readonly string[]).includes(name);
}
