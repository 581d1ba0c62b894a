import { describe, expect, it } from 'vitest';
import {
  afterPage,
  beginIn,
  decidePage,
  type PageDecision,
  type PageFacts,
  type ScanState,
} from '../../../src/hub/paging-decision.ts';

const LIMIT = 3;

const NO_LINK = { paging: false, nextOffered: false, next: null };
const LAST = { paging: true, nextOffered: false, next: null };
const FOREIGN = { paging: true, nextOffered: true, next: null };
const offered = (query: string) => ({
  paging: true,
  nextOffered: true,
  next: new URL(`http://hub.example/users?${query}`),
});
const byCursor = (cursor: string) => offered(`afterSourcedId=${cursor}`);
const BY_OFFSET = offered('offset=3');
const OPAQUE = offered('page=2');

function page(ids: string, facts: Partial<PageFacts> = {}): PageFacts {
  const list = ids.split('');
  return {
    hasList: true,
    rowCount: list.length,
    limit: LIMIT,
    ids: list,
    mark: list[0] ?? null,
    total: null,
    ...NO_LINK,
    ...facts,
  };
}

/** The state of a scan, and the marks of its pages. */
interface Scan extends ScanState {
  readonly marks: ReadonlySet<string>;
}

function begin(...options: Parameters<typeof beginIn>): Scan {
  return { ...beginIn(...options), marks: new Set() };
}

const keyset = begin('keyset', { auto: true, filtered: false, rowsBefore: 0 });
const byFilter = begin('sourced-id-filter', { auto: true, filtered: false, rowsBefore: 0 });
const offset = begin('offset', { auto: true, filtered: false, rowsBefore: 0 });
const forced = begin('keyset', { auto: false, filtered: false, rowsBefore: 0 });

/** Gives the state after these pages, with the cursor at their last id. */
function after(state: Scan, ...pages: PageFacts[]): Scan {
  let known = state;
  for (const facts of pages) {
    const next = afterPage(known, facts, decidePage(known, facts, known.marks));
    const marks = new Set([...known.marks, ...(facts.mark === null ? [] : [facts.mark])]);
    known = { ...next, marks, cursor: facts.ids.at(-1) ?? known.cursor };
  }
  return known;
}

const goOn = (cursor: string): PageDecision => ({ deliver: true, step: { kind: 'cursor', cursor } });
const nextOffset: PageDecision = { deliver: true, step: { kind: 'offset' } };
const end = (reason: string) => ({ deliver: true, step: { kind: 'end', reason } });
const follow = { deliver: true, step: { kind: 'follow' } };
const down = (to: string, deliver = false) => ({ deliver, step: { kind: 'step-down', to } });
const allAgain = { deliver: false, step: { kind: 'end', reason: 'total-reached' } };
const broken = { deliver: false, step: { kind: 'broken' } };

const first = page('abc');
const short = page('ab');

const TABLE: readonly (readonly [string, Scan, PageFacts, object])[] = [
  // Ends
  [
    'a body without a list ends a first page as missing-list',
    keyset,
    page('', { hasList: false }),
    end('missing-list'),
  ],
  [
    'a body without a list ends a later page as missing-list',
    after(keyset, first),
    page('', { hasList: false }),
    end('missing-list'),
  ],
  ['an empty first page is no-rows', keyset, page(''), end('no-rows')],
  [
    'an empty first page is no-rows though a next link is offered',
    keyset,
    page('', byCursor('x')),
    end('no-rows'),
  ],
  ['an empty later page ends', after(keyset, first), page(''), end('empty-page')],
  [
    'an empty later page ends though a next link is offered',
    after(keyset, first),
    page('', byCursor('x')),
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
    goOn('c'),
  ],
  [
    'a Link without next does not end a full page below the total',
    keyset,
    page('abc', { total: 9, ...LAST }),
    goOn('c'),
  ],
  ['a Link without next does not end a full page without total', keyset, page('abc', LAST), goOn('c')],
  [
    'a Link without next does not end a short page below the total',
    keyset,
    page('ab', { total: 9, ...LAST }),
    goOn('b'),
  ],
  ['a Link without next ends, on a short page', keyset, page('a', LAST), end('no-next-link')],
  ['a total that equals a short first page does not end', keyset, page('ab', { total: 2 }), goOn('b')],
  [
    'by offset, a total that equals a short first page does not end',
    offset,
    page('ab', { total: 2 }),
    nextOffset,
  ],
  [
    'by filter, a total that equals a short first page does not end',
    byFilter,
    page('ab', { total: 2 }),
    goOn('b'),
  ],
  [
    'by filter, a total that equals each page does not end',
    after(byFilter, page('ab', { total: 2 })),
    page('cd', { total: 2 }),
    goOn('d'),
  ],
  [
    'the total reached on a later short page ends',
    after(keyset, page('abc', { total: 5 })),
    page('de', { total: 5 }),
    end('total-reached'),
  ],
  ['a short page ends once the limit was honoured', after(keyset, first), page('de'), end('short-page')],
  // No ends
  ['a short first page does not end: the limit may be clamped', keyset, short, goOn('b')],
  ['a short page after short pages does not end', after(keyset, short), page('cd'), goOn('d')],
  [
    'a short page under another limit than the one honoured does not end',
    after(keyset, first),
    page('de', { limit: 9 }),
    goOn('e'),
  ],
  ['a total of 0 does not end a page with rows', keyset, page('ab', { total: 0 }), goOn('b')],
  [
    'a total below the rows read does not end',
    after(keyset, page('ab', { total: 2, ...FOREIGN })),
    page('cd', { total: 2 }),
    goOn('d'),
  ],
  ['the total reached on a full page does not end', keyset, page('abc', { total: 3 }), goOn('c')],
  [
    'a total of rows left does not end where it meets the rows read',
    after(keyset, page('ab', { total: 6 })),
    page('cd', { total: 4 }),
    goOn('d'),
  ],
  [
    'the total reached does not end while a next page is offered',
    keyset,
    page('ab', { total: 2, ...byCursor('b') }),
    goOn('b'),
  ],
  [
    'a short page does not end while a next page is offered',
    after(keyset, first),
    page('de', byCursor('e')),
    goOn('e'),
  ],
  // Paging by keyset
  ['a link by cursor is replaced by the own cursor', keyset, page('abc', byCursor('d')), goOn('c')],
  ['a foreign link is replaced by the own cursor', keyset, page('abc', FOREIGN), goOn('c')],
  ['a link by offset is replaced by the own cursor', keyset, page('abc', BY_OFFSET), goOn('c')],
  ['an opaque link is replaced by the own cursor', keyset, page('abc', OPAQUE), goOn('c')],
  ['the cursor is the last row with a readable id', keyset, page('abc', { ids: ['a', 'b'] }), goOn('b')],
  [
    'a page without ids goes on by offset',
    keyset,
    page('abc', { ids: [], ...byCursor('z') }),
    down('offset', true),
  ],
  // The cursor ignored
  ['the first page again steps down', after(keyset, first), first, down('sourced-id-filter')],
  [
    'the first page again steps down though it is short',
    after(keyset, short),
    short,
    down('sourced-id-filter'),
  ],
  [
    'a page that ends with the cursor steps down',
    after(keyset, first),
    page('xyc'),
    down('sourced-id-filter'),
  ],
  ['a page of known rows steps down', after(keyset, first), page('bc'), down('sourced-id-filter')],
  [
    'a page that begins like any before steps down',
    after(keyset, first, page('def')),
    page('axy'),
    down('sourced-id-filter'),
  ],
  ['the first page again by filter steps down to offset', after(byFilter, first), first, down('offset')],
  ['the first page again under a prescribed keyset is an error', after(forced, first), first, broken],
  // By filter
  ['by filter, links are not followed', byFilter, page('abc', byCursor('c')), goOn('c')],
  ['by filter, rows that no collation explains step down', byFilter, page('cab'), down('offset')],
  [
    'by filter, a total of what is left ends',
    after(byFilter, page('abc', { total: 5 })),
    page('de', { total: 2 }),
    end('total-reached'),
  ],
  [
    'by filter, an end with fewer rows than the total steps down',
    after(byFilter, page('abc', { total: 9 })),
    page(''),
    down('offset', true),
  ],
  [
    'by filter, an end with fewer rows than came before steps down',
    { ...byFilter, rowsBefore: 4 },
    page('ab', LAST),
    down('offset', true),
  ],
  [
    'by filter, an empty page where another mode returned rows steps down',
    { ...byFilter, rowsBefore: 4 },
    page(''),
    down('offset', true),
  ],
  [
    'by filter, the unfiltered total of an incremental sync means nothing',
    after({ ...byFilter, filtered: true }, page('abc', { total: 9 })),
    page(''),
    end('empty-page'),
  ],
  // By offset
  ['by offset, the own offset goes on', offset, first, nextOffset],
  ['by offset, the own offset goes on instead of the link’s', offset, page('abc', BY_OFFSET), nextOffset],
  ['by offset, an opaque link is followed', offset, page('abc', OPAQUE), follow],
  ['by offset, an overlapping page is delivered', after(offset, first), page('cde'), nextOffset],
  [
    'by offset, a repeated page is not delivered and tried once more',
    after(offset, first),
    first,
    { ...nextOffset, deliver: false },
  ],
  ['by offset, a full page that repeats without end is an error', after(offset, first, first), first, broken],
  [
    'by offset, a short page that repeats without end is all there is',
    after(offset, short, short),
    short,
    { deliver: false, step: { kind: 'end', reason: 'repeated-page' } },
  ],
  [
    'by offset, a short page that repeats and is the total ends',
    after(offset, page('ab', { total: 2 })),
    page('ab', { total: 2 }),
    allAgain,
  ],
  [
    'by offset, more rows than requested that repeat and are the total end',
    after(offset, page('abcd', { total: 4 })),
    page('abcd', { total: 4 }),
    allAgain,
  ],
  [
    'by offset, more rows than requested that repeat and are the total end with a Link without next, too',
    after(offset, page('abcd', { total: 4, ...LAST })),
    page('dcba', { total: 4, ...LAST }),
    allAgain,
  ],
  [
    'by offset, a full page that repeats without end is an error even if it is the total',
    after(offset, page('abc', { total: 3 }), page('abc', { total: 3 })),
    page('abc', { total: 3 }),
    broken,
  ],
  [
    'by offset, a page that repeats does not end while a next page is offered',
    after(offset, page('ab', { total: 2, ...BY_OFFSET })),
    page('ab', { total: 2, ...BY_OFFSET }),
    { ...nextOffset, deliver: false },
  ],
  [
    'by offset, a page that begins like the one before and has a new row does not end',
    after(offset, page('ab', { total: 2 })),
    page('ac', { total: 2 }),
    { ...nextOffset, deliver: false },
  ],
  [
    'by keyset, more rows than requested that repeat step down even if they are the total',
    after(keyset, page('abcd', { total: 4 })),
    page('abcd', { total: 4 }),
    down('sourced-id-filter'),
  ],
  [
    'by offset, a short page that repeats without end below the total is an error',
    after(offset, page('ab', { total: 9 }), page('ab', { total: 9 })),
    page('ab', { total: 9 }),
    broken,
  ],
];

describe('the decision after a page', () => {
  it.each(TABLE)('%s', (_, state, facts, expected) => {
    expect(decidePage(state, facts, state.marks)).toMatchObject(expected);
  });

  it('each row of the table has its own name', () => {
    expect(new Set(TABLE.map(([name]) => name)).size).toBe(TABLE.length);
  });
});
