import type { JsonObject } from '../json.ts';

export type ReferenceType =
  | 'user'
  | 'org'
  | 'academicSession'
  | 'class'
  | 'course'
  | 'category'
  | 'lineItem'
  | 'assessmentLineItem'
  | 'absence';

const PATHS: Readonly<Record<ReferenceType, string>> = {
  user: '/ims/oneroster/rostering/v1p2/users/',
  org: '/ims/oneroster/rostering/v1p2/orgs/',
  academicSession: '/ims/oneroster/rostering/v1p2/academicSessions/',
  class: '/ims/oneroster/rostering/v1p2/classes/',
  course: '/ims/oneroster/rostering/v1p2/courses/',
  category: '/ims/oneroster/gradebook/v1p2/categories/',
  lineItem: '/ims/oneroster/gradebook/v1p2/lineItems/',
  assessmentLineItem: '/ims/oneroster/gradebook/v1p2/assessmentLineItems/',
  absence: '/ims/oneroster/absences/v1p0/absences/detail/',
};

export type Refer = (type: ReferenceType, sourcedId: string) => JsonObject;

/** Makes GUIDRefs (spec 2.1) whose `href` lies under `baseUrl`. The spec names no type for an absence: `absence`. */
export function createRefer(baseUrl: string): Refer {
  return (type, sourcedId) => ({
    href: `${baseUrl}${PATHS[type]}${encodeURIComponent(sourcedId)}`,
    sourcedId,
    type,
  });
}
