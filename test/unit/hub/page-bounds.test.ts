import { expect, it, vi } from 'vitest';
import { requireBoundedText } from '../../../src/hub/page-bounds.ts';
import { answer, exchange, type Script } from './support/scripted-hub.ts';

const repeated = (piece: string, times: number): string => Array<string>(times).fill(piece).join(',');
const once = { retry: { maxAttempts: 1 } };
const TOO_LONG = { code: 'HUB_PAGE_TOO_LONG', reaction: 'retry' };

const ROW = '{"sourcedId":"a","org":{"sourcedId":"b","type":"org"},"grades":[]}';
it.each([
  ['a million empty rows in 3 MB are', `{"users":[${repeated('{}', 1_000_000)}]}`, true],
  ['nesting without end is', '['.repeat(1_100_000), true],
  ['millions of numbers are', `{"users":[${repeated('0.5', 2_100_000)}]}`, true],
  ['a huge string is not', `{"users":["${'x'.repeat(5_000_000)}"]}`, false],
  ['fifty thousand rows with references are not', `{"users":[${repeated(ROW, 50_000)}]}`, false],
])('the memory of a page is bounded: %s refused before parsing', (_, text, isRefused) => {
  const check = () => requireBoundedText(text, 'x');
  if (isRefused) expect(check).toThrow(expect.objectContaining(TOO_LONG) as Error);
  else expect(check).not.toThrow();
});

it.each([
  ['rows', repeated('{}', 1_000_000)],
  ['rows that are no objects', repeated('0', 100_001)],
])('a page with far too many %s is refused before it is parsed', async (_, rows) => {
  using parse = vi.spyOn(JSON, 'parse');
  const seen = await exchange([answer(200, `{"users":[${rows}]}`)], { ...once, pageSize: 200 });
  expect(seen).toMatchObject({ error: TOO_LONG, limits: [200, 1] });
  expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
});

it('a hub that ignores limit and exceeds hub.maxResponseBytes is asked for a single row', async () => {
  const users = Array.from({ length: 5_000 }, (_, n) => ({ sourcedId: String(10_000 + n) }));
  const all: Script = (request, response) =>
    answer(200, { users: request.query.has('afterSourcedId') ? [] : users })(request, response);
  const { outcomes, limits, sleeps } = await exchange([all], {
    pageSize: 1_000,
    maxResponseBytes: 50_000,
    reads: [{}, {}],
  });
  const refused = {
    code: 'HUB_RESPONSE_TOO_LARGE',
    reaction: 'retry',
    message: expect.stringContaining('even for limit=1') as string,
    remedy: expect.stringMatching(/Smaller pages do not help.*raise hub\.maxResponseBytes/) as string,
  };
  expect(outcomes).toMatchObject([{ error: refused }, { error: refused }]);
  expect({ limits, sleeps }).toEqual({ limits: [1_000, 1, 500, 1], sleeps: [] });
  expect((await exchange([all], { maxResponseBytes: 500_000 })).ids).toHaveLength(5_000);
});

it('a hub with some huge rows is read row by row at these rows, and faster after them', async () => {
  const ids = Array.from({ length: 600 }, (_, n) => String(1_000 + n));
  const huge = '['.repeat(100_000) + ']'.repeat(100_000);
  const seen = await exchange(
    [
      (request, response) => {
        const after = request.query.get('afterSourcedId') ?? '';
        const rows = ids.filter((id) => id > after).slice(0, Number(request.query.get('limit')));
        const users = rows.map((id) => `{"sourcedId":"${id}","x":${id < '1020' ? huge : 0}}`);
        return answer(200, `{"users":[${users.join(',')}]}`)(request, response);
      },
    ],
    { ...once, pageSize: 200 },
  );
  expect(seen.ids).toEqual(ids);
  expect(seen.limits.slice(0, 8)).toEqual([200, 1, 2, 4, 8, 4, 8, 4]);
  expect(seen.limits.at(-1)).toBe(100);
  expect(seen.requests).toBeLessThan(40);
});
