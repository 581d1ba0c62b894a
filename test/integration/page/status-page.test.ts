import type { Page } from 'playwright-core';
import { Registry } from 'prom-client';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { unchangedRows } from '../../../src/core/rows/compare-with-published.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { type CollectionName } from '../../../src/model/collections.ts';
import type { Board } from '../../../src/telemetry/board.ts';
import { startStatusServer } from '../../../src/telemetry/http-server.ts';
import { IS_FULL } from '../../run/rounds.ts';
import { ANSWERED, boardOf, caughtUp, loaded, onHoldIn } from '../../unit/telemetry/support/board-of.ts';
import { fiveProcesses } from '../../unit/telemetry/support/five-processes.ts';
import { launchChromium, violationsOn } from './browser.ts';
import { pageOn } from '../../../src/cli/help.ts';

// Linux has one by the npm package; another system may have none.
const browser = await launchChromium();
const servers: { close(): Promise<void> }[] = [];
const pages: Page[] = [];
const messages: string[] = [];
const requests: string[] = [];
afterEach(async () => {
  // Each asks every three seconds.
  for (const page of pages.splice(0)) await page.close();
});
afterAll(async () => {
  await browser?.close();
  for (const server of servers) await server.close();
});

async function serve(board: Board): Promise<string> {
  const server = await startStatusServer({
    host: '127.0.0.1',
    port: 0,
    board,
    metrics: new Registry(),
    help: pageOn,
  });
  servers.push(server);
  return `http://127.0.0.1:${server.port}/`;
}

async function open(
  url: string,
  { width = 1280, colorScheme = 'light' }: { width?: number; colorScheme?: 'light' | 'dark' } = {},
): Promise<Page> {
  if (browser === undefined) throw new Error('no Chromium');
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  pages.push(page);
  page.on('console', (message) => messages.push(message.text()));
  page.on('pageerror', (error) => messages.push(error.message));
  page.on('request', (request) => requests.push(request.url()));
  await page.goto(url);
  await page.waitForSelector('details');
  return page;
}

const rowsOnHold = (collection: CollectionName, rows: number) =>
  caughtUp(collection, onHoldIn(collection, rows, { nowMs: Date.now() }));

async function expectSound(page: Page, width: number): Promise<void> {
  expect(await violationsOn(page)).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
}

describe.skipIf(browser === undefined)('page', async () => {
  const COLLECTIONS = ['users', 'enrollments', 'absence-versions', 'absences', 'absence-changes'] as const;
  const { board, emit } = boardOf(Date.now(), COLLECTIONS);
  const known = (collection: CollectionName) => ({
    ...loaded(collection, Date.now()),
    mode: 'FULL' as const,
    totalAtEnd: 21_430,
  });
  emit({ type: 'owned', owner: 'rollcall-0-1-6afb2b0e' });
  for (const collection of ['users', 'enrollments', 'absence-versions'] as const) {
    const derived = collection === 'absence-versions' ? COLLECTIONS.slice(3).map(known) : [];
    emit({ ...caughtUp(collection, known(collection)), rows: 21_430, derived } as Parameters<typeof emit>[0]);
  }
  emit(ANSWERED);
  const url = await serve(board);

  it('the status page shows every collection with its rows, and says that all is well', async () => {
    const page = await open(url);
    await page.waitForSelector('tbody tr');
    expect(await page.textContent('#overall')).toBe('✓ all well');
    const cells = await page.evaluate<string[][]>(
      '[...document.querySelectorAll("tbody tr")].map((row) => [...row.children].slice(0, 4).map((cell) => cell.textContent))',
    );
    expect(cells[0]).toEqual(['users', '0', '0', 'idle']);
    expect(await page.textContent('.legend')).toContain('in Kafka: rows in the topic now');
    expect(cells.map(([name]) => name)).toEqual(COLLECTIONS.map((name, at) => (at < 3 ? name : `↳ ${name}`)));
  });

  it('the status page shows a sync, a decision and a trouble without a reload, and keeps the focus', async () => {
    const page = await open(url);
    await page.waitForSelector('.scroll');
    await page.focus('.scroll');
    const stats = newSyncStats({ syncId: 'f', mode: 'FULL', startedAtMs: Date.now() });
    Object.assign(stats, { rowsSeen: 9_800, totalAtStart: 21_430 });
    emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
    emit({ type: 'sync-page', collection: 'users', stats, tally: unchangedRows(9_800), rows: 0 });
    emit(rowsOnHold('enrollments', 312));
    board.report('hub', { why: 'no answer', remedy: 'See rollcall check.' });
    const error = new RollcallError('HUB_TIMEOUT', 'No list came', { remedy: 'Wait.' });
    const failed = { type: 'sync-failed', mode: 'INCREMENTAL', durationMs: 1, retryInMs: 1, error } as const;
    for (const _ of [1, 2]) emit({ ...failed, collection: 'enrollments' });
    await page.waitForSelector('progress');
    expect(await page.evaluate('document.activeElement.className')).toBe('scroll');
    expect(await page.textContent('#decisions')).toBe('✗ A decision is needed');
    const first = 'document.querySelector("main").firstElementChild.getAttribute("aria-labelledby")';
    expect(await page.evaluate(first)).toBe('decisions');
    expect(await page.textContent('.commands')).toContain('rollcall deletes list --tenant north');
    expect(await page.textContent('.warn-edge')).toContain('north · hub');
    expect(await page.textContent('td progress + span')).toMatch(/46 %, \d+ (?:s|min) left/);
    expect(await page.textContent('.why')).toBe('No list came (HUB_TIMEOUT)→ Wait.');
  });

  it('the status page links each decision to the help that says how to decide', async () => {
    emit(rowsOnHold('enrollments', 312));
    const page = await open(url);
    const path = await page.getAttribute('#decisions ~ ul a', 'href');
    const answer = await fetch(new URL(path ?? '', url));
    expect(await answer.text()).toMatch(/^# Decide/);
  });

  it('the status page shows on a narrow screen what is on hold, without sideways scrolling', async () => {
    emit(rowsOnHold('enrollments', 1_312));
    const page = await open(url, { width: 390 });
    await page.waitForSelector('td.bad');
    const right = 'document.querySelector("td.bad").getBoundingClientRect().right';
    expect(await page.evaluate(right)).toBeLessThan(390 - 30);
  });

  it.each([
    ['light', 1440],
    ['light', 768],
    ['dark', 768],
    ['dark', 390],
  ] as const)(
    'the status page passes axe in %s at a width of %d, and nothing is cut off',
    async (colorScheme, width) => {
      const page = await open(url, { colorScheme, width });
      await page.waitForSelector('#decisions');
      await expectSound(page, width);
    },
  );

  it('the status page shows text from outside as text, asks no other host, and keeps its own policy', async () => {
    const why = '<img src=x onerror="document.title=1"><script>alert(1)</script>';
    board.report('kafka', { why, remedy: 'none' });
    const page = await open(url);
    await page.waitForFunction('document.querySelector(".warn-edge")?.textContent.includes("<img src=x")');
    expect(await page.evaluate('document.querySelectorAll("main img, main script").length')).toBe(0);
    expect(requests.length).toBeGreaterThan(10);
    expect([requests.filter((asked) => !asked.startsWith(url)), messages]).toEqual([[], []]);
    const policy = (await fetch(url)).headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; script-src 'self';(?!.*unsafe)/);
  });

  it('the status page can be used by keyboard alone', async () => {
    const page = await open(url);
    await page.waitForSelector('.commands button');
    const reached = new Set<string>();
    for (let at = 0; at < 12; at += 1) {
      await page.keyboard.press('Tab');
      const tag = await page.evaluate<string>('document.activeElement.tagName');
      reached.add(tag);
      if (tag !== 'SUMMARY') continue;
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.querySelector("details").open')).toBe(false);
      await page.keyboard.press('Enter');
    }
    for (const control of ['BUTTON', 'SUMMARY', 'A']) expect(reached).toContain(control);
  });

  it('the status page says so when Rollcall no longer answers', async () => {
    const page = await open(url);
    await servers[0]?.close();
    await page.waitForSelector('[role=alert]');
    expect(await page.textContent('#overall')).toBe('✗ no answer');
  });
});

describe.skipIf(browser === undefined || !IS_FULL)('page', async () => {
  const world = await fiveProcesses(Date.now(), 500);
  const note = (process: number, tenant: string, event: Parameters<Board['note']>[1]): void =>
    void world.boards[process]?.board.note(tenant, event);
  note(4, 't499', rowsOnHold('users', 7));
  note(0, 't250', rowsOnHold('users', 7));
  for (const id of ['t301', 't306', 't311']) note(1, id, caughtUp('results', null));
  await world.announce();
  const url = await serve(world.board);
  const shown = (page: Page): Promise<string[]> =>
    page.evaluate('[...document.querySelectorAll("main > details")].map(({ dataset }) => dataset.key)');
  const typeInto = async (page: Page, keys: string): Promise<void> => {
    await page.focus('[name=tenant]');
    for (const key of keys) await page.keyboard.press(key);
  };

  it('the page of 500 tenants has a closed line for each, and those that need attention come first', async () => {
    const page = await open(url);
    const ids = await shown(page);
    expect([ids.length, ...ids.slice(0, 6)]).toEqual([500, 't250', 't499', 't301', 't306', 't311', 't000']);
    expect(await page.textContent('#summary')).toBe('500 tenants: 2 needing a person, 3 loading, 495 well');
    expect(await page.textContent('#meta')).toContain('100 of 500 tenants here');
    expect(await page.textContent('[data-key=t499] summary')).toMatch(
      /^t499✗ needs a decision: 7 rows are on hold in users, for \d+ \w+mirrored by pod-4-1-0000a499 for \d+ s$/,
    );
    expect(await page.evaluate('document.querySelectorAll("details[open], table").length')).toBe(0);
  });

  it('the page of 500 tenants keeps a tenant that a person opened open while other tenants move up', async () => {
    const page = await open(url);
    await page.click('[data-key=t250] summary');
    await page.waitForSelector('[data-key=t250] tbody tr');
    await page.click('[data-key=t250] summary');
    await page.click('[data-key=t499] summary');
    expect(await page.textContent('[data-key=t499] > p')).toBe(
      'To see its collections, open the page of its owner, or run "rollcall status --tenant t499".',
    );
    const commands = await page.textContent('[data-key=t499] .commands');
    expect(commands).toContain('rollcall deletes list --tenant t499');
    note(0, 't100', rowsOnHold('users', 7));
    await page.waitForSelector('main > [data-key=t100]:first-child');
    expect(await page.evaluate('document.querySelector("[data-key=t499]").open')).toBe(true);
    expect(await page.evaluate('document.querySelectorAll("details[open]").length')).toBe(1);
  });

  it('the page of 500 tenants filters by id and by need of attention, and keeps both in its address', async () => {
    const page = await open(url);
    await typeInto(page, '30');
    expect(await shown(page)).toEqual(expect.arrayContaining(['t301', 't306', 't030']));
    await page.click('[name=wrong]');
    expect(await shown(page)).toEqual(['t301', 't306']);
    expect(await page.evaluate('location.search')).toBe('?tenant=30&wrong=1');
    // Few tenants are open, with what to do on top.
    const linked = await open(`${url}?tenant=30&wrong=1`);
    await linked.waitForSelector('[data-key=t301][open] > p');
    expect(await linked.textContent('.warn-edge')).toContain('t301 · load');
    note(0, 't230', caughtUp('results', null));
    await linked.waitForSelector('[data-key=t230]');
    expect(await shown(linked)).toEqual(['t230', 't301', 't306']);
    await typeInto(linked, 'x');
    expect(await linked.textContent('main')).toContain('No tenant to show.');
  });

  it('while Redis is away, the status page shows the tenants of its process and counts the others', async () => {
    world.board.report('redis', { why: 'it does not answer', remedy: 'See its log.' });
    const page = await open(url);
    expect(await shown(page)).toHaveLength(100);
    expect(await page.textContent('#summary')).toContain('; without Redis, nothing is known of 400 more');
    world.board.report('redis', null);
    await page.waitForSelector('[data-key=t499]');
  });
});
