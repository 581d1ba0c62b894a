import { describe, expect, it } from 'vitest';
import type { FoundRow } from '../../../src/hub/hub.ts';
import { collectionNamed } from '../../../src/model/collections.ts';
import { answer, inTurn, sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

const MANY = Array.from({ length: 40 }, (_, number) => `k${String(number).padStart(2, '0')}`);
const EXISTING = ['a', ...MANY, "o'b", 'z'];

const rowsOf = (ids: readonly string[]) => ({ absences: ids.map((sourcedId) => ({ sourcedId })) });

/** Makes a hub whose answers a function from the text in the filter to ids decides. */
const answering =
  (ids: (spelled: string) => readonly string[]): Script =>
  ({ query }, response) => {
    const spelled = /^sourcedId='(.*)'$/.exec(query.get('filter') ?? '')?.[1] ?? '';
    sendJson(response, rowsOf(ids(spelled)));
  };

/** Follows the 1EdTech filter syntax. */
const byFilter = answering((spelled) => EXISTING.filter((id) => id === spelled.replaceAll("''", "'")));

async function find(
  test: TestHub,
  ids: readonly string[],
  options: { readVersion?: () => number; signal?: AbortSignal } = {},
): Promise<{ rows: readonly FoundRow[]; found: string[] }> {
  const { readVersion = () => 0, signal = new AbortController().signal } = options;
  const collection = collectionNamed('absence-versions');
  const rows = await test.hub.findRows({ collection, ids, readVersion, signal });
  return { rows, found: rows.map(({ row }) => (row as { sourcedId: string }).sourcedId).sort() };
}

describe('a lookup of rows by id', () => {
  it('finds the rows that the hub shows, and asks once for each id', async () => {
    await using test = await testHub(byFilter);
    expect((await find(test, ['a', 'x', 'z', "o'b", 'a'])).found).toEqual(['a', "o'b", 'z']);
    expect(test.data()).toHaveLength(4);
    expect((await find(test, [])).rows).toEqual([]);
    expect(test.data()).toHaveLength(4);
  });

  it('gives a row the read version of the request that brought it, even after a retry', async () => {
    let stamps = 0;
    await using test = await testHub(inTurn(answer(503), byFilter));
    const { rows } = await find(test, ['a'], { readVersion: () => (stamps += 1) });
    expect(rows).toEqual([{ row: { sourcedId: 'a' }, isUtf8: true, readVersion: 2 }]);
  });

  it('takes no other row for the one that it asks for', async () => {
    await using test = await testHub(answering((id) => (id === 'a' ? ['A', 'a', 'ab'] : ['X', 'z'])));
    expect((await find(test, ['a', 'x'])).found).toEqual(['a']);
  });

  it('takes the last of two rows with one id, as on a page', async () => {
    const absences = [1, 2].map((version) => ({ sourcedId: 'a', version }));
    await using test = await testHub(answer(200, { absences }));
    const { rows } = await find(test, ['a']);
    expect(rows.map(({ row }) => row)).toEqual([{ sourcedId: 'a', version: 2 }]);
  });

  it('sends as many requests at a time as it may, and no more', async () => {
    let open = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    await using test = await testHub(
      async (request, response) => {
        open += 1;
        most = Math.max(most, open);
        if (open === 3) full.resolve();
        await full.promise;
        open -= 1;
        await byFilter(request, response);
      },
      { maxConcurrentRequests: 3 },
    );
    await find(test, MANY);
    expect(most).toBe(3);
  });

  it.each([
    ['is empty', ''],
    ['has half a character', 'a\ud800'],
    ['is too long for an address', 'ø'.repeat(1100)],
    ['is refused', 'odd'],
  ])('is not hindered by an id that %s', async (_, id) => {
    await using test = await testHub((request, response) =>
      request.query.get('filter') === "sourcedId='odd'"
        ? sendJson(response, {}, { status: 400 })
        : byFilter(request, response),
    );
    expect((await find(test, ['x', id, 'a'])).found).toEqual(['a']);
  });

  it.each([
    [204, ''],
    [400, {}],
    [403, {}],
    [404, '<html></html>'],
    [200, {}],
  ])('shows no row where the hub answers %i with %j', async (status, body) => {
    await using test = await testHub(answer(status, body));
    expect((await find(test, ['a'])).rows).toEqual([]);
  });

  it('marks a row whose text is not UTF-8, and does not find one whose id is not', async () => {
    await using test = await testHub(({ query }, response) => {
      const sourcedId = /^sourcedId='(.*)'$/.exec(query.get('filter') ?? '')?.[1];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(Buffer.from(JSON.stringify({ absences: [{ sourcedId, note: 'å' }] }), 'latin1'));
    });
    const { rows } = await find(test, ['a', 'ø']);
    expect(rows).toEqual([{ row: { sourcedId: 'a', note: '\uFFFD' }, isUtf8: false, readVersion: 0 }]);
  });
});

describe('an error of the hub itself', () => {
  it('is thrown when it occurs for one id, and cancels the other requests', async () => {
    await using test = await testHub(
      (request, response) => {
        if (request.query.get('filter') === "sourcedId='y'") sendJson(response, {}, { status: 500 });
        // The others get no answer: only a cancellation ends them.
      },
      { retry: { maxAttempts: 3 } },
    );
    await expect(find(test, [...MANY, 'y'])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    expect(test.data().length).toBeLessThan(8);
  });

  const refusesToken = { tokenScript: answer(401, { error: 'invalid_client' }) };
  it.each([
    ['HUB_BODY_INVALID', 200, {}],
    ['HUB_UNAVAILABLE', 500, {}],
    ['HUB_CIRCUIT_OPEN', 500, { breaker: { failures: 2 } }],
    ['HUB_TOKEN_REFUSED', 200, refusesToken],
  ])('is thrown as %s, so that the caller may wait', async (code, status, options) => {
    const script = answer(status, '<html></html>');
    await using test = await testHub(script, { retry: { maxAttempts: 2 }, ...options });
    await find(test, ['a']).catch(() => null);
    await expect(find(test, ['a'])).rejects.toMatchObject({ code });
  });

  it('does not replace the reason of an abort', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    await using test = await testHub(() => controller.abort(reason));
    await expect(find(test, ['x'], { signal: controller.signal })).rejects.toBe(reason);
  });
});
