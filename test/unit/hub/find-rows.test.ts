import { expect, it } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import { answer, inTurn, testHub, type Script, type TestHub } from './support/scripted-hub.ts';

const MANY = Array.from({ length: 40 }, (_, number) => `k${String(number).padStart(2, '0')}`);
const EXISTING = ['a', ...MANY, "o'b", 'z'];
const twice = { retry: { maxAttempts: 2 } };

/** Makes a hub that answers what stands in the filter, as the 1EdTech filter syntax has it. */
const asked =
  (script: (id: string) => Script): Script =>
  (request, response) => {
    const [, id = ''] = /^sourcedId='((?:[^']|'')*)'$/.exec(request.query.get('filter') ?? '') ?? [];
    return script(id.replaceAll("''", "'"))(request, response);
  };
const rows = (...ids: string[]) => answer(200, { absences: ids.map((sourcedId) => ({ sourcedId })) });
const byFilter = asked((id) =>
  id === 'refused' ? answer(400) : rows(...EXISTING.filter((each) => each === id)),
);

const { signal: never } = new AbortController();
const find = ({ hub }: TestHub, ids: readonly string[], readVersion = () => 0, signal = never) =>
  hub.findRows({ collection: collectionNamed('absence-versions'), ids, readVersion, signal });
const found = (id: string, readVersion = 0) => ({ row: { sourcedId: id }, isUtf8: true, readVersion });

it('a lookup of rows by id finds the rows that the hub shows, and asks once for each possible id', async () => {
  await using test = await testHub(byFilter);
  const impossible = ['', 'a\ud800', 'ø'.repeat(1100)];
  const shown = await find(test, ['a', ...impossible, 'x', 'refused', 'z', "o'b", 'a']);
  expect(shown).toHaveLength(3);
  expect(shown).toEqual(expect.arrayContaining([found('a'), found('z'), found("o'b")]));
  expect(test.data()).toHaveLength(5);
});

it('a lookup of rows by id gives a row the read version of the request that brought the row', async () => {
  let stamps = 0;
  await using test = await testHub(inTurn(answer(503), byFilter));
  expect(await find(test, ['a'], () => (stamps += 1))).toEqual([found('a', 2)]);
});

it('a lookup of rows by id takes the first of several rows with the id', async () => {
  const row = { sourcedId: 'a', version: 2 };
  const absences = [{ sourcedId: 'A' }, row, { sourcedId: 'a' }, { sourcedId: 'ab' }];
  await using test = await testHub(answer(200, { absences }));
  expect(await find(test, ['a', 'x'])).toEqual([{ ...found('a'), row }]);
});

it.each([
  [204, ''],
  [400, {}],
  [422, {}],
  [200, {}],
])('a lookup of rows by id shows no row if the hub answers %i with %j', async (status, body) => {
  await using test = await testHub(answer(status, body));
  expect(await find(test, ['a'])).toEqual([]);
});

it('a lookup of rows by id marks a row that is not UTF-8, and finds no row whose id is not UTF-8', async () => {
  const latin1 = asked((sourcedId) => (_, response) => {
    response.end(Buffer.from(JSON.stringify({ absences: [{ sourcedId, note: 'å' }] }), 'latin1'));
  });
  await using test = await testHub(latin1);
  const row = { sourcedId: 'a', note: '\uFFFD' };
  expect(await find(test, ['a', 'ø'])).toEqual([{ row, isUtf8: false, readVersion: 0 }]);
});

it('a lookup of rows by id fails with an error of the hub, and cancels all its other requests', async () => {
  const all = Promise.withResolvers<void>();
  let open = 0;
  const fails: Script = (...exchanged) => all.promise.then(() => answer(500)(...exchanged));
  const hangs: Script = () => void ((open += 1) === 3 && all.resolve());
  await using test = await testHub(
    asked((id) => (id === 'y' ? fails : hangs)),
    twice,
  );
  await expect(find(test, ['y', ...MANY])).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  expect(test.data().length).toBeLessThan(8);
  expect(test.events).not.toContainEqual(expect.objectContaining({ code: 'HUB_TIMEOUT' }));
});

it.each([
  ['HUB_REQUEST_REFUSED', 302, {}],
  ['HUB_UNAVAILABLE', 500, {}],
  ['HUB_CIRCUIT_OPEN', 500, { breaker: { failures: 2 } }],
  ['HUB_TOKEN_REFUSED', 200, { tokenScript: answer(401, { error: 'invalid_client' }) }],
])('a lookup of rows by id fails with %s, so that the caller may wait', async (code, status, options) => {
  await using test = await testHub(answer(status, '<html></html>'), { ...twice, ...options });
  await find(test, ['a']).catch(() => null);
  await expect(find(test, ['a'])).rejects.toMatchObject({ code });
});

it('a lookup of rows by id that is aborted fails with the reason of the abort', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  await using test = await testHub(() => controller.abort(reason));
  await expect(find(test, ['x'], () => 0, controller.signal)).rejects.toBe(reason);
});
