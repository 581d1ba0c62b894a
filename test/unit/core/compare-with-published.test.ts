import { expect, it } from 'vitest';
import { findRowChanges, type Change, type KeyedRow } from '../../../src/core/rows/compare-with-published.ts';

const hash = (text: string) => Buffer.alloc(16, text);

/** `a:x` is the row `a` with the content x, `!a:x` an unreadable one, `!:x` one without an id. */
function row(text: string): KeyedRow {
  const [name = '', content = ''] = text.split(':');
  const facts = { hash: hash(content), modifiedAtMs: null };
  if (!text.startsWith('!'))
    return { key: name, rejectKey: name, decoded: { kind: 'row', sourcedId: name, value: {}, ...facts } };
  const key = name.slice(1) || null;
  const rejectKey = key ?? `sha256:${content}`;
  const reject = { sourcedId: key, rejectId: rejectKey, reason: 'r', text: null, ...facts };
  return { key, rejectKey, decoded: { kind: 'reject', ...reject } };
}

/** The changes by a page, given what is known, and the counts that are not 0; `~a`: its page is stale; `^a`: an earlier page had it. */
function decide(page: string, known: string): string {
  const areas = { rows: new Map<string, Buffer>(), rejects: new Map<string, Buffer>() };
  const stale = new Set<string>();
  const earlier = new Set<string>();
  for (const text of known.split(' ').filter((each) => each !== '')) {
    if (text.startsWith('~')) stale.add(text.slice(1));
    else if (text.startsWith('^')) earlier.add(text.slice(1));
    else areas[text.startsWith('!') ? 'rejects' : 'rows'].set(row(text).rejectKey, row(text).decoded.hash);
  }
  const changes: string[] = [];
  const tally = findRowChanges(page.split(' ').map(row), {
    row: (key) => areas.rows.get(key) ?? null,
    reject: (key) => areas.rejects.get(key) ?? null,
    stale: (key) => stale.has(key),
    seenBefore: (key) => earlier.has(key),
    note: (change: Change) => {
      changes.push(`${change.area} ${change.key} ${change.kind}`);
      if (change.kind === 'deleted') areas[change.area].delete(change.key);
      else areas[change.area].set(change.key, (change.area === 'rows' ? change.row : change.reject).hash);
    },
  });
  const counted = Object.entries(tally).filter(([, count]) => count > 0);
  const counts = counted.map(
    ([name, count]) => `${name.replace(/^rows./, (of) => of.slice(4).toLowerCase())} ${count}`,
  );
  return `${changes.join(', ')}; ${counts.join(', ')}`;
}

it.each([
  ['an unchanged row publishes nothing', 'a:x', 'a:x', '; seen 1, unchanged 1'],
  [
    'all changes of a page are reported in order',
    'b:y a:x',
    'b:x',
    'rows b updated, rows a created; seen 2, created 1, updated 1',
  ],
  ['the first row with an id counts', 'a:x a:y a:x', '', 'rows a created; seen 2, created 1, repeated 1'],
  ['the first row with an id counts', 'a:x a:y', 'a:x', '; seen 2, unchanged 1, repeated 1'],
  ['the first row with an id counts', 'a:x a:y', 'a:y', 'rows a updated; seen 2, updated 1, repeated 1'],
  [
    'a row counts only if no earlier page had its id',
    'a:y b:x',
    'a:x ^a',
    'rows b created; seen 2, created 1, repeated 1',
  ],
  ['the first row with an id counts, not a reject', 'a:x !a:r', 'a:x', '; seen 2, unchanged 1, repeated 1'],
  [
    'the first row with an id counts even if only the later one is readable',
    '!a:r a:x',
    '!a:r',
    '; seen 2, rejected 1, repeated 1',
  ],
  ['a stale page overwrites and removes nothing newer', 'a:o', 'a:n !a:r ~a', '; seen 1, stale 1'],
  ['an unreadable row is a reject beside its row', '!a:x', 'a:x', 'rejects a created; seen 1, rejected 1'],
  ['an unreadable row is a reject once', '!a:x', '!a:x', '; seen 1, rejected 1'],
  ['a changed unreadable row is a reject again', '!a:x', '!a:y', 'rejects a updated; seen 1, rejected 1'],
  ['a readable row removes its reject', 'a:x', 'a:x !a:r', 'rejects a deleted; seen 1, unchanged 1'],
  [
    'a row that is readable again and changed removes its reject',
    'a:y',
    'a:x !a:r',
    'rows a updated, rejects a deleted; seen 1, updated 1',
  ],
  ['a row without an id is a reject', '!:x', '', 'rejects sha256:x created; seen 1, rejected 1, withoutId 1'],
])('%s: %s beside %s', (_name, page, known, expected) => {
  expect(decide(page, known)).toBe(expected);
});
