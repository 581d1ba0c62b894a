import { isJsonObject } from '../raw-json.ts';

/** The contents of one response body of the Core API's schedules. */
export interface LessonPage {
  readonly lessons: readonly unknown[];
  /** Address of the next page from the body, absolute or relative; null when the body names none. */
  readonly next: string | null;
  /** The body says that there are more lessons, with or without an address. */
  readonly saysMore: boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** Names of lists that never contain lessons. */
const NOT_LESSONS = new Set(['errors', 'warnings', 'messages', 'links', '_links']);

/**
 * Reads the body of `/api/core/schedules`, whose shape the specification leaves open (4.4): a bare list,
 * `{schedules: […]}`, OData's `{value: […], "@odata.nextLink"}`, HAL's `{_embedded: {…: […]}, _links: {next}}`, or any
 * other envelope with exactly one list. `undefined` stands for an empty response, which means no lessons.
 *
 * Null for a body without a list: it does not prove that there are no lessons. (HAL omits an empty `_embedded`; that
 * counts as no lessons only beside a total of 0.)
 */
export function readLessonPage(body: unknown): LessonPage | null {
  if (body === undefined) return { lessons: [], next: null, saysMore: false };
  if (Array.isArray(body)) return { lessons: body, next: null, saysMore: false };
  if (!isJsonObject(body)) return null;
  const lessons = lessonsIn(body);
  if (lessons === null) return null;
  const next = nextIn(body);
  return { lessons, next, saysMore: next !== null || saysMore(body) };
}

function lessonsIn(body: Members): readonly unknown[] | null {
  const embedded = own(body, '_embedded');
  if (isJsonObject(embedded)) {
    return onlyList(embedded) ?? onlyMember(embedded) ?? (totalOf(body) === 0 ? [] : null);
  }
  if (Array.isArray(embedded)) return embedded;
  for (const name of ['schedules', 'value']) {
    const named = own(body, name);
    if (Array.isArray(named)) return named;
    // Some serialisers omit the brackets around a single element.
    if (isJsonObject(named)) return onlyList(named) ?? [named];
  }
  return onlyList(body) ?? listOneLevelDown(body) ?? (totalOf(body) === 0 ? [] : null);
}

/** The list in `{data: {lessons: […]}}`. */
function listOneLevelDown(body: Members): readonly unknown[] | null {
  const found = Object.entries(body).flatMap(([name, value]) => {
    const list = isJsonObject(value) && !NOT_LESSONS.has(name) ? onlyList(value) : null;
    return list === null ? [] : [list];
  });
  return found.length === 1 ? (found[0] ?? null) : null;
}

function onlyList(members: Members): readonly unknown[] | null {
  const lists = Object.entries(members).filter(
    (entry): entry is [string, unknown[]] => Array.isArray(entry[1]) && !NOT_LESSONS.has(entry[0]),
  );
  return lists.length === 1 ? (lists[0]?.[1] ?? null) : null;
}

function onlyMember(embedded: Members): readonly unknown[] | null {
  const members = Object.values(embedded);
  return members.length === 1 && isJsonObject(members[0]) ? [members[0]] : null;
}

/** The total number of lessons, if the body has one. */
function totalOf(body: Members): unknown {
  const page = own(body, 'page');
  return (
    (isJsonObject(page) ? own(page, 'totalElements') : undefined) ??
    own(body, 'totalElements') ??
    own(body, '@odata.count') ??
    own(body, 'total')
  );
}

function nextIn(body: Members): string | null {
  for (const name of ['@odata.nextLink', 'odata.nextLink', 'nextLink']) {
    const link = own(body, name);
    if (typeof link === 'string' && link !== '') return link;
  }
  for (const name of ['_links', 'links']) {
    const links = own(body, name);
    const next = isJsonObject(links) ? addressIn(own(links, 'next')) : null;
    if (next !== null) return next;
  }
  const next = own(body, 'next');
  return isJsonObject(next) || typeof next === 'string' ? addressIn(next) : null;
}

/** A link is a text, an object with `href`, or a list of one of them. */
function addressIn(link: unknown): string | null {
  const one: unknown = Array.isArray(link) ? link[0] : link;
  const href = isJsonObject(one) ? own(one, 'href') : one;
  return typeof href === 'string' && href !== '' ? href : null;
}

function saysMore(body: Members): boolean {
  return own(body, 'last') === false || own(body, 'hasMore') === true || own(body, 'hasNextPage') === true;
}

function own(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}
