import type { HubClock } from '../hub-clock.ts';
import type { JsonObject } from '../json.ts';
import { mix } from '../random.ts';
import type { CollectionName, StoredName } from './collections.ts';
import { generateAbsences, generateSummaries } from './generate/absences.ts';
import type { DistrictPlan, DistrictSize } from './generate/district-plan.ts';
import { at, gradeOfHomeroom, homeroomOf, planDistrict, schoolOfHomeroom } from './generate/district-plan.ts';
import {
  generateAssessmentResults,
  generateAssessments,
  generateCategories,
  generateLineItems,
  generateResults,
} from './generate/gradebook.ts';
import type { NamedContent } from './generate/organisation.ts';
import { afterschoolId, generateOrgs, generateSessions, primarySchools } from './generate/organisation.ts';
import { generatePeople } from './generate/people.ts';
import { generateClasses, generateCourses, generateEnrolments } from './generate/teaching.ts';
import type { Membership } from './membership.ts';
import { indexMembership } from './membership.ts';
import { createRefer } from './references.ts';
import type { Refer } from './references.ts';
import type { Row } from './row.ts';
import { generatedRow } from './row.ts';
import type { Generated, Listing } from './row-store.ts';
import { createListing, createStore, findRow } from './row-store.ts';
import { osloDate, osloInstant } from './school-calendar.ts';

/** A school district: what the hub serves. Changed only through the functions of district-operations and absence-operations. */
export interface District {
  readonly plan: DistrictPlan;
  readonly refer: Refer;
  readonly clock: HubClock;
  readonly listings: Readonly<Record<CollectionName, Listing>>;
  /** Members of each afterschool programme, by its id. */
  readonly afterschools: ReadonlyMap<string, Listing>;
  /** Lessons that differ from the timetable, by lesson id; null: not taking place and not listed. */
  readonly lessonChanges: Map<string, JsonObject | null>;
  membership: Membership | undefined;
  /** Ids handed out since the start, so that the next one is new. */
  idsGiven: number;
}

export function createDistrict(options: {
  seed: number;
  size: DistrictSize;
  clock: HubClock;
  baseUrl: string;
  /** `HH:MM` in Oslo at which the night's full synchronisation stamps everything. */
  restampAt: string;
}): District {
  const startMs = options.clock.now();
  const plan = planDistrict({ seed: options.seed, size: options.size, startDate: osloDate(startMs) });
  const refer = createRefer(options.baseUrl);
  const restampedAtMs = lastRestamp(startMs, options.restampAt);
  const list = (generated: Generated): Listing =>
    createListing(createStore(generated.builder, restampedAtMs), generated.rows);
  const people = generatePeople(plan, refer);
  const users = list({ builder: people.builder, rows: people.users });
  const lineItems = generateLineItems(plan, refer);
  const results = generateResults(plan, refer, lineItems.rows);
  return {
    plan,
    refer,
    clock: options.clock,
    listings: {
      users,
      students: createListing(users.store, people.students),
      teachers: createListing(users.store, people.teachers),
      orgs: list(fixed(generateOrgs(plan, refer))),
      classes: list(generateClasses(plan, refer)),
      courses: list(fixed(generateCourses(plan, refer))),
      'academic-sessions': list(fixed(generateSessions(plan, refer))),
      enrollments: list(generateEnrolments(plan, refer)),
      'line-items': list(lineItems),
      categories: list(fixed(generateCategories(plan))),
      results: list(results),
      'assessment-line-items': list(fixed(generateAssessments(plan))),
      'assessment-results': list(generateAssessmentResults(plan, refer)),
      'absence-summaries': list(generateSummaries(plan, refer)),
      absences: list(generateAbsences(plan, refer)),
    },
    afterschools: afterschoolListings(plan, users),
    lessonChanges: new Map(),
    membership: undefined,
    idsGiven: 0,
  };
}

export function membershipOf(district: District): Membership {
  district.membership ??= indexMembership(district.listings.enrollments);
  return district.membership;
}

/** The collection in which a row of this one is stored. */
export function storedName(name: CollectionName): StoredName {
  return name === 'students' || name === 'teachers' ? 'users' : name;
}

/** The last time before an instant that the clock in Oslo showed `HH:MM`. */
export function lastRestamp(beforeMs: number, time: string): number {
  const today = osloInstant(osloDate(beforeMs), time);
  return today <= beforeMs ? today : osloInstant(osloDate(beforeMs - 86_400_000), time);
}

function fixed(rows: readonly NamedContent[]): Generated {
  return {
    builder: { build: (index) => at(rows, index)[1] },
    rows: rows.map(([id], index) => generatedRow(id, index)),
  };
}

/** About half of the pupils of grades 1 to 4 go to the afterschool programme of their school. */
function afterschoolListings(plan: DistrictPlan, users: Listing): ReadonlyMap<string, Listing> {
  const members = new Map<number, Row[]>(primarySchools(plan).map((school) => [school, []]));
  for (const [student, id] of plan.ids.students.entries()) {
    const homeroom = homeroomOf(plan, student);
    if (gradeOfHomeroom(plan, homeroom) > 4 || mix(plan.seed, student, 404) % 2 !== 0) continue;
    const row = findRow(users, id);
    if (row !== undefined) members.get(schoolOfHomeroom(plan, homeroom))?.push(row);
  }
  return new Map(
    [...members].map(([school, rows]) => [afterschoolId(plan, school), createListing(users.store, rows)]),
  );
}
