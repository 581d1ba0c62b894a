import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startStatusServer, type StatusServer } from '../../../src/telemetry/http-server.ts';
import { caughtUp, loaded } from '../../unit/telemetry/support/board-of.ts';
import { fiveProcesses } from '../../unit/telemetry/support/five-processes.ts';
import {
  chromiumPath,
  launchChromium,
  screenshot,
  violationsOn,
  type Browser,
  type Page,
} from './browser.mjs';

const EXECUTABLE = await chromiumPath();

describe.skipIf(EXECUTABLE === undefined)(
  'the page of one of five processes with 500 tenants, in Chromium',
  () => {
    let browser: Browser;
    let server: StatusServer;
    let world: Awaited<ReturnType<typeof fiveProcesses>>;
    beforeAll(async () => {
      world = await fiveProcesses(Date.now());
      withhold(4, 't499');
      withhold(0, 't250');
      for (const id of ['t301', 't306', 't311']) world.boards[1]?.board.note(id, caughtUp('results', null));
      await world.announce();
      browser = await launchChromium();
      server = await startStatusServer({
        host: '127.0.0.1',
        port: 0,
        board: world.board,
        metrics: new Registry(),
      });
    });
    afterAll(async () => {
      await browser?.close();
      await server?.close();
    });

    const pages: Page[] = [];
    // Each asks every three seconds.
    afterEach(async () => {
      for (const page of pages.splice(0)) await page.close();
    });

    /** The guard of the process holds rows of users. */
    function withhold(process: number, tenant: string): void {
      const deletions = { settledBy: 'p', day: '', removed: 0, heldSinceMs: 1, why: null, approval: null };
      const progress = { ...loaded('users', Date.now()), rowsWithheld: 7, deletions };
      world.boards[process]?.board.note(tenant, caughtUp('users', progress));
    }

    async function open(query = '', width = 1280): Promise<Page> {
      const page = await browser.newPage({ viewport: { width, height: 900 } });
      pages.push(page);
      await page.goto(`http://127.0.0.1:${server.port}/${query}`);
      await page.waitForSelector('details');
      return page;
    }
    const shown = (page: Page): Promise<string[]> =>
      page.evaluate('[...document.querySelectorAll("main > details")].map(({ dataset }) => dataset.key)');

    it('has a line for each tenant, those first that need attention, and a summary; none is open', async () => {
      const page = await open();
      const ids = await shown(page);
      expect(ids).toHaveLength(500);
      expect(ids.slice(0, 6)).toEqual(['t250', 't499', 't301', 't306', 't311', 't000']);
      expect(await page.textContent('#summary')).toBe('500 tenants: 2 needing a person, 3 loading, 495 well');
      expect(await page.textContent('#meta')).toContain('100 of 500 tenants here');
      expect(await page.textContent('[data-key=t499] summary')).toMatch(
        /^t499✗ needs a decision: 7 deletions are withheld in userspod-4-1-0000a499 · \d+ s$/,
      );
      expect(await page.evaluate('document.querySelectorAll("details[open], table").length')).toBe(0);
      await screenshot(page, 'many-tenants', false);
    });

    it('opens a tenant on demand, and keeps it open while others come before it; of another process it has no collections', async () => {
      const page = await open();
      await page.click('[data-key=t250] summary');
      await page.waitForSelector('[data-key=t250] tbody tr');
      await page.click('[data-key=t250] summary');
      await page.click('[data-key=t499] summary');
      expect(await page.textContent('[data-key=t499] > p')).toBe(
        'Its collections: on the page of its owner, or by "rollcall status --tenant t499".',
      );
      expect(await page.textContent('[data-key=t499] .commands')).toContain(
        'rollcall deletes list --tenant t499',
      );
      await screenshot(page, 'many-tenants-open', false);
      withhold(0, 't100');
      await page.waitForSelector('main > [data-key=t100]:first-child');
      expect(await page.evaluate('document.querySelector("[data-key=t499]").open')).toBe(true);
      expect(await page.evaluate('document.querySelectorAll("details[open]").length')).toBe(1);
      expect(await shown(page)).toHaveLength(500);
    });

    it('filters by id and by what needs attention, keeps both in the address, and across what comes later', async () => {
      const page = await open();
      await page.evaluate('document.querySelector("[name=tenant]").focus()');
      for (const key of '30') await page.keyboard.press(key);
      expect(await shown(page)).toEqual(expect.arrayContaining(['t301', 't306', 't030']));
      await page.click('[name=wrong]');
      expect(await shown(page)).toEqual(['t301', 't306']);
      expect(await page.evaluate('location.search')).toBe('?tenant=30&wrong=1');
      // Few tenants are open, with what to do on top.
      const linked = await open('?tenant=30&wrong=1');
      await linked.waitForSelector('[data-key=t301][open] > p');
      expect(await shown(linked)).toEqual(['t301', 't306']);
      expect(await linked.textContent('.warn-edge')).toContain('t301 · load');
      world.boards[0]?.board.note('t230', caughtUp('results', null));
      await linked.waitForSelector('[data-key=t230]');
      expect(await shown(linked)).toEqual(['t230', 't301', 't306']);
      expect(await linked.evaluate('document.querySelector("[name=tenant]").value')).toBe('30');
      await screenshot(linked, 'many-tenants-filtered', false);
      const none = await open('?tenant=301');
      await none.evaluate('document.querySelector("[name=tenant]").focus()');
      await none.keyboard.press('x');
      expect(await none.textContent('main')).toContain('No tenant to show.');
    });

    it('shows its own tenants while Redis is away, and says of how many it knows nothing', async () => {
      world.board.report('redis', { why: 'it does not answer', remedy: 'See its log.' });
      const page = await open();
      expect(await shown(page)).toHaveLength(100);
      expect(await page.textContent('#summary')).toContain('; of 400 more nothing is known without Redis');
      world.board.report('redis', null);
      await page.waitForSelector('[data-key=t499]');
    });

    it.each([1280, 390])(
      'axe finds nothing to blame at a width of %d, and nothing is cut off',
      async (width) => {
        const page = await open('?tenant=t25', width);
        await page.click('[data-key=t250] summary');
        await page.waitForSelector('[data-key=t250] tbody tr');
        expect(await violationsOn(page)).toEqual([]);
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
          width,
        );
        await screenshot(page, `many-tenants-${width}`, false);
      },
    );
  },
);
