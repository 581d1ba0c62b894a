import { describe, expect, it } from 'vitest';
import type { PagingMode } from '../../../src/core/hub-events.ts';
import {
  afterPage,
  beginIn,
  decidePage,
  type PageDecision,
  type PageFacts,
  type ScanState,
} from '../../../src/hub/paging.ts';

const LIMIT = 3;
const NOTATION = /^([a-z]*)(?:=(\d+))?([>|]?)$/;

/** A page: its ids, its total after `=`, then `>` for a next link or `|` for a Link without one. */
function page(notation: string, facts: Partial<PageFacts> = {}): PageFacts {
  const [, ids = '', total, link] = NOTATION.exec(notation) ?? [];
  const list = ids.split('');
  return {
    hasList: true,
    rowCount: list.length,
    limit: LIMIT,
    ids: list,
    marks: new Set(list),
    total: total === undefined ? null : Number(total),
    paging: link !== '',
    nextOffered: link === '>',
    ...facts,
  };
}

function begin(mode: PagingMode, scan: Partial<ScanState> = {}): ScanState {
  const paging = { mode, isDecided: scan.isDecided ?? false, why: null };
  return beginIn(paging, { filtered: scan.filtered ?? false, rowsBefore: scan.rowsBefore ?? 0 });
}

const keyset = begin('keyset');
const byFilter = begin('sourced-id-filter');
const offset = begin('offset');

/** The state after these pages. */
function after(state: ScanState, ...pages: PageFacts[]): ScanState {
  return pages.reduce((known, facts) => afterPage(known, facts, decidePage(known, facts)), state);
}

const goOn: PageDecision = { deliver: true, step: { kind: 'go-on' } };
const end = (reason: string, deliver = true) => ({ deliver, step: { kind: 'end', reason } });
const fails = (deliver = false) => ({ deliver, step: { kind: 'fails' } });

const noList = page('', { hasList: false });
const noIds = page('', { rowCount: 3, marks: new Set(['{"a":1}', '{"a":2}', '{"a":3}']) });
const wide = page('de', { limit: 9 });
const decided = begin('sourced-id-filter', { isDecided: true });
const filtered = begin('sourced-id-filter', { filtered: true });
const afterFour = (mode: PagingMode) => begin(mode, { rowsBefore: 4 });

/** Each: what holds, the state, the page before (`-`: none), the page, and the decision. */
type Case = readonly [string, ScanState, string | PageFacts, string | PageFacts, object];
const TABLE: readonly Case[] = [
  // Ends
  ['a body without a list ends a first page as missing-list', keyset, '-', noList, end('missing-list')],
  ['a body without a list ends a later page as missing-list', keyset, 'abc', noList, end('missing-list')],
  ['an empty first page is no-rows', keyset, '-', '', end('no-rows')],
  ['an empty first page is no-rows though a next link is offered', keyset, '-', '>', end('no-rows')],
  ['an empty later page ends', keyset, 'abc', '', end('empty-page')],
  ['an empty later page ends though a next link is offered', keyset, 'abc', '>', end('empty-page')],
  [
    'a Link without next ends, on a full page that reaches the total',
    keyset,
    'abc=6',
    'def=6|',
    end('no-next-link'),
  ],
  ['a Link without next does not end a full first page whose total equals it', keyset, '-', 'abc=3|', goOn],
  ['a Link without next does not end a full page below the total', keyset, '-', 'abc=9|', goOn],
  ['a Link without next does not end a full page without total', keyset, '-', 'abc|', goOn],
  ['a Link without next does not end a short page below the total', keyset, '-', 'ab=9|', goOn],
  ['a Link without next ends, on a short page', keyset, '-', 'a|', end('no-next-link')],
  ['a total that equals a short first page does not end', keyset, '-', 'ab=2', goOn],
  ['by offset, a total that equals a short first page does not end', offset, '-', 'ab=2', goOn],
  ['by filter, a total that equals a short first page does not end', byFilter, '-', 'ab=2', goOn],
  ['the total reached on a later short page ends', keyset, 'abc=5', 'de=5', end('total-reached')],
  ['a short page ends once the limit was honoured', keyset, 'abc', 'de', end('short-page')],
  // No ends
  ['a short first page does not end: the limit may be clamped', keyset, '-', 'ab', goOn],
  ['a short page after short pages does not end', keyset, 'ab', 'cd', goOn],
  ['a short page under another limit than the one honoured does not end', keyset, 'abc', wide, goOn],
  ['a total of 0 does not end a page with rows', keyset, '-', 'ab=0', goOn],
  ['a total below the rows read does not end', keyset, 'ab=2>', 'cd=2', goOn],
  ['the total reached on a full page does not end', keyset, '-', 'abc=3', goOn],
  ['a total of rows left does not end where it meets the rows read', keyset, 'ab=6', 'cd=4', goOn],
  ['the total reached does not end while a next page is offered', keyset, '-', 'ab=2>', goOn],
  ['a short page does not end while a next page is offered', keyset, 'abc', 'de>', goOn],
  // The cursor is ignored
  ['the first page again shows that the cursor is ignored', keyset, 'abc', 'abc', fails()],
  ['so does a short first page again', keyset, 'ab', 'ab', fails()],
  ['so does a page that ends with the cursor', keyset, 'abc', 'xyc', fails()],
  ['so does a page of known rows', keyset, 'abc', 'bc', fails()],
  ['so does the first page again by filter', byFilter, 'abc', 'abc', fails()],
  ['so do more rows than requested, even if they are the total', keyset, 'abcd=4', 'abcd=4', fails()],
  ['a page without ids cannot be continued by cursor', keyset, '-', noIds, fails(true)],
  // By filter
  ['by filter, rows that no collation explains fail', byFilter, '-', 'cab', fails()],
  [
    'by filter, the total of the first page counts, and ends',
    byFilter,
    'abc=5',
    'de=5',
    end('total-reached'),
  ],
  ['by filter, a first end with fewer rows than the total fails', byFilter, 'abc=9', '', fails(true)],
  ['by filter, a decided scan ends with fewer rows than the total', decided, 'abc=9', '', end('empty-page')],
  [
    'by filter, a first end with fewer rows than came before fails',
    afterFour('sourced-id-filter'),
    '-',
    'ab|',
    fails(true),
  ],
  ['an empty page where another mode returned rows fails', afterFour('offset'), '-', '', fails(true)],
  ['the unfiltered total of an incremental sync means nothing', filtered, 'abc=9', '', end('empty-page')],
  // By offset
  ['by offset, a page goes on', offset, '-', 'abc', goOn],
  ['by offset, an overlapping page is delivered', offset, 'abc', 'cde', goOn],
  ['by offset, rows that moved to the last page are delivered', offset, 'abc', 'bc', { deliver: true }],
  ['by offset, a full page that repeats fails', offset, 'abc', 'abc', fails()],
  ['by offset, a page without ids that repeats fails', offset, noIds, noIds, fails()],
  [
    'by offset, a short page that repeats is all that the hub shows',
    offset,
    'ab',
    'ab',
    end('repeated-page', false),
  ],
  [
    'by offset, a short page that repeats and is the total ends',
    offset,
    'ab=2',
    'ab=2',
    end('total-reached', false),
  ],
  [
    'by offset, more rows than requested that are the total end',
    offset,
    'abcd=4',
    'abcd=4',
    end('total-reached', false),
  ],
  [
    'so they do with a Link without next, in any order',
    offset,
    'abcd=4|',
    'dcba=4|',
    end('total-reached', false),
  ],
  ['by offset, a full page that repeats fails even if it is the total', offset, 'abc=3', 'abc=3', fails()],
  ['by offset, a page that repeats fails while a next page is offered', offset, 'ab=2>', 'ab=2>', fails()],
  [
    'by offset, a page that begins like the one before and has a new row goes on',
    offset,
    'ab=2',
    'ac=2',
    goOn,
  ],
  ['by offset, a short page that repeats below the total fails', offset, 'ab=9', 'ab=9', fails()],
];

const pageOf = (given: string | PageFacts): PageFacts => (typeof given === 'string' ? page(given) : given);

describe('the decision after a page', () => {
  it.each(TABLE)('%s', (_, begun, before, now, expected) => {
    const state = before === '-' ? begun : after(begun, pageOf(before));
    expect(decidePage(state, pageOf(now))).toMatchObject(expected);
  });

  it('the cursor is the last row with a readable id', () => {
    expect(after(keyset, page('abc', { ids: ['a', 'b'] })).cursor).toBe('b');
  });
});
