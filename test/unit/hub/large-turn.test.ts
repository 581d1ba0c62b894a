import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { collectionNamed } from '../../../src/model/collections.ts';
import type { HubError } from '../../../src/hub/hub-error.ts';
import { plainSource } from '../../../src/source/source.ts';
import {
  scansAhead,
  type SourceEnd,
  type SourcePage,
  type SourceScan,
} from '../../../src/source/source-scan.ts';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import {
  answer,
  inTurn,
  readAll,
  sendJson,
  testHub,
  type Script,
  type TestHub,
} from './support/scripted-hub.ts';

const USERS = collectionNamed('users');
const LARGE_TEXT = 'x'.repeat(9_000_000);
const { signal: never } = new AbortController();

/** A list of large pages, by id of its last row. */
const largePages =
  (...ids: string[]): Script =>
  ({ query }, response) => {
    const rest = ids.slice(ids.indexOf(query.get('afterSourcedId') ?? '') + 1);
    sendJson(response, { users: rest.slice(0, 1).map((sourcedId) => ({ sourcedId, text: LARGE_TEXT })) });
  };
const ignoresFilter = answer(200, { users: [{ sourcedId: 'a', text: LARGE_TEXT }] });

/** Only its kind matters here. */
const reader: Pick<RowReader, 'read'> = {
  read: () => ({ kind: 'row', sourcedId: 'a', value: {}, hash: Buffer.alloc(16), modifiedAtMs: null }),
};

async function scansOf(hub: TestHub['hub']): Promise<readonly SourceScan[]> {
  const { scopes, scans } = await plainSource(hub, USERS, reader as RowReader).begin();
  return scans(scopes);
}

async function pagesOf(
  { hub }: TestHub,
  signal: AbortSignal = never,
): Promise<AsyncGenerator<SourcePage, SourceEnd>> {
  const [scan] = await scansOf(hub);
  if (scan === undefined) throw new Error('no scan');
  return scan.open({ modifiedAfterMs: undefined, readVersion: () => 0, signal });
}

/** Waits for the first page, and returns what lets the reader go on to the end. */
async function firstPage(test: TestHub, signal?: AbortSignal): Promise<() => Promise<void>> {
  const iterator = (await pagesOf(test, signal))[Symbol.asyncIterator]();
  expect((await iterator.next()).done).toBe(false);
  return async () => {
    while ((await iterator.next()).done !== true);
  };
}

/** Fails by a time-out if somebody still has the turn. */
async function turnIsFree(): Promise<void> {
  await using other = await testHub(largePages('a'));
  const end = await firstPage(other);
  await end();
}

describe('a large page', () => {
  it('of another tenant waits until the reader is done with the first one, and small ones do not wait', async () => {
    await using one = await testHub(largePages('a'));
    await using other = await testHub(largePages('b'));
    await using third = await testHub(({ query }, response) =>
      sendJson(response, { users: query.has('afterSourcedId') ? [] : [{ sourcedId: 'a' }] }),
    );
    const endOne = await firstPage(one);
    let hasOther = false;
    const waiting = firstPage(other).then((end) => {
      hasOther = true;
      return end;
    });
    await vi.waitFor(() => expect(other.data()).toHaveLength(1));
    expect((await readAll(third.hub, 'users')).ids).toEqual(['a']);
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    expect([hasOther, other.data().length]).toEqual([false, 1]);
    const ended = endOne();
    const endOther = await waiting;
    await Promise.all([ended, endOther()]);
    // The request that waits for its turn has no place at the hub.
    expect(other.data().map(({ query }) => query.get('afterSourcedId'))).toEqual([null, null, 'b']);
  });

  it('after another one of the same scan waits until the reader is done with that', async () => {
    await using test = await testHub(largePages('a', 'b', 'c'));
    const seen: number[] = [];
    for await (const page of await pagesOf(test)) {
      if (page.isLarge !== true) continue;
      for (let turn = 0; turn < 50; turn += 1) await nextTurn();
      seen.push(test.data().length);
    }
    // The first one is cut off and asked for again; the others wait before they are asked for.
    expect(seen).toEqual([2, 3, 4]);
    await turnIsFree();
  });

  it('lets its reader ask about single rows at a hub that allows one request at a time', async () => {
    await using test = await testHub(largePages('a', 'b'), { maxConcurrentRequests: 1 });
    const end = await firstPage(test);
    const asking = { collection: USERS, ids: ['a', 'z'], readVersion: () => 0, signal: never };
    // The answers are too large for a question, so they show no row; nobody waits for them.
    await expect(test.hub.findRows(asking)).resolves.toEqual([]);
    await expect(readAll(test.hub, 'users', { refuseLarge: true })).rejects.toMatchObject({
      code: 'HUB_RESPONSE_TOO_LARGE',
      retryable: false,
    });
    expect(test.sleeps).toEqual([]);
    await end();
  });

  it('of a scan that is opened ahead is asked for when its turn comes', async () => {
    await using test = await testHub(largePages('a'));
    const scans = await Promise.all([1, 2, 3].map(() => scansOf(test.hub)));
    const open = { modifiedAfterMs: undefined, readVersion: () => 0, signal: never };
    let rows = 0;
    for await (const { pages } of scansAhead(scans.flat(), { ahead: 2, open }))
      for await (const page of pages) rows += page.rows.length;
    expect(rows).toBe(3);
    await turnIsFree();
  });

  it('ends its turn when its reader fails', async () => {
    await using test = await testHub(largePages('a', 'b'));
    const failing = (async () => {
      for await (const _ of await pagesOf(test)) throw new Error('the writer failed');
    })();
    await expect(failing).rejects.toThrow('the writer failed');
    await turnIsFree();
  });

  it('ends its turn when it is aborted while the next one waits, as does the one that waits', async () => {
    await using one = await testHub(largePages('a', 'b'));
    await using other = await testHub(largePages('a'));
    const stop = new AbortController();
    const end = await firstPage(one, stop.signal);
    const waiting = firstPage(other, stop.signal);
    await vi.waitFor(() => expect(other.data()).toHaveLength(1));
    stop.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
    await expect(end()).rejects.toThrow('stopping');
    await turnIsFree();
  });

  it.each([
    ['cannot be parsed', answer(200, `{"users":["${LARGE_TEXT}`), 'HUB_BODY_INVALID'],
    ['fails at its second request', inTurn(ignoresFilter, answer(404)), 'HUB_NOT_OFFERED'],
    ['repeats the page before', ignoresFilter, 'repeated-page'],
  ] as const)('ends its turn when it %s', async (_, script, end) => {
    await using test = await testHub(script, { retry: { maxAttempts: 2 } });
    const ended = readAll(test.hub, 'users').then(
      (walk) => walk.end.reason,
      (error: unknown) => (error as HubError).code,
    );
    expect(await ended).toBe(end);
    await turnIsFree();
  });

  it('is not remembered, so that it is never requested in advance', async () => {
    const pages = { at: () => null, recognise: () => null };
    await using large = await testHub(largePages('a'));
    await using small = await testHub(({ query }, response) =>
      sendJson(response, { users: query.has('afterSourcedId') ? [] : [{ sourcedId: 'a' }] }),
    );
    const [first] = (await readAll(small.hub, 'users', { pages })).pages;
    expect(first?.print).toBeDefined();
    const [largeOne] = (await readAll(large.hub, 'users', { pages })).pages;
    expect(largeOne?.print).toBeUndefined();
  });
});
