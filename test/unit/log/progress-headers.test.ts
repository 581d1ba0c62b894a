import { expect, it } from 'vitest';
import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import type { Progress } from '../../../src/model/progress.ts';
import { progressHeaders } from '../../../src/log/progress-codec.ts';

const PROGRESS: Progress = {
  collection: 'absence-versions',
  sequence: 7,
  transactionId: 'a-random-id',
  syncId: 'p',
  mode: 'FULL',
  complete: true,
  startedAtMs: 0,
  rowsSeen: 0,
  rowsPublished: 0,
  rowsRejected: 0,
  rowsRemoved: 0,
  rowsWithheld: 0,
  totalAtStart: null,
  totalAtEnd: null,
  watermarkMs: null,
  offsets: {},
  lastCompleteFull: null,
};

it('each record of progress in a transaction has a ce_id of its own', () => {
  const collections = ['absence-versions', ...DERIVED_COLLECTIONS] as const;
  const ids = collections.map((collection) => {
    const progress = { ...PROGRESS, collection };
    return progressHeaders({ tenantId: 'north', progress, body: Buffer.alloc(0), schemaId: 1 })['ce_id'];
  });
  expect(new Set(ids).size).toBe(collections.length);
});

it('a header of absence-changes says that the first load is over, from the first complete full sync on', () => {
  const headerOf = (progress: Progress): string | undefined =>
    progressHeaders({ tenantId: 'north', progress, body: Buffer.alloc(0), schemaId: 1 })['ce_firstload'];
  const before: Progress = { ...PROGRESS, collection: 'absence-changes', lastCompleteFull: null };
  const syncId = 'p';
  const full = { syncId, startedAtMs: 0, offsets: {}, rows: 0, rowsRejected: 0, rowsWithheld: 0 };
  expect(headerOf(before)).toBeUndefined();
  expect(headerOf({ ...before, lastCompleteFull: full })).toBe('over');
  expect(headerOf({ ...before, firstLoad: 'over' })).toBe('over');
});
