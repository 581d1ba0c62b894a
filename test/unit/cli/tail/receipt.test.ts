import { expect, it } from 'vitest';
import { Receipt } from '../../../../src/cli/tail/receipt.ts';

const DAY_MS = 86_400_000;
const SETTINGS = new Map([
  ['max.compaction.lag.ms', String(DAY_MS)],
  ['segment.ms', String(DAY_MS)],
  ['delete.retention.ms', String(7 * DAY_MS)],
]);
const at = (time: string) => Date.parse(`2026-11-20T${time}:00Z`);

/** The rows of a receipt; each record as `key time about|other|removal`. */
function rowsOf(records: readonly string[], settings = SETTINGS): string[][] {
  const receipt = new Receipt();
  for (const record of records) {
    const [key = '', time = '', what] = record.split(' ');
    const isAbout = what === 'about' || key === 'pupil';
    receipt.note({ topic: 'users', key, atMs: at(time), isRemoval: what === 'removal', isAbout });
  }
  return receipt.rows(new Map([['users', settings]]));
}

it('a receipt says by when values and keys of a removed row are gone from Kafka', () => {
  const records = ['pupil 08:00 about', 'pupil 09:00 about', 'pupil 10:00 removal', 'other 11:00 other'];
  expect(rowsOf(records)).toEqual([
    [
      'users',
      '3',
      '2026-11-20T08:00:00.000Z',
      '2026-11-20T10:00:00.000Z',
      '0',
      '2026-11-22T10:02:00.000Z',
      '2026-11-30T10:02:00.000Z',
    ],
  ]);
});

it.each([
  [
    'a value that a later one without the id replaces',
    ['a 08:00 about', 'a 09:00 other'],
    '1',
    '0',
    '22T09:02',
    '-',
  ],
  [
    'a key that is removed, and does not contain the id',
    ['a 08:00 about', 'a 09:00 removal'],
    '1',
    '0',
    '22T09:02',
    '30T09:02',
  ],
  [
    'a removal that came back',
    ['pupil 08:00 removal', 'pupil 09:00 about'],
    '2',
    '1',
    'still published',
    'still published',
  ],
])('a receipt counts %s', (_, records, count, held, values, keys) => {
  const [row = []] = rowsOf(records);
  const times = [values, keys].map((time) => (/^\d/.test(time) ? `2026-11-${time}:00.000Z` : time));
  expect([row[1], row[4], row[5], row[6]]).toEqual([count, held, ...times]);
});

it('a receipt gives no time where the settings of a topic are not known', () => {
  expect(rowsOf(['pupil 10:00 removal'], new Map())[0]?.slice(5)).toEqual(['not known', 'not known']);
});
