import { describe, expect, it } from 'vitest';
import { LateRowWatch } from '../../../src/core/late-rows.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Makes the watch of a session whose first full sync began at 0. */
function watch(): LateRowWatch {
  const made = new LateRowWatch();
  made.beginFull(null);
  expect(made.endFull({ startedAtMs: 0, endedAtMs: MINUTE })).toBeNull();
  made.noteBrought();
  return made;
}

function row(modifiedAtMs: number | null, value: object = {}) {
  return { value, modifiedAtMs };
}

function judge(made: LateRowWatch, stamps: readonly (number | null)[]) {
  made.beginFull(20 * HOUR);
  for (const stampMs of stamps) made.noteNew(row(stampMs));
  return made.endFull({ startedAtMs: 21 * HOUR, endedAtMs: 22 * HOUR });
}

describe('rows that incremental syncs have missed', () => {
  it('are those with new content and a modification time that incremental syncs have passed, with the largest possible lag', () => {
    expect(judge(watch(), [10 * HOUR, 19 * HOUR])).toEqual({ rows: 2, lagAtMostMs: 12 * HOUR });
  });

  it('have no lag where no incremental sync has brought a row: the filter, not the overlap, is to be looked at', () => {
    const made = new LateRowWatch();
    made.endIncremental(0);
    expect(judge(made, [10 * HOUR, 19 * HOUR])).toEqual({ rows: 2, lagAtMostMs: null });
    made.noteBrought();
    made.beginFull(30 * HOUR);
    made.noteNew(row(22 * HOUR));
    expect(made.endFull({ startedAtMs: 31 * HOUR, endedAtMs: 32 * HOUR })).toEqual({
      rows: 1,
      lagAtMostMs: 10 * HOUR,
    });
  });

  it('do not include rows that a later incremental sync may bring, rows modified before, and rows without a modification time', () => {
    const stamps = [20 * HOUR + 1, 21 * HOUR, 0, -5 * HOUR, null];
    expect(judge(watch(), stamps)).toEqual({ rows: 0, lagAtMostMs: 0 });
  });

  it('do not include rows that are over already, which incremental syncs leave to the full sync', () => {
    const made = watch();
    made.beginFull(20 * HOUR);
    made.noteNew(row(10 * HOUR, { status: 'tobedeleted' }));
    made.noteNew(row(10 * HOUR, { deletedTime: 10 * HOUR }));
    expect(made.endFull({ startedAtMs: 21 * HOUR, endedAtMs: 22 * HOUR })).toMatchObject({ rows: 0 });
  });

  it('are not counted before the session has a complete full sync, nor by a second one at once', () => {
    const made = new LateRowWatch();
    expect(judge(made, [10 * HOUR])).toBeNull();
    expect(judge(made, [10 * HOUR])).toBeNull();
  });

  it('are counted from the first incremental sync on where the session began with one', () => {
    const made = new LateRowWatch();
    made.endIncremental(9 * HOUR);
    made.endIncremental(10 * HOUR);
    expect(judge(made, [8 * HOUR, 9 * HOUR + 1])).toMatchObject({ rows: 1 });
  });
});
