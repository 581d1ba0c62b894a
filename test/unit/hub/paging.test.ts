import { expect, it } from 'vitest';
import {
  afterPage,
  beginIn,
  decidePage,
  type PageDecision,
  type PageFacts,
  type ScanState,
} from '../../../src/hub/paging.ts';

const NOTATION = /^([a-z]*)(?:=(\d+))?([>|]?)$/;

/** A page: its ids, its total after `=`, then `>` for a next link or `|` for a Link without one. */
function page(notation: string, facts: Partial<PageFacts> = {}): PageFacts {
  const [, ids = '', total, link] = NOTATION.exec(notation) ?? [];
  const list = ids.split('');
  return {
    hasList: true,
    rowCount: list.length,
    limit: 3,
    ids: list,
    marks: new Set(list),
    total: total === undefined ? null : Number(total),
    paging: link !== '',
    nextOffered: link === '>',
    ...facts,
  };
}

function begin(
  mode: ScanState['mode'],
  { isDecided = false, filtered = false, rowsBefore = 0 } = {},
): ScanState {
  return beginIn({ mode, isDecided, why: null }, { filtered, rowsBefore });
}

const keyset = begin('keyset');
const filter = begin('sourced-id-filter');
const offset = begin('offset');
const decided = begin('sourced-id-filter', { isDecided: true });
const incremental = begin('sourced-id-filter', { filtered: true });
const afterFour = begin('sourced-id-filter', { rowsBefore: 4 });
const noIds = page('', { rowCount: 3, marks: new Set(['{"a":1}', '{"a":2}', '{"a":3}']) });
const wide = page('de', { limit: 9 });
/** A page without rows whose link leads there. */
const empty = (there: string) => page('>', { nextQuery: new URLSearchParams(there) });

/** `goes on`, `fails` or the reason of the end, after `drop:` for a page that is not delivered. */
function said({ deliver, step }: PageDecision): string {
  const what = step.kind === 'end' ? step.reason : step.kind === 'fails' ? 'fails' : 'goes on';
  return deliver ? what : `drop: ${what}`;
}

/** Each: what holds, the state, the page before (`-`: none), the page, and the decision. */
type Case = readonly [string, ScanState, string | PageFacts, string | PageFacts, string];
const TABLE: readonly Case[] = [
  // Ends
  ['an empty later page ends', keyset, 'abc', '|', 'empty-page'],
  ['an empty page ends with a next link once the total is reached', keyset, 'abc=3>', '=3>', 'empty-page'],
  ['a Link without next ends on a full page that is the total', keyset, 'abc=6', 'def=6|', 'no-next-link'],
  ['a Link without next does not end on a full first page', keyset, '-', 'abc=3|', 'goes on'],
  ['a Link without next does not end on a full page below the total', keyset, 'abc=9', 'def=9|', 'goes on'],
  ['a Link without next does not end on a full page without total', keyset, '-', 'abc|', 'goes on'],
  ['a Link without next does not end on a short page below the total', keyset, '-', 'ab=9|', 'goes on'],
  ['a Link without next ends on a short page', keyset, '-', 'a|', 'no-next-link'],
  ['the total reached on a later short page ends', keyset, 'abc=5', 'de=5', 'total-reached'],
  ['a short page ends once the limit was honoured', keyset, 'abc', 'de', 'short-page'],
  // No ends
  ['a short first page does not end: the limit may be clamped', keyset, '-', 'ab', 'goes on'],
  ['a short page under another limit than the honoured one does not end', keyset, 'abc', wide, 'goes on'],
  ['a short first page that is the total does not end', keyset, '-', 'ab=2', 'goes on'],
  ['a total of 0 does not end a scan with rows', keyset, 'a=0', 'b=0', 'goes on'],
  ['a total below the rows read does not end', keyset, 'ab=2>', 'cd=2', 'goes on'],
  ['the total reached on a full page does not end', keyset, 'abc=6', 'def=6', 'goes on'],
  ['a total of the rows left does not end where it meets the rows read', keyset, 'ab=6', 'cd=4', 'goes on'],
  ['the total reached does not end while a next page is offered', keyset, 'ab=4>', 'cd=4>', 'goes on'],
  ['a short page does not end while a next page is offered', keyset, 'abc', 'de>', 'goes on'],
  // A page without rows that offers a next one
  [
    'an empty first page whose link leads to itself is no-rows',
    keyset,
    '-',
    empty('afterSourcedId='),
    'no-rows',
  ],
  ['an empty page whose link leads to itself ends', keyset, 'abc', empty('afterSourcedId=c'), 'empty-page'],
  ['an empty page whose link leads nowhere fails', keyset, 'abc', '>', 'fails'],
  ['by filter, an empty page with a next link fails', decided, 'abc', empty('afterSourcedId=f'), 'fails'],
  ['by offset, an empty page that links to itself ends', offset, 'abc', empty('offset=3'), 'empty-page'],
  ['by offset, an empty page whose link leads nowhere fails', offset, 'abc', empty('offset=x'), 'fails'],
  // The cursor is ignored
  ['the page before again fails', keyset, 'abc', 'abc', 'drop: fails'],
  ['a page that ends with the cursor fails', keyset, 'abc', 'xyc', 'drop: fails'],
  ['a page of known rows fails', keyset, 'abc', 'bc', 'drop: fails'],
  ['a page that is the total and repeats fails', keyset, 'abcd=4', 'abcd=4', 'drop: fails'],
  ['a page without ids cannot be continued by cursor', keyset, '-', noIds, 'fails'],
  // By filter
  ['by filter, rows that no collation explains fail', filter, '-', 'cab', 'drop: fails'],
  ['by filter, a first end with fewer rows than the total fails', filter, 'abc=9', '', 'fails'],
  ['by filter, a decided scan ends with fewer rows than the total', decided, 'abc=9', '', 'empty-page'],
  ['by filter, a first end with fewer rows than came before fails', afterFour, '-', 'ab|', 'fails'],
  ['an empty page where another mode returned rows fails', afterFour, '-', '', 'fails'],
  ['the unfiltered total of an incremental scan means nothing', incremental, 'abc=9', '', 'empty-page'],
  // By offset
  ['by offset, an overlapping page is delivered', offset, 'abc', 'cde', 'goes on'],
  ['by offset, rows that moved to the last page are delivered', offset, 'abc', 'bc', 'short-page'],
  ['by offset, a page without ids that repeats fails', offset, noIds, noIds, 'drop: fails'],
  ['by offset, a short page that repeats ends', offset, 'ab', 'ab', 'drop: repeated-page'],
  ['by offset, a total that repeats ends', offset, 'ab=2', 'ab=2', 'drop: total-reached'],
  ['by offset, a longer total that repeats ends', offset, 'abcd=4|', 'dcba=4|', 'drop: total-reached'],
  ['by offset, a full page that repeats fails', offset, 'abc=3', 'abc=3', 'drop: fails'],
  ['by offset, a page that repeats and has a next one fails', offset, 'ab=2>', 'ab=2>', 'drop: fails'],
  ['by offset, a page that begins like the one before goes on', offset, 'ab=2', 'ac=2', 'goes on'],
  ['by offset, a short page that repeats below the total fails', offset, 'ab=9', 'ab=9', 'drop: fails'],
];

const pageOf = (given: string | PageFacts): PageFacts => (typeof given === 'string' ? page(given) : given);
const after = (state: ScanState, facts: PageFacts) => afterPage(state, facts, decidePage(state, facts));

it.each(TABLE)('%s', (_, begun, before, now, expected) => {
  const state = before === '-' ? begun : after(begun, pageOf(before));
  expect(said(decidePage(state, pageOf(now)))).toBe(expected);
});

it('a scan passes at most a hundred consecutive pages without rows', () => {
  let state = after(offset, page('abc'));
  let pages = 0;
  for (; decidePage(state, empty(`offset=${state.offset + 3}`)).step.kind === 'go-on'; pages += 1)
    state = after(state, empty(`offset=${state.offset + 3}`));
  expect(pages).toBe(100);
});

it.each<[string, ScanState, readonly (string | PageFacts)[], readonly string[]]>([
  [
    'a link of a page without rows that leads back into the list fails the second time',
    keyset,
    ['abc', 'def', empty('afterSourcedId=B'), 'abc', 'def', empty('afterSourcedId=B')],
    ['goes on', 'goes on', 'goes on', 'goes on', 'goes on', 'fails'],
  ],
  [
    'a page that repeats the last one with rows fails',
    keyset,
    ['abc', empty('afterSourcedId=f'), empty('afterSourcedId=B'), 'abc'],
    ['goes on', 'goes on', 'goes on', 'drop: fails'],
  ],
])('%s', (_, begun, pages, expected) => {
  let state = begun;
  const decisions = pages.map((each) => {
    const decision = said(decidePage(state, pageOf(each)));
    state = after(state, pageOf(each));
    return decision;
  });
  expect(decisions).toEqual(expected);
});
