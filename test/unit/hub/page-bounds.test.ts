import { describe, expect, it, vi } from 'vitest';
import { requireBoundedRows, requireBoundedText } from '../../../src/hub/page-bounds.ts';
import { answer, readAll, sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

const repeated = (piece: string, times: number): string => Array<string>(times).fill(piece).join(',');

const limitsOf = (test: TestHub): number[] => test.data().map(({ query }) => Number(query.get('limit')));

const TOO_LONG = { code: 'HUB_PAGE_TOO_LONG', reaction: 'retry' };

describe('the memory of a page', () => {
  it.each([
    ['a million empty rows in 3 MB', () => `{"users":[${repeated('{}', 1_000_000)}]}`],
    ['a million empty lists', () => `{"users":[${repeated('[]', 1_000_000)}]}`],
    ['nesting without end', () => '['.repeat(1_100_000)],
    ['objects in objects without end', () => '{"a":'.repeat(600_000)],
    [
      'a row with millions of names',
      () => `{"users":[{${Array.from({ length: 2_100_000 }, (_, n) => `"k${n}":0`).join(',')}}]}`,
    ],
    ['millions of numbers', () => `{"users":[${repeated('0.5', 2_100_000)}]}`],
  ])('is bounded: %s is refused before parsing', (_, text) => {
    expect(() => requireBoundedText(text(), 'x')).toThrow(expect.objectContaining(TOO_LONG) as Error);
  });

  it.each([
    ['a huge string', () => `{"users":["${'x'.repeat(5_000_000)}"]}`],
    [
      'fifty thousand rows with references',
      () =>
        `{"users":[${repeated('{"sourcedId":"a","org":{"sourcedId":"b","type":"org"},"grades":[]}', 50_000)}]}`,
    ],
    ['text that is no JSON', () => '"'.repeat(1_200_001)],
  ])('is not limited where it is harmless: %s passes', (_, text) => {
    expect(() => requireBoundedText(text(), 'x')).not.toThrow();
  });

  it('is bounded to 100,000 rows, whatever limit was requested', () => {
    expect(() => requireBoundedRows(100_000, { limit: 100, where: 'x' })).not.toThrow();
    expect(() => requireBoundedRows(100_001, { limit: 100_000, where: 'x' })).toThrow(/100001 rows/);
  });
});

describe('a hub that ignores limit', () => {
  it('by far is an error of its own, and its page is not parsed', async () => {
    const body = `{"users":[${repeated('{}', 1_000_000)}]}`;
    await using test = await testHub(answer(200, body), { pageSize: 200, retry: { maxAttempts: 3 } });
    const parse = vi.spyOn(JSON, 'parse');
    try {
      await expect(readAll(test.hub, 'users')).rejects.toMatchObject(TOO_LONG);
      expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
    } finally {
      parse.mockRestore();
    }
    expect(limitsOf(test)).toEqual([200, 1]);
  });

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
          (id) =>
            `{"sourcedId":"${id}","x":${id < '1020' ? '['.repeat(100_000) + ']'.repeat(100_000) : '0'}}`,
        );
        sendJson(response, `{"users":[${users.join(',')}]}`);
      },
      { pageSize: 200, retry: { maxAttempts: 1 } },
    );
    expect((await readAll(test.hub, 'users')).ids).toEqual(ids);
    const limits = limitsOf(test);
    expect(limits.slice(0, 8)).toEqual([200, 1, 2, 4, 8, 4, 8, 4]);
    expect(limits.at(-1)).toBe(100);
    expect(limits.length).toBeLessThan(40);
  });

  it.each([
    ['rows that are no objects', `{"users":[${repeated('0', 100_001)}]}`],
    ['the lessons of a student', `[${repeated('{}', 1_000_000)}]`],
  ])('by far with %s is the same error', async (what, body) => {
    await using test = await testHub(answer(200, body), {
      retry: { maxAttempts: 1 },
    });
    const { signal } = new AbortController();
    const asked = { student: 's', from: '2026-01-01', to: '2026-01-02', signal };
    const read = what.startsWith('rows') ? readAll(test.hub, 'users') : test.hub.readSchedule(asked);
    await expect(read).rejects.toMatchObject(TOO_LONG);
  });

  it('at the token endpoint, with megabytes, is not parsed', async () => {
    const body = `{"a":[${repeated('{}', 500_000)}],"access_token":"t"}`;
    const tokenScript = answer(200, body);
    await using test = await testHub(answer(200), { retry: { maxAttempts: 1 }, tokenScript });
    await expect(readAll(test.hub, 'users')).rejects.toMatchObject({ code: 'HUB_TOKEN_UNAVAILABLE' });
  });
});
