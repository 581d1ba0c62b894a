import * as fc from 'fast-check';
import { Command } from 'ioredis';
import { expect, it } from 'vitest';
import { PackedCommand } from '../../../src/state/packed-command.ts';

it('a packed command has the bytes that ioredis would send', () => {
  const length = fc.constantFrom(0, 1, 9, 10, 99, 100, 999, 1_000, 10_000);
  const argument = fc.oneof(
    fc.integer(),
    fc.string({ unit: 'binary' }),
    fc.constant('a lone \ud800 half'),
    length.map((bytes) => 'x'.repeat(bytes)),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(fc.array(argument), fc.array(argument), (first, second) => {
      const byIoredis = Buffer.from(new Command('EVALSHA', [...first, ...second]).toWritable({}));
      expect(new PackedCommand('EVALSHA', [], first, second).toWritable()).toEqual(byIoredis);
    }),
  );
});
