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

/** Unpacks the Chromium of the npm package, with the libraries that a small system lacks; undefined on other systems. */
async function unpackChromium(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  // With this the package brings its libraries and fonts, too.
  process.env['AWS_LAMBDA_JS_RUNTIME'] ??= 'nodejs22.x';
  const { default: packaged } = await import('@sparticuz/chromium');
  return withPidLock(join(tmpdir(), 'rollcall-chromium.lock'), () => packaged.executablePath());
}

/** The machine's own, or the one of the npm package; undefined where neither is there. */
export async function launchChromium(): Promise<Browser | undefined> {
  const executablePath = findChromium() ?? (await unpackChromium());
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
