import { describe, expect, it } from 'vitest';
import { collectionNamed, type CollectionName } from '../../../src/model/collections.ts';
import { sendJson, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

const EXISTING = ['a', "o'b", 'c'];

function idOf(filter: string | null): string | null {
  return /^sourcedId='(.*)'$/.exec(filter ?? '')?.[1] ?? null;
}

const rowsOf = (ids: readonly string[]) => ({ users: ids.map((sourcedId) => ({ sourcedId })) });

/** Finds by filter; with `undouble` it reads doubled quotes as the 1EdTech syntax defines them. */
const byFilter =
  (undouble = true): Script =>
  ({ query }, response) => {
    const asked = idOf(query.get('filter'));
    if (asked === null) return sendJson(response, rowsOf(EXISTING.slice(0, Number(query.get('limit')))));
    const id = undouble ? asked.replaceAll("''", "'") : asked;
    return sendJson(response, rowsOf(EXISTING.filter((existing) => existing === id)));
  };

async function find(test: TestHub, name: CollectionName, ids: readonly string[], parentId?: string) {
  const signal = new AbortController().signal;
  return [
    ...(await test.hub.findExisting({ collection: collectionNamed(name), ids, parentId, signal })),
  ].sort();
}

describe('a recheck of rows', () => {
  it('finds which still exist, with one question per id', async () => {
    await using test = await testHub(byFilter());
    expect(await find(test, 'users', ['a', 'x', "o'b", 'y'])).toEqual(['a', "o'b"]);
    const filters = test.data().map(({ query }) => query.get('filter'));
    expect(filters).toContain("sourcedId='o''b'");
  });

  it('asks nothing for no ids', async () => {
    await using test = await testHub(byFilter());
    expect(await find(test, 'users', [])).toEqual([]);
    expect(test.data()).toEqual([]);
  });

  it('finds a row with a quote in its id even where the hub does not undo the doubling', async () => {
    await using test = await testHub(byFilter(false));
    expect(await find(test, 'users', ["o'b"])).toEqual(["o'b"]);
  });

  it('does not report rows as gone to a hub that ignores the filter', async () => {
    await using test = await testHub((_, response) => sendJson(response, rowsOf(EXISTING)));
    expect(await find(test, 'users', ['a'])).toEqual(['a']);
    await expect(find(test, 'users', ['a', 'x'])).rejects.toMatchObject({
      code: 'HUB_REQUEST_REFUSED',
      message: expect.stringContaining('ignores the filter') as string,
    });
  });

  it('does not report rows as gone where the hub finds none by sourcedId', async () => {
    await using test = await testHub(({ query }, response) =>
      sendJson(response, rowsOf(query.has('filter') ? [] : ['a'])),
    );
    await expect(find(test, 'users', ['x'])).rejects.toThrow(/does not find by sourcedId/);
  });

  it('does not report rows as gone where the hub filters only the rows it would have listed', async () => {
    const many = Array.from({ length: 40 }, (_, number) => `k${number + 10}`);
    await using test = await testHub(({ query }, response) => {
      const asked = idOf(query.get('filter'));
      const listed = many.slice(0, Number(query.get('limit')));
      sendJson(response, rowsOf(listed.filter((id) => asked === null || id === asked)));
    });
    await expect(find(test, 'users', ['k49'])).rejects.toThrow(/does not find by sourcedId/);
  });

  it('reports no row as gone where no listed row has an id to test the filter with', async () => {
    await using test = await testHub(({ query }, response) =>
      sendJson(response, { users: query.has('filter') ? [] : [{ sourcedId: 17 }, {}] }),
    );
    await expect(find(test, 'users', ['x'])).rejects.toThrow(/does not find by sourcedId/);
  });

  it('does not take a row of another id for the requested one', async () => {
    await using test = await testHub((_, response) => sendJson(response, rowsOf(['A'])));
    await expect(find(test, 'users', ['a'])).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
  });

  it('takes 204 for gone, and a missing list for an error', async () => {
    await using gone = await testHub((_, response) => {
      response.writeHead(204);
      response.end();
    });
    expect(await find(gone, 'users', ['x'])).toEqual([]);
    await using missing = await testHub((_, response) => sendJson(response, {}));
    await expect(find(missing, 'users', ['x'])).rejects.toThrow(/no list/);
  });

  it('reports no row as gone after a failure for one id', async () => {
    await using test = await testHub(
      (request, response) =>
        idOf(request.query.get('filter')) === 'y'
          ? sendJson(response, {}, { status: 500 })
          : byFilter()(request, response),
      { retry: { maxAttempts: 2 } },
    );
    await expect(find(test, 'users', ['a', 'x', 'y'])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  });

  it('asks for nested rows below their parent', async () => {
    await using test = await testHub(byFilter());
    expect(await find(test, 'afterschool-users', ['a'], 'sfo 1')).toEqual(['a']);
    expect(test.data()[0]?.path).toContain('/afterschools/sfo%201/users');
  });

  it('refuses a collection without a filter', async () => {
    await using test = await testHub(byFilter());
    await expect(find(test, 'class-students', ['a'], 'k')).rejects.toMatchObject({
      code: 'HUB_REQUEST_REFUSED',
    });
    expect(test.data()).toEqual([]);
  });
});

describe('a recheck of classes', () => {
  const classes: Script = (request, response) => {
    const id = decodeURIComponent(request.path.split('/classes/')[1] ?? '');
    if (id === '') return sendJson(response, { classes: [{ sourcedId: 'a' }] });
    if (EXISTING.includes(id)) return sendJson(response, { class: { sourcedId: id, status: 'tobedeleted' } });
    return sendJson(response, { imsx_codeMajor: 'failure' }, { status: 404 });
  };

  it('asks for classes/{id}: 200 exists, 404 is gone', async () => {
    await using test = await testHub(classes);
    expect(await find(test, 'classes', ['a', 'x', "o'b"])).toEqual(['a', "o'b"]);
    expect(test.data().some(({ query }) => query.has('filter'))).toBe(false);
  });

  it('does not report classes as gone where the hub has no classes/{id}', async () => {
    await using test = await testHub((request, response) => {
      if (request.path.includes('/classes/')) sendJson(response, '<h1>Cannot GET</h1>', { status: 404 });
      else return byFilter()(request, response);
    });
    expect(await find(test, 'classes', ['a', 'x'])).toEqual(['a']);
  });

  it('does not report classes as gone where every class answers 404', async () => {
    await using test = await testHub((request, response) => {
      if (request.path.includes('/classes/')) sendJson(response, {}, { status: 404 });
      else sendJson(response, { classes: [{ sourcedId: 'a' }] });
    });
    await expect(find(test, 'classes', ['x'])).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
  });

  it('does not report a class as gone by a filter that finds nothing, even if classes/{id} works', async () => {
    await using test = await testHub((request, response) =>
      request.query.has('filter') ? sendJson(response, { classes: [] }) : classes(request, response),
    );
    await expect(find(test, 'classes', ['..'])).rejects.toMatchObject({ code: 'HUB_REQUEST_REFUSED' });
  });

  it('asks by filter for an id that would lead elsewhere in a path', async () => {
    await using test = await testHub(byFilter());
    expect(await find(test, 'classes', ['..'])).toEqual([]);
    expect(test.data()[0]?.query.get('filter')).toBe("sourcedId='..'");
  });
});
