import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAll, testHub } from './support/scripted-hub.ts';

describe('an error with a compressed page', () => {
  it.each([
    ['is long', 'gzip', gzipSync('<html>' + 'a line of it\n'.repeat(20_000))],
    ['is damaged', 'gzip', gzipSync('<html>Down').subarray(0, 15)],
    ['is encoded in another way', 'br', Buffer.from('anything')],
  ])('keeps its status where the page %s', async (_, encoding, body) => {
    for (const [code, expected] of [
      [503, 'HUB_UNAVAILABLE'],
      [403, 'HUB_UNAVAILABLE'],
      [404, 'HUB_NOT_OFFERED'],
    ] as const) {
      await using test = await testHub(
        (__, response) => {
          response.writeHead(code, { 'content-encoding': encoding, 'retry-after': '7' });
          response.end(body);
        },
        { retry: { maxAttempts: 2 } },
      );
      await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: expected, status: code });
      expect(test.sleeps).toEqual(code === 404 ? [] : [7000]);
      expect(new Set(test.data().map(({ query }) => query.get('limit')))).toEqual(new Set(['3']));
    }
  });
});
