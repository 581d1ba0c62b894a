/**
 * The collections of spec 4.1: their names in the control API and in faults, where they are served, the property of the
 * response that holds the rows, and the fields that a filter, a sort or a selection may name.
 */
export interface CollectionSpec {
  readonly path: string;
  readonly envelope: string;
  readonly fields: readonly string[];
}

const ROSTERING = '/ims/oneroster/rostering/v1p2';
const GRADEBOOK = '/ims/oneroster/gradebook/v1p2';
const ABSENCES = '/ims/oneroster/absences/v1p0';

const BASE_FIELDS = ['sourcedId', 'status', 'dateLastModified', 'metadata'];
const USER_FIELDS =
  'userMasterIdentifier username userIds enabledUser givenName familyName middleName ' +
  'preferredFirstName preferredMiddleName preferredLastName pronouns roles userProfiles primaryOrg ' +
  'identifier email sms phone agents grades password resources';
const RESULT_FIELDS =
  'student class scoreScale scoreStatus score textScore scoreDate comment learningObjectiveSet ' +
  'inProgress incomplete late missing';

export const COLLECTION_NAMES = [
  'users',
  'students',
  'teachers',
  'orgs',
  'classes',
  'courses',
  'academic-sessions',
  'enrollments',
  'line-items',
  'categories',
  'results',
  'assessment-line-items',
  'assessment-results',
  'absence-summaries',
  'absences',
] as const;
export type CollectionName = (typeof COLLECTION_NAMES)[number];

/** Collections that hold rows of their own; students and teachers are parts of users. */
export type StoredName = Exclude<CollectionName, 'students' | 'teachers'>;

/** `fields`: their names, with blanks between; every collection has those of {@link BASE_FIELDS}, too. */
function spec(path: string, envelope: string, fields: string): CollectionSpec {
  return { path, envelope, fields: [...BASE_FIELDS, ...fields.split(' ')] };
}

export const COLLECTIONS: Readonly<Record<CollectionName, CollectionSpec>> = {
  users: spec(`${ROSTERING}/users`, 'users', USER_FIELDS),
  students: spec(`${ROSTERING}/students`, 'users', USER_FIELDS),
  teachers: spec(`${ROSTERING}/teachers`, 'users', USER_FIELDS),
  orgs: spec(`${ROSTERING}/orgs`, 'orgs', 'name type identifier parent children'),
  classes: spec(
    `${ROSTERING}/classes`,
    'classes',
    'title classCode classType location grades subjects course school terms subjectCodes periods resources',
  ),
  courses: spec(
    `${ROSTERING}/courses`,
    'courses',
    'title schoolYear courseCode grades subjects org subjectCodes resources',
  ),
  'academic-sessions': spec(
    `${ROSTERING}/academicSessions`,
    'academicSessions',
    'title startDate endDate type parent children schoolYear',
  ),
  enrollments: spec(
    `${ROSTERING}/enrollments`,
    'enrollments',
    'user class school role primary beginDate endDate',
  ),
  'line-items': spec(
    `${GRADEBOOK}/lineItems`,
    'lineItems',
    'title description assignDate dueDate class school category gradingPeriod academicSession scoreScale ' +
      'resultValueMin resultValueMax learningObjectiveSet',
  ),
  categories: spec(`${GRADEBOOK}/categories`, 'categories', 'title weight'),
  results: spec(`${GRADEBOOK}/results`, 'results', `lineItem ${RESULT_FIELDS}`),
  'assessment-line-items': spec(
    `${GRADEBOOK}/assessmentLineItems`,
    'assessmentLineItems',
    'title description class parentAssessmentLineItem scoreScale resultValueMin resultValueMax learningObjectiveSet',
  ),
  'assessment-results': spec(
    `${GRADEBOOK}/assessmentResults`,
    'assessmentResults',
    `assessmentLineItem scorePercentile ${RESULT_FIELDS}`,
  ),
  'absence-summaries': spec(
    `${ABSENCES}/absences/summary`,
    'absenceSummaries',
    'student school term absenceDurationUnit absenceDurationValue numberOfAbsences numberOfFullDays',
  ),
  absences: spec(
    `${ABSENCES}/absences/detail`,
    'absences',
    'fromTime toTime absenceDurationUnit absenceDurationValue student school term classesAffected replaces ' +
      'replacedBy deletedTime',
  ),
};

export const CLASSES_PATH = `${ROSTERING}/classes`;
export const AFTERSCHOOLS_PATH = `${ROSTERING}/afterschools`;
export const SCHEDULES_PATH = '/api/core/schedules';

/** Takes `lineItems`, `line-items`, and `absence-versions` for `absences`; undefined for what is no collection. */
export function collectionNamed(name: string): CollectionName | undefined {
  if (name === 'absence-versions') return 'absences';
  const plain = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return COLLECTION_NAMES.find((known) => known === plain);
}
