import { describe, expect, it } from 'vitest';
import { frame } from '../../../src/log/framing.ts';

describe('frame', () => {
  it('is that of the Confluent wire format, byte by byte', () => {
    expect(frame(0x01020304, Buffer.from('body')).toString('hex')).toBe(
      `0001020304${Buffer.from('body').toString('hex')}`,
    );
  });

  it('does not change when the buffer of the body is reused', () => {
    const body = Buffer.from('one');
    const framed = frame(7, body);
    body.write('two');
    expect(framed.subarray(5).toString()).toBe('one');
  });
});
