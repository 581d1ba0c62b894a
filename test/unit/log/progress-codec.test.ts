import { expect, it } from 'vitest';
import { createProgressCodec } from '../../../src/log/progress-codec.ts';
import { createValueCodec } from '../../../src/core/value-codec.ts';
import { readSchemaFiles } from '../../../src/log/schema-files.ts';
import type { Progress } from '../../../src/model/progress.ts';

type Value = Parameters<Parameters<typeof createProgressCodec>[0]['encode']>[0];

const PROGRESS: Progress = {
  collection: 'schedules',
  sequence: 7,
  transactionId: 'a-random-id',
  passId: 'p',
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

it('each record of progress, that of the owner too, names the time zone in which days are counted', () => {
  const avro = createValueCodec<Value>(readSchemaFiles().get('progress')?.schema ?? 'null');
  const codec = createProgressCodec({
    timeZone: 'Atlantic/Azores',
    encode: (value) => avro.toBuffer(value),
    decode: () => Promise.reject(new Error('nothing is decoded')),
  });
  const owner = codec.encodeOwner({ owner: 'x', ownedSinceMs: 1 });
  const zones = [codec.encode(PROGRESS), owner].map((body) => avro.fromBuffer(body).timeZone);
  expect(zones).toEqual(['Atlantic/Azores', 'Atlantic/Azores']);
});
