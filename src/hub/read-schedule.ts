import { readLessonPage } from '../core/lessons/lesson-page.ts';
import { collectionNamed } from '../model/collections.ts';
import type { HubAnswer } from './hub-answer.ts';
import type { ReadSchedule, ScheduleAnswer } from './hub.ts';
import { HubError } from './hub-error.ts';
import { readLinks } from './link.ts';
import { collectionPlace, askableId, resourceUrl, withQuery } from './request-url.ts';
import type { Requests } from './requests.ts';

/** The limits of one student's listing, so that it cannot be endless. No student has so many lessons in a year. */
const MAX_PAGES = 500;
const MAX_LESSONS = 50_000;

interface Page {
  readonly lessons: readonly unknown[];
  readonly next: URL | null;
  readonly answer: HubAnswer;
}

export async function readSchedule(
  { baseUrl, requests }: { readonly baseUrl: URL; readonly requests: Requests },
  { student, from, to, signal }: Parameters<ReadSchedule>[0],
): Promise<ScheduleAnswer> {
  const collection = collectionNamed('schedules');
  const where = collectionPlace(baseUrl, collection);
  const lessons: unknown[] = [];
  const asked = new Set<string>();
  const query = { student: askableId(student, collection), from, to };
  let url = withQuery(resourceUrl(baseUrl, { collection }), query);
  let first: HubAnswer | null = null;
  let isUtf8 = true;
  for (let pages = 1; ; pages += 1) {
    const page = await requests.get({
      target: 'schedules',
      where,
      url: () => url,
      signal,
      readVersion: () => 0,
      read: (answer) => readPage(answer, where),
    });
    first ??= page.answer;
    isUtf8 &&= page.answer.isUtf8;
    if (lessons.length + page.lessons.length > MAX_LESSONS) {
      throw endless(where, `it has more than ${MAX_LESSONS} lessons`);
    }
    for (const lesson of page.lessons) lessons.push(lesson);
    if (page.next === null) break;
    asked.add(url.href);
    if (asked.has(page.next.href)) throw endless(where, 'a page links to itself or to an earlier page');
    if (pages >= MAX_PAGES) throw endless(where, `it has more than ${MAX_PAGES} pages`);
    url = page.next;
  }
  return { lessons, isUtf8, hubTimeMs: first.hubTimeMs };
}

function endless(where: string, why: string): HubError {
  return new HubError('HUB_PAGING_BROKEN', `Cannot read all lessons of a student from ${where}: ${why}`, {
    remedy: 'The published lessons of the student stay as they are. Check the next-page links of the hub.',
    retryable: false,
  });
}

function readPage(answer: HubAnswer, where: string): Page {
  const { lessons, next: address } = readLessonPage(answer.status === 204 ? [] : answer.body);
  const link = address ?? readLinks(answer.link).next;
  const next = link === null ? null : nextAfter(answer.requested, link);
  if (next === null && link !== null) {
    throw endless(where, 'the hub has more pages but gives no usable address for the next one');
  }
  return { lessons, next, answer };
}

/**
 * Never follows a link, because the token would be sent with it: only the query of the link is used, at the hub's own
 * address. Behind a gateway, the link has the right query and the wrong host.
 */
function nextAfter(requested: URL, link: string): URL | null {
  const search = URL.parse(link, requested.href)?.search ?? '';
  return search === '' ? null : new URL(search, requested);
}
