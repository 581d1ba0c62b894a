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

function begin(mode: ScanState['mode'], rowsBefore = 0): ScanState {
  return beginIn({ mode, isDecided: false, why: null }, rowsBefore);
}

const keyset = begin('keyset');
const offset = begin('offset');
const offsetAfterFour = begin('offset', 4);
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
  ['ends after an empty later page', keyset, 'abc', '|', 'empty-page'],
  ['ends after an empty page with a next link at the total', keyset, 'abc=3>', '=3>', 'empty-page'],
  ['ends after a full page, Link without next, at the total', keyset, 'abc=6', 'def=6|', 'no-next-link'],
  ['goes on after a full first page, Link without next', keyset, '-', 'abc=3|', 'goes on'],
  ['goes on after a full page, Link without next, below the total', keyset, 'abc=9', 'def=9|', 'goes on'],
  ['goes on after a full page, Link without next, no total', keyset, '-', 'abc|', 'goes on'],
  ['goes on after a short page, Link without next, below the total', keyset, '-', 'ab=9|', 'goes on'],
  ['ends after a short page, Link without next', keyset, '-', 'a|', 'no-next-link'],
  ['ends after a later short page that reaches the total', keyset, 'abc=5', 'de=5', 'total-reached'],
  ['ends after a short page once the limit was honoured', keyset, 'abc', 'de', 'short-page'],
  // No ends
  ['goes on after a short first page: the limit may be clamped', keyset, '-', 'ab', 'goes on'],
  ['goes on after a short page under a limit not yet honoured', keyset, 'abc', wide, 'goes on'],
  ['goes on after a short first page that is the total', keyset, '-', 'ab=2', 'goes on'],
  ['goes on after rows with a total of 0', keyset, 'a=0', 'b=0', 'goes on'],
  ['goes on after a total below the rows read', keyset, 'ab=2>', 'cd=2', 'goes on'],
  ['goes on after a full page that reaches the total', keyset, 'abc=6', 'def=6', 'goes on'],
  ['goes on where a total of the rows left meets the rows read', keyset, 'ab=6', 'cd=4', 'goes on'],
  ['goes on at the total while a next page is offered', keyset, 'ab=4>', 'cd=4>', 'goes on'],
  ['goes on after a short page while a next page is offered', keyset, 'abc', 'de>', 'goes on'],
  // A page without rows that offers a next one
  ['has no rows if an empty first page links to itself', keyset, '-', empty('afterSourcedId='), 'no-rows'],
  ['ends after an empty page that links to itself', keyset, 'abc', empty('afterSourcedId=c'), 'empty-page'],
  ['fails after an empty page whose link leads nowhere', keyset, 'abc', '>', 'fails'],
  ['by offset ends after an empty page that links to itself', offset, 'abc', empty('offset=3'), 'empty-page'],
  ['by offset fails after an empty page whose link leads nowhere', offset, 'abc', empty('offset=x'), 'fails'],
  // The cursor is ignored
  ['fails if the page before comes again', keyset, 'abc', 'abc', 'drop: fails'],
  ['fails after a page that ends with the cursor', keyset, 'abc', 'xyc', 'drop: fails'],
  ['fails after a page of rows that came before', keyset, 'abc', 'bc', 'drop: fails'],
  ['fails if a page that is the total comes again', keyset, 'abcd=4', 'abcd=4', 'drop: fails'],
  ['by cursor fails after a page without ids', keyset, '-', noIds, 'fails'],
  // By offset
  ['by offset fails at an empty page where keyset returned rows', offsetAfterFour, '-', '', 'fails'],
  ['by offset delivers an overlapping page', offset, 'abc', 'cde', 'goes on'],
  ['by offset delivers rows that moved to the last page', offset, 'abc', 'bc', 'short-page'],
  ['by offset fails if a page without ids comes again', offset, noIds, noIds, 'drop: fails'],
  ['by offset ends if a short page comes again', offset, 'ab', 'ab', 'drop: repeated-page'],
  ['by offset ends if a page that is the total comes again', offset, 'ab=2', 'ab=2', 'drop: total-reached'],
  ['by offset ends if an overlong page comes again', offset, 'abcd=4|', 'dcba=4|', 'drop: total-reached'],
  ['by offset fails if a full page comes again', offset, 'abc=3', 'abc=3', 'drop: fails'],
  ['by offset fails if a page with a next link comes again', offset, 'ab=2>', 'ab=2>', 'drop: fails'],
  ['by offset goes on after a page that begins like the last one', offset, 'ab=2', 'ac=2', 'goes on'],
  ['by offset fails if a short page below the total comes again', offset, 'ab=9', 'ab=9', 'drop: fails'],
];

const pageOf = (given: string | PageFacts): PageFacts => (typeof given === 'string' ? page(given) : given);
const after = (state: ScanState, facts: PageFacts) => afterPage(state, facts, decidePage(state, facts));

it.each(TABLE)('a scan %s', (_, begun, before, now, expected) => {
  const state = before === '-' ? begun : after(begun, pageOf(before));
  expect(said(decidePage(state, pageOf(now)))).toBe(expected);
});

it('a scan skips at most a hundred consecutive pages without rows', () => {
  let state = after(offset, page('abc'));
  let pages = 0;
  for (; decidePage(state, empty(`offset=${state.offset + 3}`)).step.kind === 'go-on'; pages += 1)
    state = after(state, empty(`offset=${state.offset + 3}`));
  expect(pages).toBe(100);
});

it.each<[string, ScanState, readonly (string | PageFacts)[], readonly string[]]>([
  [
    'fails if a link of a page without rows leads back into the list a second time',
    keyset,
    ['abc', 'def', empty('afterSourcedId=B'), 'abc', 'def', empty('afterSourcedId=B')],
    ['goes on', 'goes on', 'goes on', 'goes on', 'goes on', 'fails'],
  ],
  [
    'fails if the last page with rows comes again',
    keyset,
    ['abc', empty('afterSourcedId=f'), empty('afterSourcedId=B'), 'abc'],
    ['goes on', 'goes on', 'goes on', 'drop: fails'],
  ],
])('a scan %s', (_, begun, pages, expected) => {
  let state = begun;
  const decisions = pages.map((each) => {
    const decision = said(decidePage(state, pageOf(each)));
    state = after(state, pageOf(each));
    return decision;
  });
  expect(decisions).toEqual(expected);
});
