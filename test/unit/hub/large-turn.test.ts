import { afterEach, expect, it, vi } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import { LargeAnswer } from '../../../src/hub/hub-error.ts';
import { largeTurn } from '../../../src/hub/large-turn.ts';
import { Semaphore } from '../../../src/semaphore.ts';
import { plainSource } from '../../../src/source/source.ts';
import type { SourcePage } from '../../../src/source/source-scan.ts';
import { scansAhead } from '../../../src/sync/read-scans.ts';
import type { RowReader } from '../../../src/core/rows/decoded-row.ts';
import {
  answer,
  exchange,
  inTurn,
  readAll,
  testHub,
  type Script,
  type TestHub,
} from './support/scripted-hub.ts';
import { turns } from './support/turns.ts';

const USERS = collectionNamed('users');
const LARGE_TEXT = 'x'.repeat(9_000_000);
const { signal: never } = new AbortController();

/** A list of pages of one row, by the id of the last one. */
const pagesOf =
  (text: string, ...ids: string[]): Script =>
  (request, response) => {
    const rest = ids.slice(ids.indexOf(request.query.get('afterSourcedId') ?? '') + 1);
    const users = rest.slice(0, 1).map((sourcedId) => ({ sourcedId, text }));
    return answer(200, { users })(request, response);
  };
const largePages = (...ids: string[]): Script => pagesOf(LARGE_TEXT, ...ids);
const ignoresFilter = answer(200, { users: [{ sourcedId: 'a', text: LARGE_TEXT }] });

/** Only its kind matters here. */
const reader: Pick<RowReader, 'read'> = {
  read: () => ({ kind: 'row', sourcedId: 'a', value: {}, hash: Buffer.alloc(16), modifiedAtMs: null }),
};

const readingOf = ({ hub }: TestHub) => plainSource(hub, USERS, reader as RowReader).begin();

/** The scan of a sync, whose reader is done with a page when it asks for the next one. */
async function* scanOf(test: TestHub, signal = never): AsyncGenerator<SourcePage, void> {
  const { open } = await readingOf(test);
  yield* open('', { modifiedAfterMs: undefined, readVersion: () => 0, signal });
}

async function readOn(pages: AsyncGenerator<SourcePage, void>): Promise<void> {
  while ((await pages.next()).done !== true);
}

/** Fails by a time-out if somebody still has the turn. */
afterEach(async () => {
  await using other = await testHub(largePages('a'));
  await readOn(scanOf(other));
});

it('a large page of another tenant waits for the reader of the first, and small pages do not wait', async () => {
  await using one = await testHub(largePages('a'));
  await using other = await testHub(largePages('b'));
  const [first, second] = [scanOf(one), scanOf(other)];
  await first.next();
  let hasOther = false;
  const waiting = second.next().then(() => (hasOther = true));
  await vi.waitFor(() => expect(other.data()).toHaveLength(1));
  expect((await exchange([pagesOf('', 'a')])).ids).toEqual(['a']);
  await turns(50);
  expect([hasOther, other.data().length]).toEqual([false, 1]);
  await Promise.all([readOn(first), waiting.then(() => readOn(second))]);
  // The request that waits for its turn has no place at the hub.
  expect(other.data().map(({ query }) => query.get('afterSourcedId'))).toEqual([null, null, 'b']);
});

it('a large page whose reader takes long lets one other tenant have a turn after half a minute', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const begin = (ofHub: Semaphore) => {
      const turn = largeTurn(ofHub, never);
      const request = async (mayBeLarge: boolean) => {
        if (!mayBeLarge) throw new LargeAnswer('users');
        return { bytes: LARGE_TEXT.length };
      };
      const taken = { isOver: false, turn };
      void turn.take(request).then(() => (taken.isOver = true));
      return taken;
    };
    const slow = new Semaphore(1);
    const [first, next] = [begin(slow), begin(slow)];
    const others = [1, 2].map(() => begin(new Semaphore(1)));
    const taken = () => [first, next, ...others].map(({ isOver }) => isOver);
    await vi.advanceTimersByTimeAsync(29_999);
    expect(taken()).toEqual([true, false, false, false]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(taken()).toEqual([true, false, true, false]);
    for (const { turn } of [first, ...others, next]) {
      turn.end();
      await turns(50);
    }
    expect(taken()).toEqual([true, true, true, true]);
  } finally {
    vi.useRealTimers();
  }
});

it('a large page is requested only when the reader of the scan is done with the previous one', async () => {
  await using test = await testHub(largePages('a', 'b', 'c'));
  const seen: number[] = [];
  for await (const page of scanOf(test)) {
    if (page.isLarge !== true) continue;
    await turns(50);
    seen.push(test.data().length);
  }
  // The first one is cut off and asked for again; the others wait before they are asked for.
  expect(seen).toEqual([2, 3, 4]);
});

it('a second large page for a reader that still has a large page is refused without a repetition', async () => {
  await using test = await testHub(largePages('a', 'b'), { maxConcurrentRequests: 1 });
  const pages = scanOf(test);
  await pages.next();
  const asked = test.data().length;
  // The answers are too large for a question, so they show no row; nobody waits for them.
  const asking = { collection: USERS, ids: ['a', 'z'], readVersion: () => 0, signal: never };
  await expect(test.hub.findRows(asking)).resolves.toEqual([]);
  const refused = { code: 'HUB_RESPONSE_TOO_LARGE', retryable: false };
  await expect(readAll(test.hub, 'users', { refuseLarge: true })).rejects.toMatchObject(refused);
  expect([test.sleeps, test.data().length - asked]).toEqual([[], 3]);
  expect(test.events.filter(({ type }) => type === 'request-failed')).toHaveLength(3);
  await readOn(pages);
});

it('a large page of a scan that is opened ahead is asked for when its turn comes', async () => {
  await using test = await testHub(largePages('a'));
  const options = { modifiedAfterMs: undefined, readVersion: () => 0, signal: never };
  const scans = { ahead: 2, optionsOf: () => options };
  let rows = 0;
  for await (const { pages } of scansAhead(await readingOf(test), new Set('abc'), scans))
    for await (const page of pages) rows += page.rows.length;
  expect(rows).toBe(3);
});

it('a large page ends its turn when its reader fails', async () => {
  await using test = await testHub(largePages('a', 'b'));
  const failing = (async () => {
    for await (const _ of scanOf(test)) throw new Error('the writer failed');
  })();
  await expect(failing).rejects.toThrow('the writer failed');
});

it('an abort ends the turn of a large page, and the wait of the large page that comes next', async () => {
  await using one = await testHub(largePages('a', 'b'));
  await using other = await testHub(largePages('a'));
  const stop = new AbortController();
  const first = scanOf(one, stop.signal);
  await first.next();
  const waiting = scanOf(other, stop.signal).next();
  await vi.waitFor(() => expect(other.data()).toHaveLength(1));
  stop.abort(new Error('stopping'));
  await expect(waiting).rejects.toThrow('stopping');
  await expect(readOn(first)).rejects.toThrow('stopping');
});

it.each<[string, Script, object]>([
  ['cannot be parsed', answer(200, `{"users":["${LARGE_TEXT}`), { error: { code: 'HUB_BODY_INVALID' } }],
  ['fails when asked for again', inTurn(ignoresFilter, answer(404)), { error: { code: 'HUB_NOT_OFFERED' } }],
  ['repeats the page before', ignoresFilter, { end: { reason: 'repeated-page' } }],
])('a large page ends its turn when it %s', async (_, script, outcome) => {
  expect(await exchange([script], { retry: { maxAttempts: 2 } })).toMatchObject(outcome);
});

it.each([
  ['small', 'å', 'utf8', true],
  ['large', LARGE_TEXT, 'utf8', false],
  ['not UTF-8', 'å', 'latin1', false],
] as const)('only small pages in UTF-8 are remembered: %s', async (_, text, encoding, isRemembered) => {
  const pages = { at: () => null, recognise: () => null };
  const first = Buffer.from(JSON.stringify({ users: [{ sourcedId: 'a', text }] }), encoding);
  const script: Script = ({ query }, response) =>
    void response.end(query.has('afterSourcedId') ? '{"users":[]}' : first);
  const seen = await exchange([script], { reads: [{ options: { pages } }] });
  expect([seen.ids, seen.pages?.[0]?.fingerprint !== undefined]).toEqual([['a'], isRemembered]);
});
