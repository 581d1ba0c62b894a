import { expect, it } from 'vitest';
import { lostPartition, planIndexRecovery } from '../../../src/core/index-recovery.ts';
import { madeProgress } from './support/progress.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse('2026-03-04T03:00:00Z');
/** How long the removals that an index lacks are kept for it. */
const KEPT_MS = 6 * 24 * HOUR_MS;

const OFFSETS = { 'p.t.users/0': 10, 'p.t.users/1': 20, 'p.t.rejects/0': 3 };
const PROGRESS = madeProgress({ sequence: 7, transactionId: 'tx-7', offsets: OFFSETS });
const INDEX = { sequence: 7, transactionId: 'tx-7', committedAtMs: NOW_MS, offsets: {} };
const EARLIER = { ...INDEX, sequence: 5, transactionId: 'tx-5' };

function plan(changes: Partial<Parameters<typeof planIndexRecovery>[0]>) {
  const transactionIds = new Set(['tx-5', 'tx-7']);
  return planIndexRecovery({ progress: PROGRESS, index: INDEX, transactionIds, nowMs: NOW_MS, ...changes })
    .kind;
}

it.each([
  ['current', 'an index at the end of the log', {}],
  ['current', 'an index at the last transaction, whatever its number', { index: { ...INDEX, sequence: 5 } }],
  ['resume', 'an index at an earlier point', { index: EARLIER }],
  ['resume', 'an index right before the end', { index: { ...EARLIER, sequence: 6 } }],
  ['rebuild', 'an index at another transaction of the same number', { index: { ...EARLIER, sequence: 7 } }],
  ['rebuild', 'an index at a later transaction', { index: { ...EARLIER, sequence: 8 } }],
  ['rebuild', 'an index at an early point of another log', { index: { ...EARLIER, transactionId: 'tx-6' } }],
  ['resume', 'an index just young enough', { index: { ...EARLIER, committedAtMs: NOW_MS - KEPT_MS } }],
  ['rebuild', 'an index that is too old', { index: { ...EARLIER, committedAtMs: NOW_MS - KEPT_MS - 1 } }],
  ['rebuild', 'an index from a fast clock', { index: { ...EARLIER, committedAtMs: NOW_MS + 2 * HOUR_MS } }],
  ['rebuild', 'an index beyond the end of a log', { index: { ...EARLIER, offsets: { 'p.t.users/0': 11 } } }],
  ['rebuild', 'no index', { index: null }],
  ['rebuild', 'a log without progress', { progress: null }],
])('recovery decides "%s" for %s', (kind, _what, changes) => {
  expect(plan(changes)).toBe(kind);
});

type Firsts = { readonly first?: number; readonly known?: number; readonly other?: number };

/** The next offsets of `users/0`, `users/1` and `rejects/0`, of which 10, 20 and 3 have been seen; null: no such partition. */
it.each<[is: boolean, what: string, next: (number | null)[], Firsts]>([
  [false, 'complete', [12, 21, 4], {}],
  [true, 'recreated', [0, 0, 4], {}],
  [true, 'recreated with fewer partitions', [12, null, 4], {}],
  [true, 'cut short in one partition', [12, 20, 4], {}],
  [true, 'recreated, for the rejects', [12, 21, 0], {}],
  [true, 'emptied, although its end stays', [12, 21, 4], { first: 11 }],
  [true, 'cut off at its beginning alone', [12, 21, 4], { first: 4 }],
  [true, 'cut off once more', [12, 21, 4], { first: 5, known: 4 }],
  [false, 'refilled after it was cut off', [12, 21, 4], { first: 10, known: 10 }],
  [false, 'never written to', [12, 21, 4], { other: 7 }],
])('records are lost (%s) if a topic was %s', (is, _what, next, { first = 0, known = 0, other = 0 }) => {
  const names = Object.keys(OFFSETS);
  const nextOffsets = Object.fromEntries(
    next.flatMap((offset, at) => (offset === null ? [] : [[names[at] ?? '', offset]])),
  );
  const firstOffsets = { 'p.t.users/0': first, 'p.t.users/1': 0, 'p.t.users/2': other, 'p.t.rejects/0': 0 };
  const knownFirstOffsets = { 'p.t.users/0': known };
  const found = lostPartition({ offsets: OFFSETS, nextOffsets, firstOffsets, knownFirstOffsets });
  expect(found !== undefined).toBe(is);
});
