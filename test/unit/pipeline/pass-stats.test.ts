import { describe, expect, it } from 'vitest';
import { commonestReasons, countRejects, newPassStats } from '../../../src/pipeline/pass-stats.ts';
import { usersReader } from '../core/support/rows.ts';

describe('reasons of rejects', () => {
  it('are ordered by frequency, name fields and hold no values', () => {
    const reader = usersReader();
    const stats = newPassStats({ passId: 'p', mode: 'FULL', startedAtMs: 0 });
    const rows = [
      { sourcedId: { secret: 4711 }, givenName: 'Oppdikta' },
      'Oppdikta',
      { givenName: 'Oppdikta' },
    ];
    const readings = rows.map((row) => ({ key: null, rejectKey: 'r', reading: reader.read(row) }));
    countRejects(stats, readings);
    const [first, second, ...others] = commonestReasons(stats, 3);
    expect(first).toMatchObject({ rows: 2, reason: expect.stringContaining('`sourcedId`') });
    expect(second).toEqual({ rows: 1, reason: 'the row is not an object' });
    expect(others).toEqual([]);
    expect(JSON.stringify([first, second])).not.toMatch(/Oppdikta|4711/);
  });

  it('are bounded, whatever a hub names its fields', () => {
    const stats = newPassStats({ passId: 'p', mode: 'FULL', startedAtMs: 0 });
    const reader = usersReader();
    for (let at = 0; at < 500; at += 1) {
      const reading = reader.reject({ sourcedId: 'a' }, `reason ${at}`);
      countRejects(stats, [{ key: 'a', rejectKey: 'a', reading }]);
    }
    expect(stats.rejectReasons.size).toBeLessThanOrEqual(101);
    expect([...stats.rejectReasons.values()].reduce((sum, rows) => sum + rows, 0)).toBe(500);
  });
});
