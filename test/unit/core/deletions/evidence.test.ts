import { expect, it } from 'vitest';
import {
  explainShort,
  hasAgreed,
  verdictOn,
  type ScanEvidence,
} from '../../../../src/core/deletions/evidence.ts';

const way = { scope: '', reason: 'no-next-link', paging: 'keyset' };
const counts = { rows: 250, distinctRows: 250, rowsWithoutId: 0, totalAtStart: 250, totalAtEnd: 250 };
const GIVEN: ScanEvidence = { ...way, ...counts };
const noTotal = { totalAtStart: null, totalAtEnd: null };
const zero = { totalAtStart: 0, totalAtEnd: 0 };

it.each<[string, Partial<ScanEvidence>, string]>([
  ['has as many rows as the hub counts', {}, 'complete'],
  ['has more rows than the hub counts', { distinctRows: 300 }, 'complete'],
  ['has no fewer than the lower total', { distinctRows: 249, totalAtEnd: 249 }, 'complete'],
  ['has no total', { distinctRows: 190, ...noTotal }, 'complete'],
  ['has a total of 0', { distinctRows: 190, ...zero }, 'complete'],
  ['has a total below what came', { totalAtStart: 20, totalAtEnd: 20 }, 'complete'],
  ['is empty, as the hub counts', { distinctRows: 0, ...zero }, 'complete'],
  ['stays below the lower total', { distinctRows: 190, totalAtEnd: 251 }, 'short'],
  [
    'stays below the lower total by offset',
    { paging: 'offset', distinctRows: 190, totalAtEnd: 251 },
    'short',
  ],
  ['is empty where the hub counts rows', { distinctRows: 0 }, 'short'],
  ['has a row without a readable id', { rowsWithoutId: 1 }, 'nameless'],
  ['has an answer without a list', { reason: 'missing-list' }, 'inconclusive'],
  ['got the same answer twice', { reason: 'repeated-page' }, 'inconclusive'],
  ['has an answer that was not read', { isUnread: true }, 'inconclusive'],
])('a full sync that $0 is $2 for its scope', (_name, given, kind) => {
  const verdict = verdictOn({ ...GIVEN, ...given });
  expect(verdict.kind).toBe(kind);
  if (kind === 'complete') expect(verdict).toEqual({ kind, missesNeeded: 2 });
});

it('a short scan says how many of the counted rows were returned, and how many of them twice', () => {
  const short = verdictOn({ ...GIVEN, rows: 192, distinctRows: 190, totalAtEnd: 251 });
  const shortfall = { rows: 190, total: 250, repeated: 2 };
  expect(short).toEqual({ kind: 'short', shortfall, isComposed: false });
  expect(explainShort(shortfall)).toBe('190 of 250 rows were returned, 2 of them twice');
  expect(explainShort({ ...shortfall, repeated: 0 })).toBe('190 of 250 rows were returned');
});

it('a row of a list read by offset is missing after three misses if no total agreed with the list', () => {
  for (const [given, missesNeeded] of [
    [{}, 2],
    [{ totalAtStart: null }, 3],
    [{ distinctRows: 251 }, 3],
  ] as const)
    expect(verdictOn({ ...GIVEN, paging: 'offset', ...given })).toEqual({ kind: 'complete', missesNeeded });
  const totals = { totalAtStart: 255, totalAtEnd: 245 };
  expect([250, 256].map((distinctRows) => hasAgreed({ distinctRows, ...totals }))).toEqual([true, false]);
});
