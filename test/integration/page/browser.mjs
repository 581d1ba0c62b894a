// A real Chromium for tests: the machine's own; in CI, Debian's is installed once when there is none.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { withPidLock } from '../../../scripts/pid-lock.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function findChromium() {
  const named = process.env.ROLLCALL_CHROMIUM;
  if (named) return named;
  for (const name of NAMES) {
    const { status, stdout } = spawnSync('which', [name], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return undefined;
}

function installChromium() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('apt-get', ['update', '-qq'], { env });
  const args = ['install', '-y', '-qq', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'];
  const { status, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`Chromium could not be installed: ${stderr}`);
}

/** The path of a Chromium; undefined on a developer's machine without one. */
export async function chromiumPath() {
  const found = findChromium();
  if (found !== undefined || !process.env.CI) return found;
  await withPidLock(
    join(tmpdir(), 'rollcall-chromium.lock'),
    async () => findChromium() ?? installChromium(),
  );
  return findChromium();
}

export async function launchChromium() {
  const executablePath = await chromiumPath();
  if (executablePath === undefined) throw new Error('no Chromium: set ROLLCALL_CHROMIUM, or install one');
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

/** With `ROLLCALL_SCREENSHOTS=<folder>`, for people to look at. */
export async function screenshot(page, name, fullPage = true) {
  const folder = process.env.ROLLCALL_SCREENSHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage });
}

/** The accessibility violations that axe finds on a page, as `rule: selector`. */
export async function violationsOn(page) {
  const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  const session = await page.context().newCDPSession(page);
  // The debugger is not bound by the page's policy, which allows no other script.
  const evaluate = (expression) =>
    session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  await evaluate(readFileSync(source, 'utf8').concat(';0'));
  const { result } = await evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`)))',
  );
  return result.value;
}
