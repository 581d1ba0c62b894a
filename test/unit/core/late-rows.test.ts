import { describe, expect, it } from 'vitest';
import { LateRowWatch } from '../../../src/core/late-rows.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Makes the watch of a session whose first full sync began at 0. */
function watch(): LateRowWatch {
  const made = new LateRowWatch(() => 7);
  made.beginFull(null);
  expect(made.endFull({ startedAtMs: 0, endedAtMs: MINUTE })).toBeNull();
  made.noteSeen('another row', HOUR);
  return made;
}

function judge(made: LateRowWatch, stamps: readonly (number | null)[]) {
  made.beginFull(20 * HOUR);
  stamps.forEach((stampMs, at) => made.noteNew(`row ${at}`, stampMs));
  return made.endFull({ startedAtMs: 21 * HOUR, endedAtMs: 22 * HOUR });
}

describe('rows that incremental syncs have missed', () => {
  it('are those with new content and a modification time that incremental syncs have passed, with the largest possible lag', () => {
    expect(judge(watch(), [10 * HOUR, 19 * HOUR])).toEqual({ rows: 2, lagAtMostMs: 12 * HOUR });
  });

  it('have no lag where no incremental sync has brought a row: the filter, not the overlap, is to be looked at', () => {
    const made = new LateRowWatch(() => 7);
    made.endIncremental(0);
    expect(judge(made, [10 * HOUR, 19 * HOUR])).toEqual({ rows: 2, lagAtMostMs: null });
    made.noteSeen('a row', 21 * HOUR);
    made.beginFull(30 * HOUR);
    made.noteNew('late', 22 * HOUR);
    expect(made.endFull({ startedAtMs: 31 * HOUR, endedAtMs: 32 * HOUR })).toEqual({
      rows: 1,
      lagAtMostMs: 10 * HOUR,
    });
  });

  it('do not include rows that a later incremental sync may bring, rows modified before, and rows without a modification time', () => {
    const stamps = [20 * HOUR + 1, 21 * HOUR, 0, -5 * HOUR, null];
    expect(judge(watch(), stamps)).toEqual({ rows: 0, lagAtMostMs: 0 });
  });

  it('do not include rows that an incremental sync has read, even if they changed since under the same modification time', () => {
    const made = watch();
    made.noteSeen('row 0', 10 * HOUR);
    expect(judge(made, [10 * HOUR])).toEqual({ rows: 0, lagAtMostMs: 0 });
    const other = watch();
    other.noteSeen('row 0', 9 * HOUR);
    expect(judge(other, [10 * HOUR])).toMatchObject({ rows: 1 });
  });

  it('are not counted before the session has a complete full sync, nor by a second one at once', () => {
    const made = new LateRowWatch(() => 7);
    expect(judge(made, [10 * HOUR])).toBeNull();
    expect(judge(made, [10 * HOUR])).toBeNull();
  });

  it('are counted from the first incremental sync on where the session began with one', () => {
    const made = new LateRowWatch(() => 7);
    made.endIncremental(9 * HOUR);
    made.endIncremental(10 * HOUR);
    expect(judge(made, [8 * HOUR, 9 * HOUR + 1])).toMatchObject({ rows: 1 });
  });

  it('are not counted for a time in which incremental syncs read more rows than the watch remembers, and are counted again after it', () => {
    const made = new LateRowWatch(() => 7, 100);
    made.beginFull(null);
    made.endFull({ startedAtMs: 0, endedAtMs: MINUTE });
    // Each full sync begins, and none completes.
    for (let at = 0; at < 101; at += 1) {
      made.noteSeen(`other ${at}`, HOUR);
      made.beginFull(2 * HOUR);
    }
    expect(judge(made, [10 * HOUR])).toBeNull();
    made.beginFull(30 * HOUR);
    made.noteNew('row 0', 29 * HOUR);
    expect(made.endFull({ startedAtMs: 31 * HOUR, endedAtMs: 32 * HOUR })).toMatchObject({ rows: 1 });
  });

  it('are not counted by a full sync during which incremental syncs read too many rows, nor by the next one', () => {
    const made = new LateRowWatch(() => 7, 100);
    made.beginFull(null);
    made.endFull({ startedAtMs: 0, endedAtMs: MINUTE });
    made.beginFull(20 * HOUR);
    for (let at = 0; at < 101; at += 1) made.noteSeen(`other ${at}`, HOUR);
    made.noteNew('row 0', 10 * HOUR);
    expect(made.endFull({ startedAtMs: HOUR, endedAtMs: 22 * HOUR })).toBeNull();
    expect(judge(made, [10 * HOUR])).toBeNull();
    made.beginFull(30 * HOUR);
    made.noteNew('row 0', 29 * HOUR);
    expect(made.endFull({ startedAtMs: 31 * HOUR, endedAtMs: 32 * HOUR })).toMatchObject({ rows: 1 });
  });

  it('do not include rows that an incremental sync read during the previous full sync', () => {
    const made = watch();
    made.beginFull(HOUR);
    made.noteSeen('row 0', 3 * HOUR);
    made.endFull({ startedAtMs: 2 * HOUR, endedAtMs: 4 * HOUR });
    expect(judge(made, [3 * HOUR, 3 * HOUR])).toMatchObject({ rows: 1 });
  });
});
