import { expect, it } from 'vitest';
import {
  headerFieldsOf,
  progressHeaders,
  progressOf,
  progressValue,
  type ProgressValue,
} from '../../../src/log/progress-codec.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import { LoggedTenant } from '../../../src/log/progress-reader.ts';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';
import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import type { Progress } from '../../../src/model/progress.ts';
import { loaded } from '../telemetry/support/board-of.ts';

const FULL = loaded('schedules', 60_000);
const NONE: Progress = { ...FULL, watermarkMs: null, lastCompleteFull: null };
const avro = createValueCodec<ProgressValue>(readSchemaFiles().get('progress') ?? 'null');

const headersOf = (progress: Progress) =>
  progressHeaders({ tenantId: 'north', progress, body: Buffer.alloc(0), schemaId: 1 });

it('a record of progress is read as it was written, and names the time zone in which days are counted', () => {
  for (const progress of [FULL, NONE, { ...FULL, totalAtEnd: 9, offsets: { 't/0': 3 } }]) {
    const value = avro.fromBuffer(avro.toBuffer(progressValue(progress, 'Atlantic/Azores')));
    expect(value.timeZone).toBe('Atlantic/Azores');
    expect(progressOf(value, {})).toEqual(progress);
  }
});

it('a record of the owner is no progress of a collection', () => {
  const owner = { owner: 'x', ownedSince: 1, timeZone: 'UTC' };
  const value = avro.fromBuffer(avro.toBuffer({ collection: '@owner', ...owner }));
  expect(value).toMatchObject(owner);
  expect(progressOf(value, {})).toBeNull();
});

it('a header of another program that is not a JSON object counts as absent', async () => {
  for (const header of ['{', 'null', '7']) {
    expect(headerFieldsOf({ ce_deletions: header }).deletions).toBeUndefined();
    const tenant = new LoggedTenant({
      decodeOrNull: async () => ({ collection: '@owner', owner: 'x', ownedSince: 1 }),
    });
    const headers = { ce_partitions: Buffer.from(header) };
    const key = Buffer.from('@owner');
    const message = { key, value: Buffer.alloc(9), headers, offset: '0', timestamp: '0' };
    await tenant.add(message);
    expect([tenant.owner, tenant.partitions]).toEqual(['x', {}]);
  }
});

it('each record of progress in a transaction has a ce_id of its own', () => {
  const collections = ['absence-versions', ...DERIVED_COLLECTIONS] as const;
  const ids = collections.map((collection) => headersOf({ ...NONE, collection })['ce_id']);
  expect(new Set(ids).size).toBe(collections.length);
});

it.each([
  ['absence-changes', 'from the first complete full sync on', 'over'],
  ['users', 'only after a loss of records', undefined],
] as const)('a header of %s says that the first load is over, %s', (collection, _, afterFull) => {
  const headerOf = (progress: Progress): string | undefined =>
    headersOf({ ...progress, collection })['ce_firstload'];
  expect([NONE, FULL, { ...NONE, firstLoad: 'over' as const }].map(headerOf)).toEqual([
    undefined,
    afterFull,
    'over',
  ]);
});
