import { describe, expect, it } from 'vitest';
import { readAll, sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

const repeated = (piece: string, times: number): string => Array<string>(times).fill(piece).join(',');

const limitsOf = (test: TestHub): number[] => test.data().map(({ query }) => Number(query.get('limit')));

describe('a hub that ignores limit', () => {
  it('with more than hub.maxResponseBytes is asked for a single row, and by later syncs once', async () => {
    const users = Array.from({ length: 5_000 }, (_, n) => ({ sourcedId: String(10_000 + n) }));
    const script: Script = ({ query }, response) =>
      sendJson(response, { users: query.has('afterSourcedId') ? [] : users });
    const options = { pageSize: 1_000, retry: { maxAttempts: 7 } };
    await using test = await testHub(script, { ...options, maxResponseBytes: 50_000 });
    const refused = {
      code: 'HUB_RESPONSE_TOO_LARGE',
      reaction: 'retry',
      message: expect.stringContaining('even for limit=1') as string,
      remedy: expect.stringMatching(/Smaller pages do not help.*raise hub\.maxResponseBytes/) as string,
    };
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject(refused);
    expect(limitsOf(test)).toEqual([1_000, 1]);
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject(refused);
    expect(limitsOf(test)).toEqual([1_000, 1, 500]);
    expect(test.sleeps).toEqual([]);
    await using after = await testHub(script, { ...options, maxResponseBytes: 500_000 });
    expect((await readAll(after.hub, 'users')).ids).toHaveLength(5_000);
  });

  it('with some huge rows is read row by row there, and in larger pages after them', async () => {
    const ids = Array.from({ length: 600 }, (_, n) => String(1_000 + n));
    await using test = await testHub(
      ({ query }, response) => {
        const after = query.get('afterSourcedId') ?? '';
        const rows = ids.filter((id) => id > after).slice(0, Number(query.get('limit')));
        const users = rows.map(
          (id) => `{"sourcedId":"${id}","x":"${id < '1020' ? 'x'.repeat(200_000) : '0'}"}`,
        );
        sendJson(response, `{"users":[${users.join(',')}]}`);
      },
      { pageSize: 200, maxResponseBytes: 1_000_000, retry: { maxAttempts: 1 } },
    );
    expect((await readAll(test.hub, 'users')).ids).toEqual(ids);
    const limits = limitsOf(test);
    expect(limits.slice(0, 8)).toEqual([200, 1, 2, 4, 8, 4, 8, 4]);
    expect(limits.at(-1)).toBe(100);
    expect(limits.length).toBeLessThan(40);
  });

  it('mildly is read in full', async () => {
    const users = Array.from({ length: 5_000 }, (_, n) => ({ sourcedId: String(10_000 + n) }));
    await using test = await testHub(({ query }, response) =>
      sendJson(response, { users: query.has('afterSourcedId') ? [] : users }),
    );
    expect((await readAll(test.hub, 'users')).ids).toHaveLength(5_000);
  });

  it('at the token endpoint, with megabytes, is not parsed', async () => {
    const body = `{"a":[${repeated('{}', 500_000)}],"access_token":"t"}`;
    await using test = await testHub((_, response) => sendJson(response, { users: [] }), {
      retry: { maxAttempts: 1 },
      tokenScript: (_, response) => sendJson(response, body),
    });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_TOKEN_UNAVAILABLE' });
  });
});
