import { expect, it } from 'vitest';
import {
  answer,
  inTurn,
  PAGE,
  readAll,
  serve,
  testHub,
  type Script,
  type TestHub,
} from './support/scripted-hub.ts';

const signal = new AbortController().signal;
const PATH = '/tenant/api/core/schedules';

const ask = (test: TestHub) =>
  test.hub.readSchedule({ student: 's 1&x', from: '2026-11-12', to: '2026-12-05', signal });
const lesson = (id: number) => ({ id: `l${id}` });

it('the lessons of a student are requested with the parameters of the specification', async () => {
  await using test = await testHub(answer(200, [lesson(1)]));
  expect((await ask(test)).lessons).toEqual([lesson(1)]);
  expect(test.data()).toMatchObject([{ path: PATH, authorization: 'Bearer token-1' }]);
  expect(test.data()[0]?.url.search).toBe('?student=s%201%26x&from=2026-11-12&to=2026-12-05');
});

it('a student has no lessons if the Core API answers 204', async () => {
  await using test = await testHub(answer(204));
  expect((await ask(test)).lessons).toEqual([]);
});

it.each([{ items: [] }, '{}'])('lessons in a body of another shape are an error: %j', async (body) => {
  await using test = await testHub(answer(200, body));
  await expect(ask(test)).rejects.toMatchObject({ code: 'HUB_LESSONS_UNREADABLE' });
  expect(test.data()).toHaveLength(1);
});

it.each([
  ['`@odata.nextLink`', (next: string) => answer(200, { value: [lesson(0)], '@odata.nextLink': next })],
  ['a Link header', (next: string) => answer(200, [lesson(0)], { link: `<${next}>; rel="next"` })],
])('lessons of a student are read from all pages, and the token stays with the hub: %s', async (_, first) => {
  await using other = await serve(answer(200, [lesson(9)]));
  const script = inTurn(first(`${other.origin}/?$skip=1`), answer(200, [lesson(1)]));
  await using test = await testHub(script);
  expect((await ask(test)).lessons).toEqual([lesson(0), lesson(1)]);
  expect(other.asked).toEqual([]);
  expect(test.data()[1]).toMatchObject({ path: PATH, url: { search: '?$skip=1' } });
});

it.each([
  ['the same page', '?student=s'],
  ['elsewhere, without a query', 'https://elsewhere.example/next'],
])('the lessons of a student are never read in part if a link leads to %s', async (_, next) => {
  await using test = await testHub(answer(200, { value: [lesson(1)], '@odata.nextLink': next }));
  await expect(ask(test)).rejects.toMatchObject({ code: 'HUB_PAGING_BROKEN' });
  expect(test.data().length).toBeLessThan(4);
});

it('reading the lessons of a student fails after 500 pages', async () => {
  let page = 0;
  await using test = await testHub((...asked) => {
    page += 1;
    return answer(200, { value: [], '@odata.nextLink': `?page=${page}` })(...asked);
  });
  await expect(ask(test)).rejects.toThrow(/more than 500 pages/);
  expect(page).toBe(500);
});

it('no error about lessons contains the id of the student', async () => {
  await using test = await testHub(answer(400));
  const error: unknown = await ask(test).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'HUB_REQUEST_REFUSED', status: 400 });
  expect(JSON.stringify([String(error), test.events])).not.toContain('s 1');
});

it('a failing Core API has a circuit of its own, which opens after ten students without an answer', async () => {
  const script: Script = (...asked) => (asked[0].path === PATH ? answer(500) : PAGE)(...asked);
  await using test = await testHub(script);
  const opened = () => test.events.filter(({ type }) => type === 'circuit-opened');
  for (let times = 0; times < 9; times += 1) await ask(test).catch(() => undefined);
  expect(opened()).toEqual([]);
  await ask(test).catch(() => undefined);
  await expect(ask(test)).rejects.toMatchObject({ code: 'HUB_CIRCUIT_OPEN' });
  expect(test.data()).toHaveLength(20);
  expect(opened()).toMatchObject([{ api: 'core' }]);
  expect((await readAll(test.hub, 'users')).ids).toEqual(['a']);
});
