import { expect, it } from 'vitest';
import { progressOf, progressValue, type ProgressValue } from '../../../src/log/progress-codec.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import type { Progress } from '../../../src/model/progress.ts';

const PROGRESS: Progress = {
  collection: 'schedules',
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

const avro = createValueCodec<ProgressValue>(readSchemaFiles().get('progress')?.schema ?? 'null');

it('a record of progress is read as it was written, and names the time zone in which days are counted', () => {
  const full = {
    syncId: 'f',
    startedAtMs: 5,
    offsets: { 't/0': 3 },
    rows: 2,
    rowsRejected: 1,
    rowsWithheld: 0,
  };
  for (const progress of [PROGRESS, { ...PROGRESS, watermarkMs: 7, totalAtEnd: 9, lastCompleteFull: full }]) {
    const value = avro.fromBuffer(avro.toBuffer(progressValue(progress, 'Atlantic/Azores')));
    expect(value.timeZone).toBe('Atlantic/Azores');
    expect(progressOf(value, {})).toEqual(progress);
  }
});

it('a record of the owner is no progress of a collection', () => {
  const value = avro.fromBuffer(
    avro.toBuffer({ collection: '@owner', owner: 'x', ownedSince: 1, timeZone: 'UTC' }),
  );
  expect(value).toMatchObject({ owner: 'x', ownedSince: 1, timeZone: 'UTC' });
  expect(progressOf(value, {})).toBeNull();
});
