import { describe, expect, it } from 'vitest';
import { chainProblems, toldChanges } from '../support/chain-oracle.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const LENIENT = { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } };

async function problemsOf(mirror: Mirror): Promise<string[]> {
  const absences = await mirror.records('absences');
  const changes = await mirror.records('absence-changes');
  return chainProblems({ hub: mirror.hub, absences, changes });
}

describe('absences and their changes', () => {
  it('a first load is told as a snapshot, and nothing after it', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS, settings: LENIENT });
    await mirror.full();
    expect(await problemsOf(mirror)).toEqual([]);
    const first = toldChanges(await mirror.records('absence-changes'));
    expect(first.length).toBeGreaterThan(100);
    expect(first.filter(({ snapshot }) => !snapshot)).toEqual([]);
    const { district, clock } = mirror.hub;
    const student = district.ids('students')[0] ?? '';
    const id = district.registerAbsence({
      student,
      fromTime: '2026-03-10T08:00:00Z',
      toTime: '2026-03-10T09:00:00Z',
    });
    const second = district.replaceAbsence(id, { changes: { toTime: '2026-03-10T10:00:00Z' } });
    await mirror.delta();
    district.deleteAbsence(second);
    clock.advance(60_000);
    await mirror.restart();
    await mirror.delta();
    const told = toldChanges(await mirror.records('absence-changes')).filter(
      ({ absenceId }) => absenceId === id,
    );
    expect(told).toMatchObject([
      { step: 1, operation: 'CREATED', versionId: id, previousId: null, snapshot: false, cause: 'HUB' },
      { step: 2, operation: 'REPLACED', versionId: second, previousId: id, snapshot: false },
      { step: 3, operation: 'DELETED', versionId: second, previousId: null, snapshot: false },
    ]);
    expect(await problemsOf(mirror)).toEqual([]);
  });
});
