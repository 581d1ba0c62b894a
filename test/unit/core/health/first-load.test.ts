import { expect, it } from 'vitest';
import type { CollectionStatus } from '../../../../src/core/health/collection-status.ts';
import { firstLoad } from '../../../../src/core/health/first-load.ts';

const NONE = { derivedFrom: null, isNotOffered: false, lastCompleteFull: null, rowsNow: 0, running: null };
const loaded = (rowsNow: number) => ({ ...NONE, rowsNow, lastCompleteFull: '2026-11-20T07:15:00.000Z' });
const loading = (seen: number, expected: number | null) => ({
  ...NONE,
  running: { mode: 'FULL', startedAt: '', seen, expected },
});
const derived = { ...NONE, derivedFrom: 'absence-versions' };
const missing = { ...NONE, isNotOffered: true };

it.each([
  ['4,000 of some 20,000 rows read, 0 of 1 collection complete', [loading(4_000, 20_000)]],
  ['34,000 of some 50,000 rows read, 1 of 2 collections complete', [loaded(30_000), loading(4_000, 20_000)]],
  ['4,000 of at least 20,000 rows read, 0 of 2 collections complete', [loading(4_000, 20_000), NONE]],
  ['4,000 rows read, 0 of 1 collection complete', [loading(4_000, null)]],
  ['30,000 rows read, 1 of 2 collections complete', [loaded(30_000), derived, missing]],
  ['0 of 2 collections complete', [NONE, NONE]],
])('a first load is shown as "%s"', (said, collections) => {
  expect(firstLoad(collections as CollectionStatus[])).toBe(`loading: ${said}`);
});
