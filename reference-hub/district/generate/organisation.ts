import type { JsonObject } from '../../json.ts';
import { uuidFrom } from '../../random.ts';
import type { Refer } from '../references.ts';
import type { DistrictPlan } from './district-plan.ts';
import { at, ID, schoolKind } from './district-plan.ts';
import { inventPlace } from './names.ts';

export type NamedContent = readonly [id: string, content: JsonObject];

/** The afterschool programme (SFO) of a school; only primary schools have one. */
export function afterschoolId(plan: DistrictPlan, school: number): string {
  return uuidFrom(plan.seed, ID.afterschool, school);
}

export function primarySchools(plan: DistrictPlan): number[] {
  return Array.from({ length: plan.schools }, (_, school) => school).filter(
    (school) => schoolKind(school) === 'primary',
  );
}

export function generateOrgs(plan: DistrictPlan, refer: Refer): NamedContent[] {
  const district = at(plan.ids.orgs, 0);
  const schools = plan.ids.orgs.slice(1);
  const orgs: NamedContent[] = [
    [
      district,
      {
        status: 'active',
        name: 'Prøvefjord kommune',
        type: 'district',
        identifier: '900000000',
        children: schools.map((id) => refer('org', id)),
      },
    ],
  ];
  for (const [school, id] of schools.entries()) {
    const place = inventPlace(school);
    const kind = { primary: 'barneskole', lower: 'ungdomsskole', upper: 'videregående skole' }[
      schoolKind(school)
    ];
    const afterschool = schoolKind(school) === 'primary' ? afterschoolId(plan, school) : undefined;
    orgs.push([
      id,
      {
        status: 'active',
        name: `${place} ${kind}`,
        type: 'school',
        identifier: String(900_000_001 + school),
        parent: refer('org', district),
        children: afterschool === undefined ? [] : [refer('org', afterschool)],
        metadata: {
          'onedhub.city': place,
          'onedhub.postalCode': String(9000 + (school % 900)),
          'onedhub.ownership': 'Kommunal',
          'onedhub.shortName': `S${school + 1}`,
          'onedhub.coordinates': { latitude: 60 + school / 100, longitude: 10, origin: 'invented' },
        },
      },
    ]);
    if (afterschool !== undefined) {
      orgs.push([
        afterschool,
        {
          status: 'active',
          name: `${place} SFO`,
          type: 'ext:afterschool',
          identifier: `SFO-${school + 1}`,
          parent: refer('org', id),
        },
      ]);
    }
  }
  return orgs;
}

/** The school year, its two semesters, and two grading periods in each. `endDate` is exclusive. */
export function generateSessions(plan: DistrictPlan, refer: Refer): NamedContent[] {
  const year = plan.schoolYear;
  return SESSIONS.map(([title, type, from, to, family], index) => [
    at(plan.ids.sessions, index),
    {
      status: 'active',
      title,
      type,
      startDate: dateIn(year, from),
      endDate: dateIn(year, to),
      parent:
        family.parent === undefined
          ? undefined
          : refer('academicSession', at(plan.ids.sessions, family.parent)),
      children: family.children?.map((child) => refer('academicSession', at(plan.ids.sessions, child))),
      schoolYear: String(year + 1),
    },
  ]);
}

type Session = readonly [
  title: string,
  type: string,
  from: string,
  to: string,
  family: { parent?: number; children?: readonly number[] },
];

/** Months and days; those with a plus lie in the year after the school year's beginning. */
const SESSIONS: readonly Session[] = [
  ['Skoleåret', 'schoolYear', '08-01', '+08-01', { children: [1, 2] }],
  ['Høst', 'semester', '08-01', '+01-01', { parent: 0, children: [3, 4] }],
  ['Vår', 'semester', '+01-01', '+08-01', { parent: 0, children: [5, 6] }],
  ['Høst 1', 'gradingPeriod', '08-01', '10-16', { parent: 1 }],
  ['Høst 2', 'gradingPeriod', '10-16', '+01-01', { parent: 1 }],
  ['Vår 1', 'gradingPeriod', '+01-01', '+03-16', { parent: 2 }],
  ['Vår 2', 'gradingPeriod', '+03-16', '+08-01', { parent: 2 }],
];

function dateIn(schoolYear: number, day: string): string {
  return day.startsWith('+') ? `${schoolYear + 1}-${day.slice(1)}` : `${schoolYear}-${day}`;
}
