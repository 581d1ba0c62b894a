import { expect, it } from 'vitest';
import { nextSync } from '../../../src/core/next-sync.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW_MS = Date.parse('2026-03-04T12:00:00Z');
const DUE_MS = Date.parse('2026-03-04T03:00:00Z');
const AHEAD_MS = NOW_MS + 30 * HOUR_MS;

type Facts = Parameters<typeof nextSync>[0];
const before = { watermarkMs: NOW_MS - 6 * MINUTE_MS, lastFullAtMs: DUE_MS + MINUTE_MS };
const times = { fullDueAtMs: DUE_MS, fullNotBeforeMs: 0, confirmAtMs: null, incrementalNotBeforeMs: 0 };
const settings = { incrementalEveryMs: MINUTE_MS, fullEveryMs: null, hasIncremental: true };
const now = { lastSyncAtMs: NOW_MS - MINUTE_MS, hubNowMs: NOW_MS, nowMs: NOW_MS };
const GIVEN: Facts = { ...before, ...times, ...settings, ...now };
const never = { watermarkMs: null, lastFullAtMs: null, lastSyncAtMs: null };
const due = { lastFullAtMs: DUE_MS - 1 };
const failing = { ...due, fullNotBeforeMs: NOW_MS + 5 * MINUTE_MS };
const toConfirm = { lastSyncAtMs: NOW_MS, confirmAtMs: NOW_MS + 30_000 };
const toConfirmNow = { ...toConfirm, confirmAtMs: NOW_MS };
const unfiltered = { hasIncremental: false, lastSyncAtMs: null };
const often = { ...unfiltered, fullEveryMs: MINUTE_MS, lastSyncAtMs: NOW_MS - HOUR_MS };

it.each<[string, Partial<Facts>, 'FULL' | 'INCREMENTAL' | 'CONFIRMING' | number]>([
  ['is full at the first start', never, 'FULL'],
  ['is full without a watermark', { watermarkMs: null }, 'FULL'],
  ['is the daily full sync that was missed while Rollcall was down', due, 'FULL'],
  ['is incremental if the daily full sync began in time', { lastFullAtMs: DUE_MS }, 'INCREMENTAL'],
  ['waits until the interval has passed', { lastSyncAtMs: NOW_MS - MINUTE_MS + 1 }, 1],
  ['is incremental at once after a start', { lastSyncAtMs: null }, 'INCREMENTAL'],
  ['is full if the watermark is more than a day old', { watermarkMs: NOW_MS - 24 * HOUR_MS - 1 }, 'FULL'],
  ["is full if the watermark is a day old by the hub's clock", { hubNowMs: NOW_MS + 24 * HOUR_MS }, 'FULL'],
  ['waits for incrementalEvery if the collection has no filter by time', unfiltered, MINUTE_MS],
  ['is full when due if the collection has no filter by time', { ...unfiltered, ...due }, 'FULL'],
  ['is incremental while a full sync has to wait', failing, 'INCREMENTAL'],
  ['waits for its interval while a full sync has to wait', { ...failing, lastSyncAtMs: NOW_MS }, MINUTE_MS],
  ['is full when a full sync has waited long enough', { ...failing, nowMs: failing.fullNotBeforeMs }, 'FULL'],
  ['waits after a first full sync that proved nothing', { ...never, fullNotBeforeMs: NOW_MS + 1_500 }, 1_500],
  ['waits after an incremental sync that failed', { incrementalNotBeforeMs: NOW_MS + 10_000 }, 10_000],
  ['is not delayed by a clock that was set back', { lastSyncAtMs: AHEAD_MS }, 'INCREMENTAL'],
  ['is full if the last full sync is ahead of a clock that was set back', { lastFullAtMs: AHEAD_MS }, 'FULL'],
  ['is incremental although the hub’s clock is ahead', { lastFullAtMs: NOW_MS + HOUR_MS }, 'INCREMENTAL'],
  ['waits to confirm what a full sync missed', toConfirm, 30_000],
  ['confirms what a full sync missed when due', { ...toConfirm, nowMs: NOW_MS + 30_000 }, 'CONFIRMING'],
  [
    'confirms what a full sync missed at once after a restart',
    { ...toConfirm, confirmAtMs: NOW_MS - HOUR_MS },
    'CONFIRMING',
  ],
  ['is the daily full sync in place of a confirming one', { ...toConfirmNow, ...due }, 'FULL'],
  ['waits to confirm after a failure', { ...toConfirmNow, fullNotBeforeMs: NOW_MS + 9 }, 9],
  ['confirms after the clock was set back', { ...toConfirm, confirmAtMs: AHEAD_MS }, 'CONFIRMING'],
  ['waits until a failed full sync may be repeated', { ...often, fullNotBeforeMs: NOW_MS + 30_000 }, 30_000],
])('the next sync %s', (_name, facts, expected) => {
  const [mode, confirming] = expected === 'CONFIRMING' ? ['FULL', true] : [expected, false];
  const planned = nextSync({ ...GIVEN, ...facts });
  if (typeof expected === 'number') expect(planned).toEqual({ kind: 'wait', atMs: NOW_MS + expected });
  else expect(planned).toEqual({ kind: 'sync', mode, confirming });
});
