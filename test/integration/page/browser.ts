import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Page } from 'playwright-core';
import { withPidLock } from '../../../scripts/pid-lock.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function findChromium(): string | undefined {
  const found = NAMES.map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim());
  return [process.env['ROLLCALL_CHROMIUM'] ?? '', ...found].find((path) => path !== '');
}

function installChromium(): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('apt-get', ['update', '-qq'], { env });
  const args = ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'];
  const { status, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`Chromium could not be installed: ${stderr}`);
}

/** The machine's own, and in CI one that is installed once; undefined on a developer's machine without one. */
export async function launchChromium(): Promise<Browser | undefined> {
  if (findChromium() === undefined && process.env['CI'])
    await withPidLock(join(tmpdir(), 'rollcall-chromium.lock'), async () => {
      if (findChromium() === undefined) installChromium();
    });
  const executablePath = findChromium();
  if (executablePath === undefined) return undefined;
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

/** The accessibility violations that axe finds on a page, as `rule: selector`. */
export async function violationsOn(page: Page): Promise<string[]> {
  const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  const session = await page.context().newCDPSession(page);
  // The debugger is not bound by the page's policy, which allows no other script.
  const evaluate = (expression: string) =>
    session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  await evaluate(readFileSync(source, 'utf8').concat(';0'));
  const { result } = await evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`)))',
  );
  return result.value as string[];
}
