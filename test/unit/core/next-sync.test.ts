import { describe, expect, it } from 'vitest';
import { nextSync } from '../../../src/core/next-sync.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW_MS = Date.parse('2026-03-04T12:00:00Z');
const DUE_MS = Date.parse('2026-03-04T03:00:00Z');

function next(changes: Partial<Parameters<typeof nextSync>[0]> = {}) {
  return nextSync({
    watermarkMs: NOW_MS - 6 * MINUTE_MS,
    lastFullAtMs: DUE_MS + MINUTE_MS,
    lastSyncAtMs: NOW_MS - MINUTE_MS,
    fullDueAtMs: DUE_MS,
    fullNotBeforeMs: 0,
    confirmAtMs: null,
    incrementalNotBeforeMs: 0,
    deltaEveryMs: MINUTE_MS,
    fullEveryMs: null,
    hasIncremental: true,
    hubNowMs: NOW_MS,
    nowMs: NOW_MS,
    ...changes,
  });
}

const FULL = { kind: 'sync', mode: 'FULL', confirming: false };
const INCREMENTAL = { kind: 'sync', mode: 'INCREMENTAL', confirming: false };
const CONFIRMING = { kind: 'sync', mode: 'FULL', confirming: true };

describe('the next sync', () => {
  it('is a full sync at the first start', () => {
    expect(next({ watermarkMs: null, lastFullAtMs: null, lastSyncAtMs: null })).toEqual(FULL);
    expect(next({ watermarkMs: null })).toEqual(FULL);
  });

  it('is a daily full sync that was missed while Rollcall was down', () => {
    expect(next({ lastFullAtMs: DUE_MS - 1 })).toEqual(FULL);
    expect(next({ lastFullAtMs: DUE_MS })).toEqual(INCREMENTAL);
  });

  it('is an incremental sync exactly when its interval has passed', () => {
    expect(next({ lastSyncAtMs: NOW_MS - MINUTE_MS + 1 })).toEqual({ kind: 'wait', atMs: NOW_MS + 1 });
    expect(next({ lastSyncAtMs: NOW_MS - MINUTE_MS })).toEqual(INCREMENTAL);
    expect(next({ lastSyncAtMs: null })).toEqual(INCREMENTAL);
  });

  it('is a full sync where an incremental one would reach back more than a day', () => {
    expect(next({ watermarkMs: NOW_MS - 24 * HOUR_MS - 1 })).toEqual(FULL);
  });

  it("measures by the hub's clock how far an incremental sync reaches back", () => {
    expect(next({ hubNowMs: NOW_MS + 24 * HOUR_MS })).toEqual(FULL);
  });

  it('is never incremental for a collection without a filter: each deltaEvery it only checks whether a full sync is due', () => {
    expect(next({ hasIncremental: false, lastSyncAtMs: null })).toEqual({
      kind: 'wait',
      atMs: NOW_MS + MINUTE_MS,
    });
    expect(next({ hasIncremental: false, lastFullAtMs: DUE_MS - 1 })).toEqual(FULL);
  });

  it('is incremental while a full sync has to wait', () => {
    const failing = { lastFullAtMs: DUE_MS - 1, fullNotBeforeMs: NOW_MS + 5 * MINUTE_MS };
    expect(next(failing)).toEqual(INCREMENTAL);
    expect(next({ ...failing, lastSyncAtMs: NOW_MS })).toEqual({ kind: 'wait', atMs: NOW_MS + MINUTE_MS });
    expect(next({ ...failing, nowMs: failing.fullNotBeforeMs })).toEqual(FULL);
  });

  it('waits after a first full sync that proved nothing', () => {
    const first = { watermarkMs: null, lastFullAtMs: null, fullNotBeforeMs: NOW_MS + 1_500 };
    expect(next(first)).toEqual({ kind: 'wait', atMs: NOW_MS + 1_500 });
  });

  it('waits after an incremental sync that failed', () => {
    const failed = { incrementalNotBeforeMs: NOW_MS + 10_000 };
    expect(next(failed)).toEqual({ kind: 'wait', atMs: NOW_MS + 10_000 });
  });

  it('is not delayed by a clock that was set back', () => {
    expect(next({ lastSyncAtMs: NOW_MS + 30 * HOUR_MS })).toEqual(INCREMENTAL);
    expect(next({ lastFullAtMs: NOW_MS + 30 * HOUR_MS })).toEqual(FULL);
    // A hub whose clock is ahead looks different and changes nothing.
    expect(next({ lastFullAtMs: NOW_MS + HOUR_MS })).toEqual(INCREMENTAL);
  });

  it('confirms what a full sync missed once that is due, also after a restart', () => {
    const owed = { lastSyncAtMs: NOW_MS, confirmAtMs: NOW_MS + 30_000 };
    expect(next(owed)).toEqual({ kind: 'wait', atMs: NOW_MS + 30_000 });
    expect(next({ ...owed, nowMs: NOW_MS + 30_000 })).toEqual(CONFIRMING);
    expect(next({ ...owed, confirmAtMs: NOW_MS - HOUR_MS })).toEqual(CONFIRMING);
    // A daily full sync makes up for it.
    expect(next({ ...owed, confirmAtMs: NOW_MS, lastFullAtMs: DUE_MS - 1 })).toEqual(FULL);
    // After a failure it waits like any full sync.
    const failed = { confirmAtMs: NOW_MS, fullNotBeforeMs: NOW_MS + 10_000, lastSyncAtMs: NOW_MS };
    expect(next(failed)).toEqual({ kind: 'wait', atMs: NOW_MS + 10_000 });
    // The clock was set back since.
    expect(next({ ...owed, confirmAtMs: NOW_MS + 30 * HOUR_MS })).toEqual(CONFIRMING);
  });

  it('waits for the time at which a failed full sync may be tried again', () => {
    const planned = next({
      hasIncremental: false,
      fullEveryMs: MINUTE_MS,
      lastSyncAtMs: NOW_MS - HOUR_MS,
      fullNotBeforeMs: NOW_MS + 30_000,
    });
    expect(planned).toEqual({ kind: 'wait', atMs: NOW_MS + 30_000 });
  });
});
