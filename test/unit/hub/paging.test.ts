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

const NO_LINK = { paging: false, nextOffered: false };
const LAST = { paging: true, nextOffered: false };
const NEXT = { paging: true, nextOffered: true };

function page(ids: string, facts: Partial<PageFacts> = {}): PageFacts {
  const list = ids.split('');
  return {
    hasList: true,
    rowCount: list.length,
    limit: LIMIT,
    ids: list,
    marks: new Set(list),
    total: null,
    ...NO_LINK,
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

const first = page('abc');
const short = page('ab');
const noList = page('', { hasList: false });
const rowsWithoutId = page('', { rowCount: 3, marks: new Set(['{"a":1}', '{"a":2}', '{"a":3}']) });

const TABLE: readonly (readonly [string, ScanState, PageFacts, object])[] = [
  // Ends
  ['a body without a list ends a first page as missing-list', keyset, noList, end('missing-list')],
  [
    'a body without a list ends a later page as missing-list',
    after(keyset, first),
    noList,
    end('missing-list'),
  ],
  ['an empty first page is no-rows', keyset, page(''), end('no-rows')],
  ['an empty first page is no-rows though a next link is offered', keyset, page('', NEXT), end('no-rows')],
  ['an empty later page ends', after(keyset, first), page(''), end('empty-page')],
  [
    'an empty later page ends though a next link is offered',
    after(keyset, first),
    page('', NEXT),
    end('empty-page'),
  ],
  [
    'a Link without next ends, on a later full page that reaches the total',
    after(keyset, page('abc', { total: 6 })),
    page('def', { total: 6, ...LAST }),
    end('no-next-link'),
  ],
  [
    'a Link without next does not end a full first page whose total equals it',
    keyset,
    page('abc', { total: 3, ...LAST }),
    goOn,
  ],
  [
    'a Link without next does not end a full page below the total',
    keyset,
    page('abc', { total: 9, ...LAST }),
    goOn,
  ],
  ['a Link without next does not end a full page without total', keyset, page('abc', LAST), goOn],
  [
    'a Link without next does not end a short page below the total',
    keyset,
    page('ab', { total: 9, ...LAST }),
    goOn,
  ],
  ['a Link without next ends, on a short page', keyset, page('a', LAST), end('no-next-link')],
  ['a total that equals a short first page does not end', keyset, page('ab', { total: 2 }), goOn],
  ['by offset, a total that equals a short first page does not end', offset, page('ab', { total: 2 }), goOn],
  [
    'by filter, a total that equals a short first page does not end',
    byFilter,
    page('ab', { total: 2 }),
    goOn,
  ],
  [
    'the total reached on a later short page ends',
    after(keyset, page('abc', { total: 5 })),
    page('de', { total: 5 }),
    end('total-reached'),
  ],
  ['a short page ends once the limit was honoured', after(keyset, first), page('de'), end('short-page')],
  // No ends
  ['a short first page does not end: the limit may be clamped', keyset, short, goOn],
  ['a short page after short pages does not end', after(keyset, short), page('cd'), goOn],
  [
    'a short page under another limit than the one honoured does not end',
    after(keyset, first),
    page('de', { limit: 9 }),
    goOn,
  ],
  ['a total of 0 does not end a page with rows', keyset, page('ab', { total: 0 }), goOn],
  [
    'a total below the rows read does not end',
    after(keyset, page('ab', { total: 2, ...NEXT })),
    page('cd', { total: 2 }),
    goOn,
  ],
  ['the total reached on a full page does not end', keyset, page('abc', { total: 3 }), goOn],
  [
    'a total of rows left does not end where it meets the rows read',
    after(keyset, page('ab', { total: 6 })),
    page('cd', { total: 4 }),
    goOn,
  ],
  [
    'the total reached does not end while a next page is offered',
    keyset,
    page('ab', { total: 2, ...NEXT }),
    goOn,
  ],
  ['a short page does not end while a next page is offered', after(keyset, first), page('de', NEXT), goOn],
  // The cursor is ignored
  ['the first page again shows that the cursor is ignored', after(keyset, first), first, fails()],
  ['so does a short first page again', after(keyset, short), short, fails()],
  ['so does a page that ends with the cursor', after(keyset, first), page('xyc'), fails()],
  ['so does a page of known rows', after(keyset, first), page('bc'), fails()],
  ['so does the first page again by filter', after(byFilter, first), first, fails()],
  [
    'so do more rows than requested, even if they are the total',
    after(keyset, page('abcd', { total: 4 })),
    page('abcd', { total: 4 }),
    fails(),
  ],
  ['a page without ids cannot be continued by cursor', keyset, rowsWithoutId, fails(true)],
  // By filter
  ['by filter, rows that no collation explains fail', byFilter, page('cab'), fails()],
  [
    'by filter, the total of the first page counts, and ends',
    after(byFilter, page('abc', { total: 5 })),
    page('de', { total: 5 }),
    end('total-reached'),
  ],
  [
    'by filter, a first end with fewer rows than the total fails',
    after(byFilter, page('abc', { total: 9 })),
    page(''),
    fails(true),
  ],
  [
    'by filter, a decided scan ends with fewer rows than the total',
    after(begin('sourced-id-filter', { isDecided: true }), page('abc', { total: 9 })),
    page(''),
    end('empty-page'),
  ],
  [
    'by filter, a first end with fewer rows than came before fails',
    begin('sourced-id-filter', { rowsBefore: 4 }),
    page('ab', LAST),
    fails(true),
  ],
  [
    'an empty page where another mode returned rows fails',
    begin('offset', { rowsBefore: 4 }),
    page(''),
    fails(true),
  ],
  [
    'by filter, the unfiltered total of an incremental sync means nothing',
    after(begin('sourced-id-filter', { filtered: true }), page('abc', { total: 9 })),
    page(''),
    end('empty-page'),
  ],
  // By offset
  ['by offset, a page goes on', offset, first, goOn],
  ['by offset, an overlapping page is delivered', after(offset, first), page('cde'), goOn],
  [
    'by offset, rows that moved to the last page are delivered',
    after(offset, first),
    page('bc'),
    {
      deliver: true,
    },
  ],
  ['by offset, a full page that repeats fails', after(offset, first), first, fails()],
  ['by offset, a page without ids that repeats fails', after(offset, rowsWithoutId), rowsWithoutId, fails()],
  [
    'by offset, a short page that repeats is all that the hub shows',
    after(offset, short),
    short,
    end('repeated-page', false),
  ],
  [
    'by offset, a short page that repeats and is the total ends',
    after(offset, page('ab', { total: 2 })),
    page('ab', { total: 2 }),
    end('total-reached', false),
  ],
  [
    'by offset, more rows than requested that repeat and are the total end',
    after(offset, page('abcd', { total: 4 })),
    page('abcd', { total: 4 }),
    end('total-reached', false),
  ],
  [
    'by offset, more rows than requested that repeat and are the total end with a Link without next, too',
    after(offset, page('abcd', { total: 4, ...LAST })),
    page('dcba', { total: 4, ...LAST }),
    end('total-reached', false),
  ],
  [
    'by offset, a full page that repeats fails even if it is the total',
    after(offset, page('abc', { total: 3 })),
    page('abc', { total: 3 }),
    fails(),
  ],
  [
    'by offset, a page that repeats fails while a next page is offered',
    after(offset, page('ab', { total: 2, ...NEXT })),
    page('ab', { total: 2, ...NEXT }),
    fails(),
  ],
  [
    'by offset, a page that begins like the one before and has a new row goes on',
    after(offset, page('ab', { total: 2 })),
    page('ac', { total: 2 }),
    goOn,
  ],
  [
    'by offset, a short page that repeats below the total fails',
    after(offset, page('ab', { total: 9 })),
    page('ab', { total: 9 }),
    fails(),
  ],
];

describe('the decision after a page', () => {
  it.each(TABLE)('%s', (_, state, facts, expected) => {
    expect(decidePage(state, facts)).toMatchObject(expected);
  });

  it('each row of the table has its own name', () => {
    expect(new Set(TABLE.map(([name]) => name)).size).toBe(TABLE.length);
  });

  it('the cursor is the last row with a readable id', () => {
    expect(after(keyset, page('abc', { ids: ['a', 'b'] })).cursor).toBe('b');
  });
});
