import { expect, it } from 'vitest';
import { commonestReasons, countRejects, newSyncStats } from '../../../src/core/sync-stats.ts';
import { usersReader } from '../core/support/rows.ts';

it('reasons of rejects are ordered by frequency, name fields and hold no values', () => {
  const reader = usersReader();
  const stats = newSyncStats({ syncId: 'p', mode: 'FULL', startedAtMs: 0 });
  const rows = [
    { sourcedId: { secret: 4711 }, givenName: 'Oppdikta' },
    'Oppdikta',
    { givenName: 'Oppdikta' },
  ];
  const decoded = rows.map((row) => ({ key: null, rejectKey: 'r', decoded: reader.read(row) }));
  countRejects(stats, decoded);
  const [first, second, ...others] = commonestReasons(stats, 3);
  expect(first).toMatchObject({ rows: 2, reason: expect.stringContaining('`sourcedId`') });
  expect(second).toEqual({ rows: 1, reason: 'the row is not an object' });
  expect(others).toEqual([]);
  expect(JSON.stringify([first, second])).not.toMatch(/Oppdikta|4711/);
});

it('reasons of rejects are bounded, whatever a hub names its fields', () => {
  const stats = newSyncStats({ syncId: 'p', mode: 'FULL', startedAtMs: 0 });
  const reader = usersReader();
  for (let at = 0; at < 500; at += 1) {
    const decoded = reader.reject({ sourcedId: 'a' }, `reason ${at}`);
    countRejects(stats, [{ key: 'a', rejectKey: 'a', decoded: decoded }]);
  }
  expect(stats.rejectReasons.size).toBeLessThanOrEqual(101);
  expect([...stats.rejectReasons.values()].reduce((sum, rows) => sum + rows, 0)).toBe(500);
});
