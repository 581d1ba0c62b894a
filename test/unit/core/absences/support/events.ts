import { expect } from 'vitest';
import type { VersionRow } from '../../../../../src/core/absences/absence-entry.ts';
import { AbsenceIndex } from './absence-index.ts';

export function row(id: string, more: Partial<Omit<VersionRow, 'id'>> = {}): VersionRow {
  return { id, replaces: null, replacedBy: null, isDeleted: false, student: 1, ...more };
}

/**
 * Plays a history: what a page (`;`) or the end of a sync (`.`) brings. `b<a>c!@2` is the version b of student 2, which
 * replaces a, is replaced by c and is deleted; `@-` has no student; `-b` has vanished; `forget` is time that passes.
 */
export function play(history: string): AbsenceIndex {
  const index = new AbsenceIndex();
  for (const [, text = '', end] of history.matchAll(/([^;.]*)([;.])/g)) {
    const words = text.split(' ').filter((word) => word !== '');
    const vanished = words.filter((word) => word.startsWith('-')).map((word) => word.slice(1));
    if (words[0] === 'forget') index.forgetDeleted();
    else index[end === '.' ? 'final' : 'page'](words.flatMap(rowOf), vanished);
    index.check();
  }
  return index;
}

function rowOf(word: string): VersionRow[] {
  const match = /^(\w+)(?:<(\w+))?(?:>(\w+))?(!?)(?:@(.))?$/.exec(word);
  if (match === null) return [];
  const [, id = '', replaces = null, replacedBy = null, deleted, student = '1'] = match;
  return [
    {
      id,
      replaces,
      replacedBy,
      isDeleted: deleted === '!',
      student: student === '-' ? null : Number(student),
    },
  ];
}

/** Each absence with its versions and the one that is shown; `?`: awaited ids, `!`: oddities, `x`: rejected rows. */
export function stateOf(index: AbsenceIndex): string {
  const absences = [...index.entries].map(
    ([key, { members }]) => `${key}(${members.map(({ id }) => id).join(' ')})=${index.shown.get(key) ?? ''}`,
  );
  const { oddities, rejected } = index;
  return [
    ...absences,
    index.awaited().map((id) => `?${id}`),
    oddities > 0 ? `!${oddities}` : [],
    rejected > 0 ? `x${rejected}` : [],
  ]
    .flat()
    .join(' ')
    .padEnd(1, '-');
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
