import { Command } from 'ioredis';
import { describe, expect, it } from 'vitest';

import { PackedCommand } from '../../../src/state/packed-command.ts';

type Argument = string | number | Buffer;

/** What ioredis itself would send. */
function asIoredis(name: string, args: readonly Argument[]): Buffer {
  return Buffer.from(new Command(name, [...args]).toWritable({}));
}

describe('a packed command', () => {
  it.each<[string, Argument[]]>([
    ['without arguments', []],
    ['with texts and numbers', ['key', 0, 7, 12_345, '']],
    [
      'with bytes, also none',
      ['key', Buffer.alloc(0), Buffer.from([0, 13, 10, 255]), Buffer.alloc(1_000, 36)],
    ],
    ['with letters of several bytes', ['Ä-€-😀', Buffer.from('x'), 'a lone \ud800 half']],
    [
      'with lengths of one digit to five',
      [1, 9, 10, 99, 100, 999, 1_000, 10_000].flatMap((length) => [
        'x'.repeat(length),
        Buffer.alloc(length, 'y'),
      ]),
    ],
  ])('has the bytes that ioredis would send: %s', (_what, args) => {
    expect(new PackedCommand('EVALSHA', args).toWritable()).toEqual(asIoredis('EVALSHA', args));
  });

  it('keeps the keys of a script in view of the client', () => {
    expect(new PackedCommand('EVALSHA', ['sha', 2, 'a', 'b', 'c']).getKeys()).toEqual(['a', 'b']);
  });
});
