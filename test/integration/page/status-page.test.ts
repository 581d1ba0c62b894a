import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  chromiumPath,
  launchChromium,
  screenshot,
  violationsOn,
  type Browser,
  type Page,
} from './browser.mjs';
import { INVENTED_COLLECTIONS, startInventedPage } from './invented-board.ts';

const EXECUTABLE = await chromiumPath();
// In CI a browser is installed; a developer's machine may have none.
describe.skipIf(EXECUTABLE === undefined)('the status page in Chromium', () => {
  let browser: Browser;
  let shown: Awaited<ReturnType<typeof startInventedPage>>;
  const messages: string[] = [];
  const requests: string[] = [];
  beforeAll(async () => {
    browser = await launchChromium();
    shown = await startInventedPage();
  });
  afterAll(async () => {
    await browser?.close();
    await shown?.[Symbol.asyncDispose]();
  });

  async function open(options: { width?: number; colorScheme?: 'light' | 'dark' } = {}): Promise<Page> {
    const { width = 1280, colorScheme = 'light' } = options;
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    page.on('console', (message) => messages.push(message.text()));
    page.on('pageerror', (error) => messages.push(error.message));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(shown.url);
    await page.waitForSelector('tbody tr');
    return page;
  }

  it('shows every collection with its rows, and says that all is well', async () => {
    const page = await open();
    expect(await page.textContent('#overall')).toBe('✓ all well');
    const cells = await page.evaluate<string[][]>(
      '[...document.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))',
    );
    const users = cells.find(([name]) => name === 'users');
    expect(users?.slice(0, 3)).toEqual(['users', '21,430', '21,430']);
    const names = cells.map(([name = '']) => name.replace('↳ ', ''));
    expect(names.toSorted()).toEqual([...INVENTED_COLLECTIONS].toSorted());
    expect(cells.map(([name]) => name)).toContain('↳ absence-changes');
    await screenshot(page, 'well');
  });

  it('shows a sync, a decision with its commands and a trouble without a reload, and keeps the focus', async () => {
    const page = await open();
    await page.focus('.scroll');
    shown.runsFullSync('users', 9_800);
    shown.holds('enrollments', 312);
    shown.board.report('hub', { why: 'no answer', remedy: 'See rollcall check.' });
    await page.waitForSelector('progress');
    expect(await page.evaluate('document.activeElement.className')).toBe('scroll');
    expect(await page.textContent('#decisions')).toBe('✗ A decision is needed');
    expect(
      await page.evaluate('document.querySelector("main").firstElementChild.getAttribute("aria-labelledby")'),
    ).toBe('decisions');
    expect(await page.textContent('.commands')).toContain('rollcall deletes approve <digest> --tenant north');
    expect(await page.textContent('.warn-edge')).toContain('north · hub');
    expect(await page.textContent('td progress + span')).toMatch(/46 %, \d+ (?:s|min) left/);
    await screenshot(page, 'decision');
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const)(
    'axe finds nothing to blame in %s at a width of %d, and nothing is cut off',
    async (colorScheme, width) => {
      const page = await open({ colorScheme, width });
      await page.waitForSelector('#decisions');
      expect(await violationsOn(page)).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await screenshot(page, `${colorScheme}-${width}`);
    },
  );

  it('shows text from outside as text', async () => {
    const why = '<img src=x onerror="document.title=1"><script>alert(1)</script>';
    shown.board.report('kafka', { why, remedy: 'none' });
    const page = await open();
    await page.waitForFunction('document.querySelector(".warn-edge")?.textContent.includes("<img src=x")');
    expect(await page.evaluate('document.querySelectorAll("main img, main script").length')).toBe(0);
    shown.board.report('kafka', null);
  });

  it('asks no other host, and breaks no rule of its own policy', async () => {
    expect(requests.length).toBeGreaterThan(10);
    expect(requests.filter((url) => !url.startsWith(shown.url))).toEqual([]);
    expect(messages).toEqual([]);
    const { headers } = await fetch(shown.url);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
  });

  it('can be used by keyboard alone: every control is reached by Tab, and Enter folds a tenant', async () => {
    const page = await open();
    await page.waitForSelector('.commands button');
    const reached = new Set<string>();
    for (let at = 0; at < 12; at += 1) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate<string>('document.activeElement.tagName'));
      if ((await page.evaluate('document.activeElement.tagName')) === 'SUMMARY') {
        await page.keyboard.press('Enter');
        expect(await page.evaluate('document.querySelector("details").open')).toBe(false);
        await page.keyboard.press('Enter');
      }
    }
    for (const control of ['BUTTON', 'SUMMARY', 'A']) expect(reached).toContain(control);
  });

  it('says that Rollcall does not answer, once it does not', async () => {
    const page = await open();
    await shown[Symbol.asyncDispose]();
    await page.waitForSelector('[role=alert]');
    expect(await page.textContent('#overall')).toBe('✗ no answer');
  });
});
