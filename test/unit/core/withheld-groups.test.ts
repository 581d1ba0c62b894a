import { describe, expect, it } from 'vitest';
import { groupWithheld } from '../../../src/core/withheld-groups.ts';

const ref = (sourcedId: string) => ({ sourcedId, href: null, type: null });

describe('withheld deletions', () => {
  it('of enrolments are counted by school and class, the largest first', () => {
    const rows = ['a', 'b', 'b'].map((id, at) => ({
      key: `e${at}`,
      value: { class: ref(id), school: ref('s') },
    }));
    expect(groupWithheld('enrollments', rows)).toEqual([
      { by: 'school', counts: [{ id: 's', rows: 3 }] },
      {
        by: 'class',
        counts: [
          { id: 'b', rows: 2 },
          { id: 'a', rows: 1 },
        ],
      },
    ]);
  });

  it('of users are counted by their main school, or that of their first role', () => {
    const rows = [
      { key: 'u1', value: { primaryOrg: ref('s1'), roles: [{ org: ref('s2') }] } },
      { key: 'u2', value: { primaryOrg: null, roles: [{ org: ref('s2') }] } },
      { key: 'u3', value: null },
    ];
    expect(groupWithheld('users', rows)).toEqual([
      {
        by: 'school',
        counts: [
          { id: 's1', rows: 1 },
          { id: 's2', rows: 1 },
        ],
      },
    ]);
  });

  it('of absences are counted by day, and of schedules by the date in the key', () => {
    const value = { fromTime: Date.parse('2026-03-10T08:00:00Z') };
    expect(groupWithheld('absence-versions', [{ key: 'v', value }])).toEqual([
      { by: 'date', counts: [{ id: '2026-03-10', rows: 1 }] },
    ]);
    expect(groupWithheld('schedules', [{ key: 'p%7C1|2026-03-11', value: null }])).toEqual([
      { by: 'date', counts: [{ id: '2026-03-11', rows: 1 }] },
    ]);
  });

  it('have no group that names a person', () => {
    const value = { user: ref('pupil'), student: ref('pupil'), sourcedId: 'pupil', school: ref('s') };
    expect(JSON.stringify(groupWithheld('results', [{ key: 'pupil', value }]))).not.toContain('pupil');
  });
});
