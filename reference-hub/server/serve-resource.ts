import type { CollectionName } from '../district/collections.ts';
import { COLLECTIONS } from '../district/collections.ts';
import type { District } from '../district/district.ts';
import { membershipOf } from '../district/district.ts';
import type { LessonRange } from '../district/lessons.ts';
import { lessonsOf } from '../district/lessons.ts';
import type { Listing } from '../district/row-store.ts';
import { createListing, findRow, objectOf } from '../district/row-store.ts';
import { addDays } from '../district/school-calendar.ts';
import { withoutSchool } from '../district/without-school.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { numberIn } from './faults/fault.ts';
import type { Reply } from './reply.ts';
import { badRequest, jsonReply, RequestRefused } from './reply.ts';
import type { Route } from './routes.ts';
import type { MetFault } from './serve-collection.ts';
import { changedRow, serveCollection } from './serve-collection.ts';

const SCHEDULE_PAGE = 50;
const LONGEST_RANGE_DAYS = 400;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** Answers a routed, authorised request. @throws RequestRefused */
export function serveRoute(
  district: District,
  options: { route: Route; url: URL; faults: readonly MetFault[] },
): Reply {
  const { route, url, faults } = options;
  const list = (listing: Listing, of: CollectionName, keysetOffered = true): Reply => {
    const { envelope, fields } = COLLECTIONS[of];
    const shown = withoutLostSchool(district, { listing, faults });
    return serveCollection({ listing: shown, envelope, fields, keysetOffered, url, faults });
  };
  switch (route.kind) {
    case 'collection':
      return list(district.listings[route.collection], route.collection);
    case 'class-students':
      return list(studentsOf(district, route.id), 'students', false);
    case 'afterschool-users': {
      const listing = district.afterschools.get(route.id);
      if (listing === undefined) throw unknownObject('afterschool programme');
      return list(listing, 'users');
    }
    case 'class':
      return serveClass(district, { id: route.id, faults });
    case 'schedules':
      return serveSchedules(district, { url, faults });
    case 'swagger':
      return {
        status: 200,
        headers: { 'content-type': 'text/html; charset=utf-8' },
        body: Buffer.from(
          '<!DOCTYPE html><title>Core API</title><p>GET /api/core/schedules?student=&amp;from=&amp;to=</p>',
        ),
      };
  }
}

function metBy(faults: readonly MetFault[], name: string): MetFault | undefined {
  return faults.find(({ fault }) => fault.name === name);
}

function withoutLostSchool(
  district: District,
  { listing, faults }: { listing: Listing; faults: readonly MetFault[] },
): Listing {
  const met = metBy(faults, 'lost-school');
  return met === undefined ? listing : withoutSchool(district, listing, numberIn(met.context.value));
}

function serveClass(district: District, options: { id: string; faults: readonly MetFault[] }): Reply {
  const { classes } = district.listings;
  const row = findRow(classes, options.id);
  if (row === undefined) throw unknownObject('class');
  const text = changedRow(objectOf(classes.store, row), options.faults);
  return { ...jsonReply(200, null), body: Buffer.from(`{"class":${text}}`) };
}

/** Members of a class as a collection; 404 for a class that does not exist. */
function studentsOf(district: District, classId: string): Listing {
  if (findRow(district.listings.classes, classId) === undefined) throw unknownObject('class');
  const ids = new Set(membershipOf(district).studentsOfClass.get(classId)?.values() ?? []);
  const { students } = district.listings;
  const rows = [...ids].map((id) => findRow(students, id)).filter((row) => row !== undefined);
  return createListing(students.store, rows);
}

/** Spec 4.4; the body's shape is not shown there, so a fault chooses another one. */
function serveSchedules(district: District, options: { url: URL; faults: readonly MetFault[] }): Reply {
  const query = readScheduleQuery(options.url.searchParams);
  const named = (name: string): MetFault | undefined => metBy(options.faults, name);
  const lessons = named('empty-list') === undefined ? lessonsOf(district, query) : [];
  if (named('missing-list') !== undefined) return jsonReply(200, {});
  return jsonReply(
    200,
    shaped(lessons, { shape: named('schedules-shape')?.context.value ?? 'array', url: options.url }),
  );
}

function shaped(lessons: JsonObject[], options: { shape: string; url: URL }): JsonValue {
  const skip = Number(options.url.searchParams.get('$skip') ?? '0') || 0;
  const page = lessons.slice(skip, skip + SCHEDULE_PAGE);
  const next = new URL(options.url);
  next.searchParams.set('$skip', String(skip + SCHEDULE_PAGE));
  const more = skip + SCHEDULE_PAGE < lessons.length;
  switch (options.shape) {
    case 'schedules':
      return { schedules: lessons };
    case 'odata':
      return more ? { value: page, '@odata.nextLink': next.toString() } : { value: page };
    default:
      return lessons;
  }
}

/** @throws RequestRefused 400 if a parameter of spec 4.4 is missing or no date */
function readScheduleQuery(parameters: URLSearchParams): LessonRange {
  const student = parameters.get('student') ?? '';
  const from = parameters.get('from') ?? '';
  const to = parameters.get('to') ?? '';
  if (student === '') throw badRequest('student is missing');
  for (const [name, date] of [
    ['from', from],
    ['to', to],
  ] as const) {
    if (!DATE.test(date) || Number.isNaN(Date.parse(date))) throw badRequest(`${name} is a date, YYYY-MM-DD`);
  }
  if (to > addDays(from, LONGEST_RANGE_DAYS))
    throw badRequest(`from and to lie at most ${LONGEST_RANGE_DAYS} days apart`);
  return { student, from, to };
}

function unknownObject(kind: string): RequestRefused {
  return new RequestRefused(404, `There is no such ${kind}.`);
}
