import { expect } from 'vitest';
import type { VersionRow } from '../../../../../src/core/absences/absence-entry.ts';
import type { AbsenceIndex } from './absence-index.ts';

export function row(id: string, more: Partial<Omit<VersionRow, 'id'>> = {}): VersionRow {
  return { id, replaces: null, replacedBy: null, isDeleted: false, student: 1, ...more };
}

/** The events, one per line. */
export function eventsOf({ events }: AbsenceIndex): string[] {
  return events.map(({ absenceId, step, operation, versionId, cause, mergedInto }) =>
    [`${absenceId}/${step}`, operation, versionId, cause === 'HUB' ? [] : cause, mergedInto ?? []]
      .flat()
      .join(' '),
  );
}

/** In each life of a key, steps count from 1 without a gap, and follow the states of an absence. */
export function expectLivesInOrder({ lives }: AbsenceIndex): void {
  for (const life of [...lives.values()].flat()) {
    expect(life.map(({ step }) => step)).toEqual(life.map((_, position) => position + 1));
    let state: 'none' | 'current' | 'deleted' = 'none';
    for (const { operation } of life) {
      const allowed = {
        none: ['CREATED'],
        current: ['REPLACED', 'DELETED'],
        deleted: ['RESTORED'],
      };
      expect(allowed[state]).toContain(operation);
      state = operation === 'DELETED' ? 'deleted' : 'current';
    }
  }
}
