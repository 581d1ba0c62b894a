import { expect, it } from 'vitest';
import { Receipt } from '../../../../src/cli/tail/receipt.ts';

const DAY_MS = 86_400_000;
const SETTINGS = new Map([
  ['max.compaction.lag.ms', String(DAY_MS)],
  ['segment.ms', String(DAY_MS)],
  ['delete.retention.ms', String(7 * DAY_MS)],
]);
const ON_HOLD = 'on hold in north: none of these rows';
const PROGRESS = 'rollcall.north.progress';
const at = (time: string) => Date.parse(`2026-11-${time}:00Z`);

/** The cells of a receipt and its verdict; each record as `key time about|other|removal`. */
function receiptOf(records: readonly string[], { settings = SETTINGS, now = '20T12:00' } = {}) {
  const receipt = new Receipt();
  for (const record of records) {
    const [key = '', time = '', what] = record.split(' ');
    const isAbout = what === 'about' || key === 'pupil';
    const topic = key.startsWith('@decision') ? PROGRESS : 'users';
    const of = { topic, key, atMs: at(`20T${time}`) };
    receipt.note({ ...of, isRemoval: what === 'removal', isAbout });
  }
  const lines = receipt.lines(new Map([['users', settings]]), at(now), [ON_HOLD]);
  return { lines, cells: lines.slice(1, -1).flatMap((line) => line.split(/ {2,}/)), verdict: lines.at(-1) };
}

const REMOVED = ['pupil 08:00 about', 'pupil 09:00 about', 'pupil 10:00 removal', 'other 11:00 other'];

it('the receipt of "tail --about" says by when values and keys of a removed row are gone from Kafka', () => {
  const { cells, verdict } = receiptOf(REMOVED);
  const [first, last] = ['2026-11-20T08:00:00.000Z', '2026-11-20T10:00:00.000Z'];
  const gone = ['2026-11-22T10:02:00.000Z', '2026-11-30T10:02:00.000Z'];
  expect(cells).toEqual(['users', '      3', first, last, '         0', ...gone].map((cell) => cell.trim()));
  expect(verdict).toMatch(/^not complete until 2026-11-30T10:02:00\.000Z: /);
});

it.each([
  [
    'a value that a later one without the id replaces',
    ['a 08:00 about', 'a 09:00 other'],
    ['1', '0', '22T09:02', '-'],
    /^not complete until 2026-11-22T09:02:00/,
  ],
  [
    'a key that is removed, and does not contain the id',
    ['a 08:00 about', 'a 09:00 removal'],
    ['1', '0', '22T09:02', '30T09:02'],
    /^not complete until 2026-11-30T09:02:00/,
  ],
  [
    'a removal that came back',
    ['pupil 08:00 removal', 'pupil 09:00 about'],
    ['2', '1', 'still published', 'still published'],
    /^not complete: the id is still published in users \(1 key\)\. It stays until a full sync finds these rows gone or corrected/,
  ],
])('the receipt of "tail --about" counts %s', (_, records, [count, held, ...times], complete) => {
  const { cells, verdict } = receiptOf(records);
  const gone = times.map((time) => (/^\d/.test(time) ? `2026-11-${time}:00.000Z` : time));
  expect([cells[1], cells[4], cells[5], cells[6]]).toEqual([count, held, ...gone]);
  expect(verdict).toMatch(complete);
});

it('the receipt of "tail --about" says what is on hold while rows contain the id, and not afterwards', () => {
  expect(receiptOf(['pupil 09:00 about']).lines).toContain(ON_HOLD);
  for (const records of [REMOVED, [], ['@decision|x 08:00 about']])
    expect(receiptOf(records).lines).not.toContain(ON_HOLD);
});

it('the receipt of "tail --about" gives no time where the settings of a topic are not known', () => {
  const { cells, verdict } = receiptOf(['pupil 10:00 removal'], { settings: new Map() });
  expect(cells.slice(5)).toEqual(['not known', 'not known']);
  expect(verdict).toMatch(/^not complete: Kafka still has these records\. .* this user may not read/);
});

it('the receipt of "tail --about" says that a record of a decision stays, whatever else is left', () => {
  const decision = '@decision|x 08:00 about';
  const stays =
    /^not complete: the id is in rollcall\.north\.progress, in 1 record of a decision, which Rollcall keeps/;
  expect(receiptOf([decision]).verdict).toMatch(stays);
  const { cells, verdict } = receiptOf([...REMOVED, decision]);
  expect(verdict).toMatch(stays);
  expect(cells.slice(0, 7)).toEqual(expect.arrayContaining([PROGRESS, 'kept for good']));
  expect(cells.join(' ')).toContain('not complete until 2026-11-30T10:02:00.000Z: ');
});

it('the receipt of "tail --about" says that an id that is not found may be erased or mistyped', () => {
  expect(receiptOf(['other 08:00 other']).verdict).toMatch(
    /^nothing found: no record .* If an earlier search found it, its erasure .* is complete\. If not, check/,
  );
});

it('the receipt of "tail --about" says so if Kafka has not deleted records in time', () => {
  expect(receiptOf(REMOVED, { now: '30T10:03' }).verdict).toMatch(
    /^not complete: Kafka still has these records, although it should have deleted them by 2026-11-30/,
  );
});
