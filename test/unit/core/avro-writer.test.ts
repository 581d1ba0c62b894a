import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWriter, intoOneBuffer } from '../../../src/core/avro/avro-writer.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import { forMany } from '../support/for-all.ts';

test('texts and numbers of any length have the bytes that an Avro library writes', () => {
  const fields = [
    { name: 'text', type: ['null', 'string'] },
    { name: 'number', type: 'long' },
    { name: 'ratio', type: ['null', 'double'] },
  ];
  const codec = createValueCodec({ type: 'record', name: 'Made', fields });
  const encode = intoOneBuffer(createWriter(fields));
  const lengths = [0, 1, 63, 64, 65, 127, 128, 2_699, 2_700, 2_701, 8_191, 8_192, 70_000];
  const text = fc
    .tuple(fc.constantFrom(...lengths), fc.constantFrom('a', 'æ', '€', '😀'), fc.nat())
    .map(([length, last, at]) => ('x'.repeat(at % (length + 1)) + last).padEnd(length, 'x'));
  const value = fc.record({
    text: fc.option(text),
    number: fc.maxSafeInteger().map((number) => Math.trunc(number / 2)),
    ratio: fc.option(fc.double()),
  });
  forMany(1_000, [value], (made) => {
    expect(encode(made)).toEqual(codec.toBuffer(made));
  });
});
