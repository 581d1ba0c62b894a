import { expect, it } from 'vitest';
import { Receipt } from '../../../../src/cli/tail/receipt.ts';

const DAY_MS = 86_400_000;
const SETTINGS = new Map([
  ['max.compaction.lag.ms', String(DAY_MS)],
  ['segment.ms', String(DAY_MS)],
  ['delete.retention.ms', String(7 * DAY_MS)],
]);
const at = (time: string) => Date.parse(`2026-11-20T${time}:00Z`);

/** The row of a receipt, with days of November; each record as `key time about|other|removal`. */
function rowOf(records: readonly string[], settings = SETTINGS): string | undefined {
  const receipt = new Receipt();
  for (const record of records) {
    const [key = '', time = '', what] = record.split(' ');
    const isAbout = what === 'about' || key === 'pupil';
    receipt.note({ topic: 'users', key, atMs: at(time), isRemoval: what === 'removal', isAbout });
  }
  const [row] = receipt.rows(new Map([['users', settings]]));
  return row?.join('|').replaceAll(/2026-11-(\d\dT\d\d:\d\d):00\.000Z/g, '$1');
}

it('the receipt of "tail --about" says by when values and keys of a removed row are gone from Kafka', () => {
  const records = ['pupil 08:00 about', 'pupil 09:00 about', 'pupil 10:00 removal', 'other 11:00 other'];
  expect(rowOf(records)).toBe('users|3|20T08:00|20T10:00|0|22T10:02|30T10:02');
});

it.each([
  ['a value that a record without the id replaces', 'other', 'users|1|20T08:00|20T08:00|0|22T09:02|-'],
  ['a removed key that does not contain the id', 'removal', 'users|1|20T08:00|20T08:00|0|22T09:02|30T09:02'],
])('the receipt of "tail --about" counts %s', (_, next, row) => {
  expect(rowOf(['a 08:00 about', `a 09:00 ${next}`])).toBe(row);
});

it('the receipt of "tail --about" counts a removed row that came back as still published', () => {
  const row = rowOf(['pupil 08:00 removal', 'pupil 09:00 about']);
  expect(row).toBe('users|2|20T08:00|20T09:00|1|still published|still published');
});

it('the receipt of "tail --about" gives no time if the settings of a topic are not known', () => {
  expect(rowOf(['pupil 10:00 removal'], new Map())).toMatch(/\|not known\|not known$/);
});
