import { badRequest } from '../reply.ts';
import type { Fault, FaultContext, Page } from './fault.ts';
import { numberIn } from './fault.ts';

const STANDARD_PARAMETERS = new Set(['limit', 'offset', 'sort', 'orderBy', 'filter', 'fields']);

/** Lists, their paging and filters, as other hubs have them. */
export const PAGING_FAULTS: readonly Fault[] = [
  {
    name: 'clamp-limit',
    summary: 'pages have at most this many rows, whatever the limit',
    value: { meaning: 'rows', byDefault: '100' },
    query: (query, { value }) => {
      query.limit = Math.max(1, Math.min(query.limit, numberIn(value)));
    },
  },
  {
    name: 'no-link',
    summary: 'no Link header',
    page: (page) => {
      page.links = {};
    },
  },
  {
    name: 'no-total',
    summary: 'no X-Total-Count',
    page: (page) => {
      page.total = undefined;
    },
  },
  {
    name: 'zero-total',
    summary: 'X-Total-Count is always 0',
    page: (page) => {
      page.total = 0;
    },
  },
  {
    name: 'unfiltered-total',
    summary: 'X-Total-Count counts the rows that the filter leaves out, too',
    page: (page) => {
      page.total = page.unfilteredTotal;
    },
  },
  {
    name: 'remaining-total',
    summary: 'X-Total-Count counts only what follows the cursor',
    page: (page) => {
      page.total = page.remainingTotal;
    },
  },
  {
    name: 'ignore-after',
    summary: 'afterSourcedId is ignored: the first page for ever',
    parameters: (parameters) => {
      parameters.delete('afterSourcedId');
    },
    page: withoutCursorLinks,
  },
  {
    name: 'refuse-unknown',
    summary: 'a parameter that the standard does not know (afterSourcedId, too) is answered with 400',
    parameters: (parameters) => {
      if ([...parameters.keys()].some((name) => !STANDARD_PARAMETERS.has(name)))
        refuse('a parameter is not known');
    },
    page: withoutCursorLinks,
  },
  {
    name: 'refuse-lone-sort',
    summary: 'sort without orderBy is answered with 400',
    parameters: (parameters) => {
      if (parameters.has('sort') && !parameters.has('orderBy')) refuse('sort needs orderBy');
    },
  },
  {
    name: 'next-past-end',
    summary: 'rel="next" is offered even when nothing follows',
    page: (page, { url }) => {
      if (page.links.next !== undefined) return;
      const next = new URL(url);
      const last = page.rows.at(-1);
      const id =
        last === undefined
          ? next.searchParams.get('afterSourcedId')
          : /"sourcedId":"((?:[^"\\]|\\.)*)"/.exec(last.toString())?.[1];
      if (next.searchParams.has('offset'))
        next.searchParams.set('offset', String(Number(next.searchParams.get('offset')) + page.rows.length));
      else next.searchParams.set('afterSourcedId', id ?? '');
      page.links.next = next.toString();
    },
  },
  {
    name: 'foreign-link',
    summary: 'rel="next" leads to another origin',
    value: { meaning: 'origin', byDefault: 'https://elsewhere.example' },
    page: (page, { value }) => {
      if (page.links.next === undefined) return;
      const { pathname, search } = new URL(page.links.next);
      page.links.next = `${value}${pathname}${search}`;
    },
  },
  {
    name: 'relative-link',
    summary: 'Link has relative addresses',
    page: (page) => {
      page.links = Object.fromEntries(
        Object.entries(page.links).map(([relation, address]) => {
          const { pathname, search } = new URL(address);
          return [relation, `${pathname}${search}`];
        }),
      );
    },
  },
  {
    name: 'empty-list',
    summary: '200 with an empty list, as when the token has lost its rights',
    page: (page) => {
      page.rows = [];
      page.total = 0;
      delete page.links.next;
    },
  },
  {
    name: 'lost-school',
    summary: 'the lists leave out this school, with its people, classes, enrolments, absences and results',
    value: { meaning: 'number', byDefault: '1' },
  },
  {
    name: 'missing-list',
    summary: '200 with {} instead of a list',
    page: (page) => {
      page.envelope = undefined;
      page.total = undefined;
      page.links = {};
    },
  },
  {
    name: 'other-envelope',
    summary: 'the list is in this property',
    value: { meaning: 'name', byDefault: 'items' },
    page: (page, { value }) => {
      page.envelope = value;
    },
  },
  {
    name: 'empty-204',
    summary: '204 without a body where the list would be empty',
    page: (page) => {
      if (page.rows.length === 0) page.status = 204;
    },
  },
  {
    name: 'duplicate-rows',
    summary: 'every page gives its first row twice',
    page: (page) => {
      page.rows = [...page.rows.slice(0, 1), ...page.rows];
    },
  },
  {
    name: 'skip-rows',
    summary: 'every full page leaves out one row in the middle, as when rows move during a scan by offset',
    page: (page) => {
      if (page.rows.length > 2) page.rows.splice(Math.floor(page.rows.length / 2), 1);
    },
  },
  {
    name: 'text-timestamps',
    summary: 'filters compare timestamps as text',
    comparison: { textTimestamps: true },
  },
  {
    name: 'hidden-microseconds',
    summary: 'filters compare stamps by microseconds that are not shown',
    comparison: { hiddenMicroseconds: true },
  },
];

function refuse(why: string): never {
  throw badRequest(why);
}

/** A hub that knows no cursor offers none. */
function withoutCursorLinks(page: Page, { url }: FaultContext): void {
  const next = page.links.next ?? url.toString();
  if (new URL(next).searchParams.has('afterSourcedId')) page.links = {};
}
