// Makes docs/status-page.png: the status page as it is, of a tenant that needs a decision while one collection syncs.
import { writeFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import type { CollectionName } from '../src/model/collections.ts';
import { newSyncStats } from '../src/core/sync-stats.ts';
import { packageVersion } from '../src/cli/package-version.ts';
import type { PipelineEvent } from '../src/core/pipeline-events.ts';
import { unchangedRows } from '../src/core/rows/compare-with-published.ts';
import { Board } from '../src/telemetry/board.ts';
import { startStatusServer } from '../src/telemetry/http-server.ts';
import { launchChromium } from '../test/integration/page/browser.ts';
import { ANSWERED, caughtUp, configOf, loaded, onHoldIn } from '../test/unit/telemetry/support/board-of.ts';
import { pageOn } from '../src/cli/help.ts';
import { DIGEST_FILE, pageDigest } from './page-digest.ts';

const ROWS: Readonly<Partial<Record<CollectionName, number>>> = {
  orgs: 38,
  'academic-sessions': 12,
  courses: 412,
  classes: 1_968,
  users: 21_430,
  students: 19_204,
  enrollments: 96_214,
  'absence-versions': 48_920,
  absences: 31_702,
  'absence-changes': 40_115,
};
// The commands on the page, as in an installation.
process.env['ROLLCALL_COMMAND'] = 'rollcall';
const WIDTH = 1_280;
const HOUR_MS = 3_600_000;
const ON_HOLD = 312;

const browser = await launchChromium();
if (browser === undefined)
  throw new Error('There is no Chromium. Install one, or name it in ROLLCALL_CHROMIUM.');
const nowMs = Date.now();
const collections = Object.keys(ROWS) as CollectionName[];
// The process has run for three days when the picture is made.
let clockMs = nowMs - 72 * HOUR_MS;
const board = new Board(configOf(['north'], collections), { version: packageVersion, now: () => clockMs });
board.showTenants(['north']);
const emit = (event: object): void => void board.note('north', event as PipelineEvent);
const rowsOf = (collection: CollectionName) => ROWS[collection] ?? 0;
const progressOf = (collection: CollectionName) => {
  const full = { rows: rowsOf(collection) - (collection === 'enrollments' ? ON_HOLD : 0) };
  return collection === 'enrollments'
    ? {
        ...onHoldIn(collection, ON_HOLD, { nowMs, onHoldSinceMs: nowMs - HOUR_MS }),
        lastCompleteFull: loaded(collection, nowMs, full).lastCompleteFull,
      }
    : loaded(collection, nowMs, full);
};
emit({ type: 'owned', owner: 'rollcall-0-1-6afb2b0e' });
clockMs = nowMs;
const derived = ['absences', 'absence-changes'] as const;
for (const collection of collections.filter((name) => !derived.some((each) => each === name)))
  emit({
    ...caughtUp(collection, progressOf(collection)),
    rows: rowsOf(collection),
    ...(collection === 'absence-versions' ? { derived: derived.map(progressOf) } : {}),
  });
emit({ type: 'session-opened' });
emit(ANSWERED);
const stats = newSyncStats({ syncId: 'f', mode: 'FULL', startedAtMs: nowMs - 20_000 });
Object.assign(stats, { rowsSeen: 9_858, totalAtStart: rowsOf('users') });
emit({ type: 'sync-started', collection: 'users', mode: 'FULL' });
emit({ type: 'sync-page', collection: 'users', stats, tally: unchangedRows(9_858), rows: rowsOf('users') });

const server = await startStatusServer({
  host: '127.0.0.1',
  port: 0,
  board,
  metrics: new Registry(),
  help: pageOn,
});
try {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 600 } });
  await page.goto(`http://127.0.0.1:${server.port}/`);
  await page.waitForSelector('tbody tr');
  writeFileSync(
    new URL('../docs/status-page.png', import.meta.url),
    await page.screenshot({ fullPage: true }),
  );
  writeFileSync(DIGEST_FILE, `${pageDigest()}\n`);
  process.stdout.write('docs/status-page.png is the status page as it is\n');
} finally {
  await browser.close();
  await server.close();
}
