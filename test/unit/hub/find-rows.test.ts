import { describe, expect, it } from 'vitest';
import type { FoundRows } from '../../../src/hub/hub.ts';
import { collectionNamed, type CollectionName } from '../../../src/model/collections.ts';
import { sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

/** These are more rows than the client lists for its control question. */
const FILLERS = Array.from({ length: 40 }, (_, number) => `k${String(number).padStart(2, '0')}`);
const EXISTING = ['a', ...FILLERS, "o'b", 'z'];

const rowsOf = (ids: readonly string[]) => ({ absences: ids.map((sourcedId) => ({ sourcedId })) });

interface Asked {
  /** Null if the request lists rows without a filter. */
  readonly id: string | null;
  readonly limit: number;
}

/** Makes a hub whose answers a function from requests to ids decides. */
const answering =
  (ids: (asked: Asked) => readonly string[]): Script =>
  ({ query }, response) => {
    const id = /^sourcedId='(.*)'$/.exec(query.get('filter') ?? '')?.[1] ?? null;
    sendJson(response, rowsOf(ids({ id, limit: Number(query.get('limit')) })));
  };

const listedFirst = (limit: number) => EXISTING.slice(0, limit);

/** Follows the 1EdTech filter syntax. */
const byFilter = answering(({ id, limit }) =>
  id === null ? listedFirst(limit) : EXISTING.filter((existing) => existing === id.replaceAll("''", "'")),
);

/** Gives only requests with a filter to the script; other requests are answered correctly. */
const onFilter =
  (script: Script): Script =>
  (request, response) =>
    request.query.has('filter') ? script(request, response) : byFilter(request, response);

async function find(
  test: TestHub,
  ids: readonly string[],
  options: { name?: CollectionName; readVersion?: () => number; signal?: AbortSignal } = {},
): Promise<FoundRows & { found: string[] }> {
  const { name = 'absence-versions', readVersion = () => 0, signal = new AbortController().signal } = options;
  const { rows, notFound: gone } = await test.hub.findRows({
    collection: collectionNamed(name),
    ids,
    readVersion,
    signal,
  });
  const found = rows.map(({ row }) => (row as { sourcedId: string }).sourcedId).sort();
  return { rows, notFound: [...gone].sort(), found };
}

const many = Array.from({ length: 30 }, (_, number) => `x${number}`);

describe('a lookup of rows by id', () => {
  it('finds the rows that exist, and the others are gone', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['a', 'x', 'z', 'y', 'a'])).toMatchObject({
      found: ['a', 'z'],
      notFound: ['x', 'y'],
    });
    const filters = test.data().flatMap(({ query }) => query.get('filter') ?? []);
    expect(filters.filter((filter) => filter === "sourcedId='a'")).toHaveLength(1);
  });

  it('asks no control question when all rows exist', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['a', 'z'])).toMatchObject({ found: ['a', 'z'], notFound: [] });
    expect(test.data()).toHaveLength(2);
  });

  it('asks nothing for no ids', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, [])).toMatchObject({ rows: [], notFound: [] });
    expect(test.data()).toEqual([]);
  });

  it('gives a row the read version of the request that brought it, even after a retry', async () => {
    let stamps = 0;
    let asked = 0;
    await using test = await testHub((request, response) => {
      asked += 1;
      if (asked === 1) sendJson(response, {}, { status: 503 });
      else return byFilter(request, response);
    });
    const { rows } = await find(test, ['a'], { readVersion: () => (stamps += 1) });
    expect(rows).toEqual([{ row: { sourcedId: 'a' }, isUtf8: true, readVersion: 2 }]);
  });

  it('does not take another row for the requested one', async () => {
    await using test = await testHub(
      answering(({ id, limit }) => (id === 'a' ? ['A', 'a', 'ab'] : id === 'x' ? ['X'] : listedFirst(limit))),
    );
    expect(await find(test, ['a', 'x'])).toMatchObject({ found: ['a'], notFound: [] });
  });

  it('takes the last of two rows with one id, as on a page', async () => {
    await using test = await testHub((_, response) =>
      sendJson(response, { absences: [1, 2].map((version) => ({ sourcedId: 'a', version })) }),
    );
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
    await find(test, FILLERS);
    expect(most).toBe(3);
  });

  it.each([['class-students'], ['afterschool-users']] as const)(
    'does not ask for %s, which need a parent',
    async (name) => {
      await using test = await testHub(byFilter);
      expect(await find(test, ['a'], { name })).toMatchObject({ rows: [], notFound: [] });
      expect(test.data()).toEqual([]);
    },
  );
});

describe('rows that cannot be looked up', () => {
  it('are not gone where the filter is ignored, and the client soon stops asking', async () => {
    await using test = await testHub(answering(({ limit }) => listedFirst(limit)));
    expect(await find(test, many)).toMatchObject({ rows: [], notFound: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('are not gone where the filter is ignored and one answer holds all rows', async () => {
    await using test = await testHub(answering(() => ['a', 'b', 'c']));
    expect(await find(test, [...many, 'a'])).toMatchObject({ found: ['a'], notFound: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('are not gone where the filter is refused, and the client soon stops asking', async () => {
    await using test = await testHub(onFilter((_, response) => sendJson(response, {}, { status: 400 })));
    expect(await find(test, many)).toMatchObject({ rows: [], notFound: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('are not gone where the filter is answered without JSON and the rows are listed', async () => {
    await using test = await testHub(
      onFilter((_, response) => sendJson(response, '<html></html>')),
      { retry: { maxAttempts: 2 } },
    );
    expect(await find(test, many)).toMatchObject({ rows: [], notFound: [] });
    expect(test.data().length).toBeLessThan(30);
  });

  it('are not gone by an answer without a list', async () => {
    await using test = await testHub((_, response) => sendJson(response, {}));
    expect(await find(test, many)).toMatchObject({ rows: [], notFound: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('are not gone where the hub finds none by sourcedId', async () => {
    await using test = await testHub(answering(({ id, limit }) => (id === null ? listedFirst(limit) : [])));
    expect(await find(test, ['x'])).toMatchObject({ rows: [], notFound: [] });
  });

  it('are not gone where the hub filters only the rows it would have listed', async () => {
    await using test = await testHub(
      answering(({ id, limit }) => listedFirst(limit).filter((shown) => id === null || shown === id)),
    );
    expect(await find(test, ['a', 'z'])).toMatchObject({ found: ['a'], notFound: [] });
  });

  it('are not gone where the hub lists no row at all', async () => {
    await using test = await testHub((_, response) => sendJson(response, rowsOf([])));
    expect(await find(test, ['x'])).toMatchObject({ rows: [], notFound: [] });
  });

  it('are not gone where the hub loses its rows between two questions', async () => {
    let asked = 0;
    await using test = await testHub((request, response) => {
      asked += 1;
      return asked === 1 ? byFilter(request, response) : sendJson(response, rowsOf([]));
    });
    expect(await find(test, ['x', 'y'])).toMatchObject({ rows: [], notFound: [] });
  });

  it('do not affect the others: one id is refused', async () => {
    await using test = await testHub((request, response) =>
      request.query.get('filter') === "sourcedId='odd'"
        ? sendJson(response, {}, { status: 400 })
        : byFilter(request, response),
    );
    const found = await find(test, ['a', 'x', 'odd', ...FILLERS]);
    expect(found).toMatchObject({ found: ['a', ...FILLERS], notFound: ['x'] });
  });

  it.each([
    ['empty', ''],
    ['with half a character', 'a\ud800'],
    ['too long for an address', 'ø'.repeat(1100)],
  ])('do not affect the others: one id is %s', async (_, id) => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['x', id, 'a'])).toMatchObject({ found: ['a'], notFound: ['x'] });
  });

  it('are not gone if their id was damaged on the way', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['\uFFFDse', 'x'])).toMatchObject({ found: [], notFound: ['x'] });
  });
});

describe('ids with a quote', () => {
  it('are found where the hub undoes the doubling', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ["o'b"])).toMatchObject({ found: ["o'b"], notFound: [] });
  });

  it('are found where the hub does not undo it', async () => {
    await using test = await testHub(
      answering(({ id, limit }) =>
        id === null ? listedFirst(limit) : EXISTING.filter((each) => each === id),
      ),
    );
    expect(await find(test, ["o'b"])).toMatchObject({ found: ["o'b"], notFound: [] });
  });

  it('are found where the hub refuses the doubling', async () => {
    await using test = await testHub((request, response) =>
      request.query.get('filter')?.includes("''") === true
        ? sendJson(response, {}, { status: 400 })
        : byFilter(request, response),
    );
    expect(await find(test, ["o'b"])).toMatchObject({ found: ["o'b"], notFound: [] });
  });

  it('are never gone, and never another row whose quote is doubled', async () => {
    await using test = await testHub(
      answering(({ id, limit }) =>
        id === null ? listedFirst(limit) : ["o''x", 'z'].filter((each) => each === id),
      ),
    );
    expect(await find(test, ["o'x", "o'y"])).toMatchObject({ rows: [], notFound: [] });
  });
});

describe('text that is not UTF-8', () => {
  const latin1: Script = ({ query }, response) => {
    const id = /^sourcedId='(.*)'$/.exec(query.get('filter') ?? '')?.[1];
    const ids = id === undefined ? ['a', 'ø'] : ['a', 'ø'].filter((each) => each === id);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      Buffer.from(JSON.stringify({ absences: ids.map((sourcedId) => ({ sourcedId, note: 'å' })) }), 'latin1'),
    );
  };

  it('marks its row, and an id that it damaged is not gone', async () => {
    await using test = await testHub(latin1);
    const { rows, notFound: gone } = await find(test, ['a', 'ø', 'x']);
    expect(rows).toEqual([{ row: { sourcedId: 'a', note: '\uFFFD' }, isUtf8: false, readVersion: 0 }]);
    expect(gone).toEqual(['x']);
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
    await expect(find(test, [...FILLERS, 'y'])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    expect(test.data().length).toBeLessThan(8);
  });

  it('is thrown when every answer is a page instead of JSON', async () => {
    await using test = await testHub((_, response) => sendJson(response, '<html></html>'), {
      retry: { maxAttempts: 2 },
    });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_BODY_INVALID' });
  });

  it('is thrown when the token is refused', async () => {
    await using test = await testHub(byFilter, {
      tokenScript: (_, response) => sendJson(response, { error: 'invalid_client' }, { status: 401 }),
    });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_TOKEN_REFUSED' });
  });

  it('is thrown when the circuit is open', async () => {
    await using test = await testHub((_, response) => sendJson(response, {}, { status: 500 }), {
      retry: { maxAttempts: 2 },
      breaker: { failures: 2 },
    });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_CIRCUIT_OPEN' });
  });

  it.each(['while an id is asked for', 'during the control question'])(
    'does not replace the reason of an abort %s',
    async (when) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      await using test = await testHub((request, response) => {
        if (request.query.has('filter') !== (when === 'while an id is asked for')) {
          return byFilter(request, response);
        }
        controller.abort(reason);
      });
      await expect(find(test, ['x'], { signal: controller.signal })).rejects.toBe(reason);
    },
  );
});
