import { expect, test } from 'vitest';
import { absentEntryOf, encodeAbsent } from '../../../src/core/absences/current-absence.ts';
import { zoneClock } from '../../../src/core/zone-clock.ts';
import { absentStudents } from '../../../src/absences/absence-index.ts';
import type { IndexEntry } from '../../../src/state/index-store.ts';

test('a student whose absence ends on the last day of 9999 is absent in every time zone', async () => {
  const week = { from: '2026-11-20', to: '2026-11-27' };
  for (const zone of ['Europe/Berlin', 'UTC', 'America/New_York'])
    for (const [end, absent] of [
      ['9999-12-31T23:59:59Z', ['s-1']],
      ['2026-01-08T07:00:00Z', []],
    ] as const) {
      const [fromTime, toTime] = [Date.parse('2026-01-07T07:00:00Z'), Date.parse(end)];
      const entry = absentEntryOf({ sourcedId: 'a-1', student: { sourcedId: 's-1' }, fromTime, toTime });
      if (entry === null) throw new Error('nobody is absent');
      const value = encodeAbsent(entry);
      const index = {
        async *entries(): AsyncGenerator<readonly IndexEntry[]> {
          yield [['a-1', value]];
        },
      };
      expect([...(await absentStudents(index, week, zoneClock(zone).dateAt))]).toEqual(absent);
    }
});
