import { valuesAt } from '../json.ts';
import type { District } from './district.ts';
import type { Row } from './row.ts';
import type { Listing } from './row-store.ts';
import { contentOf, createListing, peekAt } from './row-store.ts';

/** Where a row names its school. An afterschool programme names it as its parent. */
const PLACES = ['school.sourcedId', 'primaryOrg.sourcedId', 'roles.org.sourcedId', 'parent.sourcedId'].map(
  (path) => path.split('.'),
);

/** For each listing, the last one that was made from it without a school. Otherwise every page would look at all rows. */
const MADE = new WeakMap<
  Listing,
  { readonly school: string; readonly version: number; readonly rest: Listing }
>();

/**
 * A listing without a school and all that belongs to it. `number`: of the school, from 1. Throws RangeError if the
 * district has no such school.
 */
export function withoutSchool(district: District, listing: Listing, number: number): Listing {
  const school = district.plan.ids.orgs.slice(1)[number - 1];
  if (school === undefined)
    throw new RangeError(`There is no school ${number}: the district has ${district.plan.schools}.`);
  const made = MADE.get(listing);
  if (made?.school === school && made.version === listing.version) return made.rest;
  const { students } = district.listings;
  const lost = new Set(students.rows.filter((row) => names(students, row, school)).map(({ id }) => id));
  const belongs = (row: Row): boolean => {
    // A result names its student, and no school.
    const student = peekAt(listing.store, row, 'student');
    return student === undefined ? row.id === school || names(listing, row, school) : lost.has(student);
  };
  const rest = createListing(
    listing.store,
    listing.rows.filter((row) => !belongs(row)),
  );
  MADE.set(listing, { school, version: listing.version, rest });
  return rest;
}

function names({ store }: Listing, row: Row, school: string): boolean {
  const content = contentOf(store, row);
  return PLACES.some((path) => valuesAt(content, path).includes(school));
}
