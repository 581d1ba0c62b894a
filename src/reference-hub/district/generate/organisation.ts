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
    const children = schoolKind(school) === 'primary' ? [refer('org', afterschoolId(plan, school))] : [];
    orgs.push([
      id,
      {
        status: 'active',
        name: `${place} ${kind}`,
        type: 'school',
        identifier: String(900_000_001 + school),
        parent: refer('org', district),
        children,
        metadata: {
          'onedhub.city': place,
          'onedhub.postalCode': String(9000 + (school % 900)),
          'onedhub.ownership': 'Kommunal',
          'onedhub.shortName': `S${school + 1}`,
          'onedhub.coordinates': { latitude: 60 + school / 100, longitude: 10, origin: 'invented' },
        },
      },
    ]);
    for (const child of children) {
      const afterschool = child['sourcedId'];
      if (typeof afterschool !== 'string') continue;
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
  const id = (index: number): string => at(plan.ids.sessions, index);
  const session = (options: {
    title: string;
    type: string;
    from: string;
    to: string;
    parent?: number;
    children?: number[];
  }): JsonObject => ({
    status: 'active',
    title: options.title,
    startDate: options.from,
    endDate: options.to,
    type: options.type,
    parent: options.parent === undefined ? undefined : refer('academicSession', id(options.parent)),
    children: options.children?.map((child) => refer('academicSession', id(child))),
    schoolYear: String(year + 1),
  });
  return [
    [
      id(0),
      session({
        title: `Skoleåret ${year}-${year + 1}`,
        type: 'schoolYear',
        from: `${year}-08-01`,
        to: `${year + 1}-08-01`,
        children: [1, 2],
      }),
    ],
    [
      id(1),
      session({
        title: 'Høst',
        type: 'semester',
        from: `${year}-08-01`,
        to: `${year + 1}-01-01`,
        parent: 0,
        children: [3, 4],
      }),
    ],
    [
      id(2),
      session({
        title: 'Vår',
        type: 'semester',
        from: `${year + 1}-01-01`,
        to: `${year + 1}-08-01`,
        parent: 0,
        children: [5, 6],
      }),
    ],
    [
      id(3),
      session({
        title: 'Høst 1',
        type: 'gradingPeriod',
        from: `${year}-08-01`,
        to: `${year}-10-16`,
        parent: 1,
      }),
    ],
    [
      id(4),
      session({
        title: 'Høst 2',
        type: 'gradingPeriod',
        from: `${year}-10-16`,
        to: `${year + 1}-01-01`,
        parent: 1,
      }),
    ],
    [
      id(5),
      session({
        title: 'Vår 1',
        type: 'gradingPeriod',
        from: `${year + 1}-01-01`,
        to: `${year + 1}-03-16`,
        parent: 2,
      }),
    ],
    [
      id(6),
      session({
        title: 'Vår 2',
        type: 'gradingPeriod',
        from: `${year + 1}-03-16`,
        to: `${year + 1}-08-01`,
        parent: 2,
      }),
    ],
  ];
}
