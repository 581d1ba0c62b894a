import { expect, test } from 'vitest';
import { encodeAbsent } from '../../../src/core/absences/current-absence.ts';
import { createZoneClock } from '../../../src/core/lessons/zone-clock.ts';
import { absentStudents } from '../../../src/absences/absence-index.ts';
import type { IndexEntry } from '../../../src/state/index-store.ts';

test('a student whose absence ends on the last day of 9999 is absent, also where that is a day of the year 10000', async () => {
  for (const zone of ['Europe/Berlin', 'UTC', 'America/New_York']) {
    expect(
      await absentIn(zone, { fromTime: '2026-01-07T07:00:00Z', toTime: '9999-12-31T23:59:59Z' }),
    ).toEqual(['s-1']);
    expect(
      await absentIn(zone, { fromTime: '2026-01-07T07:00:00Z', toTime: '2026-01-08T07:00:00Z' }),
    ).toEqual([]);
  }
});

async function absentIn(
  zone: string,
  { fromTime, toTime }: { fromTime: string; toTime: string },
): Promise<string[]> {
  const value = encodeAbsent({ studentId: 's-1', fromMs: Date.parse(fromTime), toMs: Date.parse(toTime) });
  const index = {
    async *entries(): AsyncGenerator<readonly IndexEntry[]> {
      yield [['a-1', value]];
    },
  };
  const week = { from: '2026-11-20', to: '2026-11-27' };
  return [...(await absentStudents(index, week, (ms) => createZoneClock(zone).dateAt(ms)))];
}
