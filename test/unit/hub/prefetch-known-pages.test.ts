import * as fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { PageMemory } from '../../../src/core/pages/page-memory.ts';
import type { HubSettings } from '../../../src/hub/hub.ts';
import { WAITING_ANSWERS } from '../../../src/hub/prefetch-known-pages.ts';
import { collectionNamed } from '../../../src/model/collections.ts';
import type { HubPage } from '../../../src/hub/hub.ts';
import { sendJson, testHub } from './support/scripted-hub.ts';
import { turns } from './support/turns.ts';

const PAGE_ROWS = 3;
const PAGES = 8;

/** A hub of eight pages, whose answers the test may hold back or spoil, and scans that remember its pages. */
async function school(settings: Partial<HubSettings> = {}) {
  const ids = Array.from({ length: PAGES * PAGE_ROWS }, (_, at) => `id-${String(at).padStart(2, '0')}`);
  const names = new Map<string, string>();
  const held = new Set<() => void>();
  const state = {
    cancelled: 0,
    holds: false,
    onWay: 0,
    mostOnWay: 0,
    version: 0,
    /** How the hub pages: a link that repeats the limit, none, or as many rows as it likes. */
    style: 'links' as 'links' | 'no links' | 'ignores limit' | 'clamps limit',
    refuses: (_cursor: string) => false,
    stamp: '2026-01-01T00:00:00.000Z',
    ignoresCursor: false,
    leastLimit: 1,
  };
  const test = await testHub(
    async (request, response) => {
      const after = state.ignoresCursor ? '' : (request.query.get('afterSourcedId') ?? '');
      state.onWay += 1;
      response.once('close', () => (state.cancelled += Number(!response.writableFinished)));
      state.mostOnWay = Math.max(state.mostOnWay, state.onWay);
      if (state.holds) {
        await new Promise<void>((resolve) => {
          held.add(resolve);
          // A cancelled request may arrive late, and is held by nobody.
          response.once('close', () => held.delete(resolve) && resolve());
        });
      }
      state.onWay -= 1;
      const limit = Number(request.query.get('limit'));
      if (limit < state.leastLimit) return sendJson(response, {}, { status: 400 });
      if (state.refuses(after)) return sendJson(response, {}, { status: 503 });
      const rest = ids.filter((id) => id > after);
      const mosts = { 'ignores limit': PAGE_ROWS, 'clamps limit': Math.min(limit, PAGE_ROWS) };
      const most = { links: limit, 'no links': limit, ...mosts }[state.style];
      const users = rest.slice(0, most).map((sourcedId) => ({
        sourcedId,
        name: names.get(sourcedId) ?? 'n',
        dateLastModified: state.stamp,
      }));
      const next = `<${request.path}?limit=${limit}&afterSourcedId=${users.at(-1)?.sourcedId}>; rel="next"`;
      const links = ['<x>; rel="first"', ...(rest.length > most ? [next] : [])].join(', ');
      const link: { link?: string } = state.style === 'no links' ? {} : { link: links };
      return sendJson(response, { users }, { headers: { ...link, 'x-total-count': String(ids.length) } });
    },
    { maxConcurrentRequests: 4, pageSize: PAGE_ROWS, ...settings },
  );
  const pages = new PageMemory(1);
  const open = () =>
    test.hub.readPages({
      collection: collectionNamed('users'),
      readVersion: () => state.version,
      signal: new AbortController().signal,
      pages,
    });
  /** Reads everything; `onPage` is called for each page. Returns the pages and how many requests they took. */
  const scan = async (onPage: (page: HubPage, at: number) => void = () => undefined) => {
    const before = test.data().length;
    const found: HubPage[] = [];
    const read = open();
    let step = await read.next();
    for (; step.done !== true; step = await read.next()) {
      onPage(step.value, found.length);
      found.push(step.value);
      const fingerprint = step.value.fingerprint?.() ?? null;
      if (fingerprint !== null) pages.remember(fingerprint);
    }
    const rows = found.flatMap((page) => page.rows as { sourcedId: string; name: string }[]);
    return {
      found,
      ids: rows.map(({ sourcedId }) => sourcedId),
      names: rows.map(({ name }) => name),
      versions: found.map(({ readVersion }) => readVersion),
      end: step.value,
      requests: test.data().length - before,
    };
  };
  return {
    ids,
    names,
    state,
    open,
    scan,
    /** A scan whose answers the hub holds back, once four requests are under way. */
    async heldScan(onPage?: Parameters<typeof scan>[0]) {
      state.holds = true;
      const scanned = scan(onPage);
      await vi.waitFor(() => expect(held.size).toBe(4));
      return { scanned };
    },
    answerOne: (): void => {
      const [release] = held;
      if (release === undefined) return;
      held.delete(release);
      release();
    },
    /** Answers all, and what follows at once. */
    release: (): void => {
      state.holds = false;
      for (const release of held) release();
      held.clear();
    },
    data: () => test.data(),
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
}

const allBut = (...unknown: number[]): boolean[] =>
  Array.from({ length: PAGES }, (_, at) => !unknown.includes(at));

/** Whether each page with rows was recognised. */
function knownOf(pages: readonly HubPage[]): boolean[] {
  return pages.filter(({ rows }) => rows.length > 0).map(({ known }) => known !== undefined);
}

type School = Awaited<ReturnType<typeof school>>;

it('a scan of known pages requests as many at a time as its limits allow, and no page twice', async () => {
  await using test = await school();
  const freeBytes = WAITING_ANSWERS.left;
  expect(await test.scan()).toMatchObject({ ids: test.ids, requests: PAGES });
  expect(test.state.mostOnWay).toBe(1);
  const first = Promise.withResolvers<void>();
  const { scanned } = await test.heldScan(() => first.resolve());
  const takenBytes = freeBytes - WAITING_ANSWERS.left;
  WAITING_ANSWERS.left = -1_000_000;
  test.answerOne();
  await first.promise;
  await turns(50);
  expect(test.data()).toHaveLength(PAGES + 4);
  test.release();
  expect(await scanned).toMatchObject({ ids: test.ids, requests: PAGES });
  expect([test.state.mostOnWay, WAITING_ANSWERS.left]).toEqual([4, takenBytes - 1_000_000]);
  WAITING_ANSWERS.left = freeBytes;
  expect(takenBytes).toBeGreaterThan(0);
});

const insert = ({ ids }: School) => void ids.splice(7, 0, 'id-06b');
it.each<[string, (test: School) => void, boolean[], number]>([
  ['nothing but re-stamps', ({ state }) => void (state.stamp = '2026-02-02T00:00:00Z'), allBut(), PAGES],
  ['a row', ({ names }) => void names.set('id-04', 'other'), allBut(1), PAGES],
  ['a missing row', ({ ids }) => void ids.splice(7, 1), allBut(2, 3), PAGES + 1],
  // The rest of the page of the new row follows alone.
  ['a new row', insert, [true, true, false, false, ...allBut(0, 1, 2).slice(3)], PAGES + 2],
])('a scan of known pages reads only changed pages anew: with %s', async (_, change, known, requests) => {
  for (const style of ['links', 'no links'] as const) {
    await using test = await school();
    test.state.style = style;
    const first = await test.scan();
    expect(knownOf(first.found)).toEqual(Array(PAGES).fill(false));
    change(test);
    const { found, end, ...second } = await test.scan();
    const total = test.ids.length;
    expect(end).toMatchObject({ rows: total, paging: 'keyset', totalAtStart: total, totalAtEnd: total });
    expect([second.ids, knownOf(found)]).toEqual([test.ids, known]);
    // Without links an empty page shows the end.
    expect(second.requests).toBeLessThanOrEqual(requests + Number(style === 'no links'));
    expect(knownOf((await test.scan()).found)).not.toContain(false);
  }
});

it('a scan of known pages brings all rows, but no total, if hub.totals is ignored', async () => {
  await using test = await school({ totals: 'ignored' });
  const whole = { ids: test.ids, end: { rows: test.ids.length, totalAtStart: null, totalAtEnd: null } };
  expect([await test.scan(), await test.scan()]).toMatchObject([whole, whole]);
});

it('a scan of known pages notices a hub that no longer pages by cursor', async () => {
  await using test = await school();
  await test.scan();
  test.state.ignoresCursor = true;
  await expect(test.scan()).rejects.toMatchObject({ code: 'HUB_PAGING_BROKEN' });
});

it('a scan of known pages joins short pages, so that insertions do not make ever shorter pages', async () => {
  await using test = await school();
  await test.scan();
  for (const id of ['id-01b', 'id-01a', 'id-01A', 'id-00b', 'id-00a']) {
    test.ids.push(id);
    test.ids.sort();
    expect(await test.scan()).toMatchObject({ ids: test.ids });
  }
  expect((await test.scan()).found.length).toBeLessThanOrEqual(PAGES + 3);
});

it('a scan of known pages cancels only the waiting request for a page that now begins elsewhere', async () => {
  await using test = await school();
  await test.scan();
  test.ids.splice(1, 1);
  const { scanned } = await test.heldScan();
  test.answerOne();
  await vi.waitFor(() => expect(test.state.cancelled).toBe(1));
  test.release();
  expect(await scanned).toMatchObject({ ids: test.ids, requests: PAGES + 1 });
  expect(test.state.cancelled).toBe(1);
});

it('a scan of known pages keeps its mode if the hub refuses the limit for the rest of a page', async () => {
  await using test = await school();
  await test.scan();
  insert(test);
  test.state.leastLimit = 2;
  expect(await test.scan()).toMatchObject({ ids: test.ids });
  expect(test.data().filter(({ query }) => query.get('limit') !== '3')).toHaveLength(1);
  expect(test.data().some(({ query }) => query.has('offset') || query.has('filter'))).toBe(false);
});

it('a scan of known pages repeats a failed request in its turn, and requests later pages one by one', async () => {
  await using test = await school();
  await test.scan();
  let refusals = 1;
  test.state.refuses = (after) => after === 'id-08' && refusals-- > 0;
  let atOnceLater = 0;
  const { scanned } = await test.heldScan((_page, at) => {
    if (at === 4) test.state.mostOnWay = 0;
    atOnceLater = test.state.mostOnWay;
  });
  test.release();
  expect(await scanned).toMatchObject({ ids: test.ids, requests: PAGES + 1 });
  expect(atOnceLater).toBe(1);
});

it('a scan of known pages that is abandoned cancels its requests, and frees their places', async () => {
  await using test = await school();
  await test.scan();
  const abandoned = test.open();
  test.state.holds = true;
  const first = abandoned.next();
  await vi.waitFor(() => expect(test.state.onWay).toBe(4));
  test.answerOne();
  await first;
  await abandoned.return(undefined as never);
  test.release();
  await vi.waitFor(() => expect(test.state.onWay).toBe(0));
  const { scanned } = await test.heldScan();
  test.release();
  expect(await scanned).toMatchObject({ ids: test.ids });
});

const changes = fc.record({
  /** What happens to a row before a scan, and which cursors the hub refuses once meanwhile. */
  rows: fc.array(fc.tuple(fc.constantFrom('rename', 'add', 'remove'), fc.nat(PAGES * PAGE_ROWS - 1)), {
    maxLength: 3,
  }),
  refused: fc.array(fc.nat(PAGES * PAGE_ROWS - 1), { maxLength: 2 }),
  publishes: fc.boolean(),
});

const styles = fc.constantFrom('links', 'no links', 'ignores limit', 'clamps limit' as const);

it('random changes and failures leave each scan with every row once, and no version goes back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { minLength: 2, maxLength: 5 }), styles, async (scans, style) => {
      await using test = await school({ pageSize: style === 'clamps limit' ? 2 * PAGE_ROWS : PAGE_ROWS });
      test.state.style = style;
      for (const { rows, refused, publishes } of scans) {
        for (const [what, at] of rows) change(test, what, at);
        const refusals = new Set(refused.map((at) => test.ids[at] ?? ''));
        test.state.refuses = (after) => refusals.delete(after);
        const { ids, names, versions } = await test.scan(() => {
          if (publishes) test.state.version += 1;
        });
        expect(ids).toEqual(test.ids);
        expect(names).toEqual(test.ids.map((id) => test.names.get(id) ?? 'n'));
        expect(versions).toEqual(versions.toSorted((a, b) => a - b));
      }
      test.state.refuses = () => false;
      await test.scan();
      expect(knownOf((await test.scan()).found)).not.toContain(false);
    }),
    { numRuns: 40 },
  );
});

function change(test: School, what: string, at: number): void {
  const id = test.ids[at % test.ids.length] ?? '';
  if (what === 'rename') test.names.set(id, `${test.names.get(id) ?? 'n'}+`);
  else if (what === 'remove') test.ids.splice(test.ids.indexOf(id), 1);
  else if (!test.ids.includes(`${id}-b`)) test.ids.splice(test.ids.indexOf(id) + 1, 0, `${id}-b`);
}
