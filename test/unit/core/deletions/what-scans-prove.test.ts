import { expect, it } from 'vitest';
import type { ScanEvidence } from '../../../../src/core/deletions/evidence.ts';
import { verdictsOn, type Verdicts } from '../../../../src/core/deletions/what-scans-prove.ts';

/** The scan of a scope that brought all ten of its rows. */
function scan(scope: string, given: Partial<ScanEvidence> = {}): ScanEvidence {
  const way = { reason: 'no-next-link', paging: 'keyset' };
  const counts = { rows: 10, distinctRows: 10, rowsWithoutId: 0, totalAtStart: 10, totalAtEnd: 10 };
  return { scope, ...way, ...counts, ...given };
}

const whole = scan('whole');
const short = scan('short', { rows: 9, distinctRows: 8 });
const refused = scan('refused', { isUnread: true });
const nameless = scan('nameless', { rowsWithoutId: 1 });
const broken = scan('broken', { reason: 'missing-list' });

/** What these scans prove of keys such as `whole|a`; `unread`: scopes that exist and that the sync did not read. */
function verdictsOf(scans: readonly ScanEvidence[], unread: readonly string[] = []): Verdicts {
  const scopes = new Set([...scans.map(({ scope }) => scope), ...unread]);
  return verdictsOn(scans, scopes, (key) => key.split('|')[0] ?? '');
}

it('a full sync counts for rows of complete scopes, and for rows of scopes that no longer exist', () => {
  const { countsFor } = verdictsOf([whole, short, refused, nameless, broken], ['later']);
  const all = ['whole|a', 'gone|a', 'short|a', 'refused|a', 'nameless|a', 'broken|a', 'later|a'];
  expect(all.filter(countsFor)).toEqual(['whole|a', 'gone|a']);
});

it('a row needs three misses only if its own scope was read by offset without a total', () => {
  const byOffset = scan('byOffset', { paging: 'offset', totalAtEnd: null });
  const { missesNeeded } = verdictsOf([whole, byOffset]);
  expect(['byOffset|a', 'whole|a', 'gone|a'].map(missesNeeded)).toEqual([3, 2, 2]);
});

it('a full sync is in doubt if rows have no id or no list was read, but not if it is short', () => {
  const all = [whole, short, refused, nameless, broken];
  expect(all.filter((each) => verdictsOf([whole, each]).hasDoubt)).toEqual([refused, nameless, broken]);
  expect(['whole|a', 'short|a'].filter(verdictsOf(all).isShort)).toEqual(['short|a']);
});

it('a full sync with an answer that had no list is incomplete, and says why', () => {
  const { whyInconclusive } = verdictsOf([whole, refused, short, broken]).ofSync({ unseen: [], known: 20 });
  expect(whyInconclusive).toBe('a response had no list');
});

it('refused parents make a full sync incomplete only if all are refused and rows are known', () => {
  const whyOf = (scans: ScanEvidence[], known: number) => verdictsOf(scans).ofSync({ unseen: [], known });
  expect(whyOf([whole, refused], 10).whyInconclusive).toBeNull();
  expect(whyOf([refused], 0).whyInconclusive).toBeNull();
  expect(whyOf([refused], 10).whyInconclusive).toContain('the hub does not find what the rows belong to');
});

it('a short full sync is complete if its scope has as many known rows as the hub did not show', () => {
  const verdictOn = (scans: ScanEvidence[], ...unseen: string[]) =>
    verdictsOf(scans).ofSync({ unseen, known: 10 });
  const shortfall = { rows: 8, total: 10, repeated: 1 };
  expect(verdictOn([short], 'short|a', 'short|b')).toEqual({ whyInconclusive: null, short: shortfall });
  const why = '8 of 10 rows were returned, 1 of them twice';
  expect(verdictOn([short, whole], 'short|a', 'whole|b')).toEqual({ whyInconclusive: why, short: shortfall });
  // The rows of a composed scope are one record, of which nothing is known alone.
  const composed = { ...short, isComposed: true };
  expect(verdictOn([composed], 'short|a', 'short|b')).toEqual({ whyInconclusive: why, short: shortfall });
});

it('a full sync is conclusive if a scope was read to its end, or if there was no scope to read', () => {
  const proves = (scans: ScanEvidence[]) => verdictsOf(scans).maySettle(false);
  for (const scans of [[], [whole], [short], [broken, whole]])
    expect([scans, proves(scans)]).toEqual([scans, true]);
  for (const scans of [[broken], [nameless], [refused]])
    expect([scans, proves(scans)]).toEqual([scans, false]);
});

it('a lost list of missing rows is made again only by a sync that read every scope in full', () => {
  const proves = (...scans: ScanEvidence[]) => verdictsOf(scans).maySettle(true);
  expect(proves(whole, refused)).toBe(true);
  for (const other of [short, nameless, broken])
    expect([other.scope, proves(whole, other)]).toEqual([other.scope, false]);
});
