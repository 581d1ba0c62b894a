import { describe, expect, it } from 'vitest';
import type { FoundRows } from '../../../src/hub/hub.ts';
import { collectionNamed, type CollectionName } from '../../../src/model/collections.ts';
import { sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

/** More than the client lists for its control question. */
const FILLERS = Array.from({ length: 40 }, (_, number) => `k${String(number).padStart(2, '0')}`);
const EXISTING = ['a', ...FILLERS, "o'b", 'z'];

const rowsOf = (ids: readonly string[]) => ({ absences: ids.map((sourcedId) => ({ sourcedId })) });

interface Asked {
  /** Null: the rows are listed, not asked for by filter. */
  readonly id: string | null;
  readonly limit: number;
}

/** A hub that answers by a function from what is asked for to ids. */
const answering =
  (ids: (asked: Asked) => readonly string[]): Script =>
  ({ query }, response) => {
    const id = /^sourcedId='(.*)'$/.exec(query.get('filter') ?? '')?.[1] ?? null;
    sendJson(response, rowsOf(ids({ id, limit: Number(query.get('limit')) })));
  };

const listedFirst = (limit: number) => EXISTING.slice(0, limit);

/** The 1EdTech filter syntax. */
const byFilter = answering(({ id, limit }) =>
  id === null ? listedFirst(limit) : EXISTING.filter((existing) => existing === id.replaceAll("''", "'")),
);

/** Only the filter is met by the script; rows are listed as they should. */
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
  const { rows, gone } = await test.hub.findRows({
    collection: collectionNamed(name),
    ids,
    readVersion,
    signal,
  });
  const found = rows.map(({ row }) => (row as { sourcedId: string }).sourcedId).sort();
  return { rows, gone: [...gone].sort(), found };
}

const many = Array.from({ length: 30 }, (_, number) => `x${number}`);

describe('rows by id', () => {
  it('a row that is there comes, one that is not is gone', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['a', 'x', 'z', 'y', 'a'])).toMatchObject({
      found: ['a', 'z'],
      gone: ['x', 'y'],
    });
    const filters = test.data().flatMap(({ query }) => query.get('filter') ?? []);
    expect(filters.filter((filter) => filter === "sourcedId='a'")).toHaveLength(1);
  });

  it('rows that are all there cost no control question', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['a', 'z'])).toMatchObject({ found: ['a', 'z'], gone: [] });
    expect(test.data()).toHaveLength(2);
  });

  it('asks nothing for no ids', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, [])).toMatchObject({ rows: [], gone: [] });
    expect(test.data()).toEqual([]);
  });

  it('a row bears the stamp of the request that brought it, also after a repetition', async () => {
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

  it('a row among others does not stand for another id', async () => {
    await using test = await testHub(
      answering(({ id, limit }) => (id === 'a' ? ['A', 'a', 'ab'] : id === 'x' ? ['X'] : listedFirst(limit))),
    );
    expect(await find(test, ['a', 'x'])).toMatchObject({ found: ['a'], gone: [] });
  });

  it('of a row that comes twice the last one counts, as on a page', async () => {
    await using test = await testHub((_, response) =>
      sendJson(response, { absences: [1, 2].map((version) => ({ sourcedId: 'a', version })) }),
    );
    const { rows } = await find(test, ['a']);
    expect(rows.map(({ row }) => row)).toEqual([{ sourcedId: 'a', version: 2 }]);
  });

  it('asks for as many at a time as it may, and never for more', async () => {
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
    '%s, which need a parent, are not asked for',
    async (name) => {
      await using test = await testHub(byFilter);
      expect(await find(test, ['a'], { name })).toMatchObject({ rows: [], gone: [] });
      expect(test.data()).toEqual([]);
    },
  );
});

describe('rows that nothing can be told of', () => {
  it('a filter that is ignored makes no row gone, and is not tried for every id', async () => {
    await using test = await testHub(answering(({ limit }) => listedFirst(limit)));
    expect(await find(test, many)).toMatchObject({ rows: [], gone: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('a filter that is ignored is noticed where all rows fit into one answer', async () => {
    await using test = await testHub(answering(() => ['a', 'b', 'c']));
    expect(await find(test, [...many, 'a'])).toMatchObject({ found: ['a'], gone: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('a filter that is refused makes no row gone, and is not tried for every id', async () => {
    await using test = await testHub(onFilter((_, response) => sendJson(response, {}, { status: 400 })));
    expect(await find(test, many)).toMatchObject({ rows: [], gone: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('a filter that is answered without JSON makes no row gone where the rows are listed', async () => {
    await using test = await testHub(
      onFilter((_, response) => sendJson(response, '<html></html>')),
      { retry: { maxAttempts: 2 } },
    );
    expect(await find(test, many)).toMatchObject({ rows: [], gone: [] });
    expect(test.data().length).toBeLessThan(30);
  });

  it('an answer without a list makes no row gone', async () => {
    await using test = await testHub((_, response) => sendJson(response, {}));
    expect(await find(test, many)).toMatchObject({ rows: [], gone: [] });
    expect(test.data().length).toBeLessThan(15);
  });

  it('a hub that finds nothing by sourcedId makes no row gone', async () => {
    await using test = await testHub(answering(({ id, limit }) => (id === null ? listedFirst(limit) : [])));
    expect(await find(test, ['x'])).toMatchObject({ rows: [], gone: [] });
  });

  it('a hub that filters only the rows it would have listed makes no row gone', async () => {
    await using test = await testHub(
      answering(({ id, limit }) => listedFirst(limit).filter((shown) => id === null || shown === id)),
    );
    expect(await find(test, ['a', 'z'])).toMatchObject({ found: ['a'], gone: [] });
  });

  it('a hub that lists no row at all makes none gone', async () => {
    await using test = await testHub((_, response) => sendJson(response, rowsOf([])));
    expect(await find(test, ['x'])).toMatchObject({ rows: [], gone: [] });
  });

  it('a hub that loses its rows between two questions makes none gone', async () => {
    let asked = 0;
    await using test = await testHub((request, response) => {
      asked += 1;
      return asked === 1 ? byFilter(request, response) : sendJson(response, rowsOf([]));
    });
    expect(await find(test, ['x', 'y'])).toMatchObject({ rows: [], gone: [] });
  });

  it('one id that is refused leaves the others as they are', async () => {
    await using test = await testHub((request, response) =>
      request.query.get('filter') === "sourcedId='odd'"
        ? sendJson(response, {}, { status: 400 })
        : byFilter(request, response),
    );
    const found = await find(test, ['a', 'x', 'odd', ...FILLERS]);
    expect(found).toMatchObject({ found: ['a', ...FILLERS], gone: ['x'] });
  });

  it.each([
    ['empty', ''],
    ['with half a character', 'a\ud800'],
    ['too long for an address', 'ø'.repeat(1100)],
  ])('an id that is %s is not asked for, and leaves the others as they are', async (_, id) => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['x', id, 'a'])).toMatchObject({ found: ['a'], gone: ['x'] });
  });

  it('an id with text that was damaged on the way is never gone', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ['\uFFFDse', 'x'])).toMatchObject({ found: [], gone: ['x'] });
  });
});

describe('ids with a quote', () => {
  it('are found where the hub undoes the doubling', async () => {
    await using test = await testHub(byFilter);
    expect(await find(test, ["o'b"])).toMatchObject({ found: ["o'b"], gone: [] });
  });

  it('are found where the hub does not undo it', async () => {
    await using test = await testHub(
      answering(({ id, limit }) =>
        id === null ? listedFirst(limit) : EXISTING.filter((each) => each === id),
      ),
    );
    expect(await find(test, ["o'b"])).toMatchObject({ found: ["o'b"], gone: [] });
  });

  it('are found where the hub refuses the doubling', async () => {
    await using test = await testHub((request, response) =>
      request.query.get('filter')?.includes("''") === true
        ? sendJson(response, {}, { status: 400 })
        : byFilter(request, response),
    );
    expect(await find(test, ["o'b"])).toMatchObject({ found: ["o'b"], gone: [] });
  });

  it('are never gone, and never another row whose quote is doubled', async () => {
    await using test = await testHub(
      answering(({ id, limit }) =>
        id === null ? listedFirst(limit) : ["o''x", 'z'].filter((each) => each === id),
      ),
    );
    expect(await find(test, ["o'x", "o'y"])).toMatchObject({ rows: [], gone: [] });
  });
});

describe('text that is no UTF-8', () => {
  const latin1: Script = ({ query }, response) => {
    const id = /^sourcedId='(.*)'$/.exec(query.get('filter') ?? '')?.[1];
    const ids = id === undefined ? ['a', 'ø'] : ['a', 'ø'].filter((each) => each === id);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      Buffer.from(JSON.stringify({ absences: ids.map((sourcedId) => ({ sourcedId, note: 'å' })) }), 'latin1'),
    );
  };

  it('is told with the row, and an id that was damaged is not gone', async () => {
    await using test = await testHub(latin1);
    const { rows, gone } = await find(test, ['a', 'ø', 'x']);
    expect(rows).toEqual([{ row: { sourcedId: 'a', note: '\uFFFD' }, isUtf8: false, readVersion: 0 }]);
    expect(gone).toEqual(['x']);
  });
});

describe('what concerns the hub as a whole', () => {
  it('a failure for one id is thrown, and breaks off what is under way for the others', async () => {
    await using test = await testHub(
      (request, response) => {
        if (request.query.get('filter') === "sourcedId='y'") sendJson(response, {}, { status: 500 });
        // The others get no answer: only a breaking off ends them.
      },
      { retry: { maxAttempts: 3 } },
    );
    await expect(find(test, [...FILLERS, 'y'])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    expect(test.data().length).toBeLessThan(8);
  });

  it('a page instead of JSON wherever one asks is thrown', async () => {
    await using test = await testHub((_, response) => sendJson(response, '<html></html>'), {
      retry: { maxAttempts: 2 },
    });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_BODY_INVALID' });
  });

  it('a token that is refused is thrown', async () => {
    await using test = await testHub(byFilter, {
      tokenScript: (_, response) => sendJson(response, { error: 'invalid_client' }, { status: 401 }),
    });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_TOKEN_REFUSED' });
  });

  it('an open circuit is thrown', async () => {
    await using test = await testHub((_, response) => sendJson(response, {}, { status: 500 }), {
      retry: { maxAttempts: 2 },
      breaker: { failures: 2 },
    });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
    await expect(find(test, ['a'])).rejects.toMatchObject({ code: 'HUB_CIRCUIT_OPEN' });
  });

  it.each(['while an id is asked for', 'during the control question'])(
    'the abort of the signal %s is thrown as it is',
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
