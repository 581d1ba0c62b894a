import { describe, expect, test } from 'vitest';
import { AbsenceIndex } from './support/absence-index.ts';
import { eventsOf, row } from './support/events.ts';

const V1 = row('v1', { replacedBy: 'v2' });
const V2 = row('v2', { replaces: 'v1' });

function published(...rows: Parameters<typeof row>[0][] | ReturnType<typeof row>[]): AbsenceIndex {
  const index = new AbsenceIndex();
  index.final(rows.map((each) => (typeof each === 'string' ? row(each) : each)));
  return index;
}

describe('absences, rule 1 of the design (lists):', () => {
  test('either of the two links makes one absence of two versions', () => {
    const expected = ['v1/1 CREATED v1', 'v1/2 REPLACED v2'];
    expect(eventsOf(published(row('v1'), V2))).toEqual(expected);
    expect(eventsOf(published(V1, row('v2')))).toEqual(expected);
  });

  test('a fork gives two current absences and is counted', () => {
    const index = published(V1, V2, row('v3', { replaces: 'v1' }));
    expect([...index.shown]).toEqual([
      ['v1', 'v2'],
      ['v3', 'v3'],
    ]);
    expect(index.oddities).toBe(1);
  });

  test('a loop keeps every version in one absence and is counted', () => {
    const index = published(
      row('v1', { replaces: 'v3', replacedBy: 'v2' }),
      row('v2', { replaces: 'v1', replacedBy: 'v3' }),
      row('v3', { replaces: 'v2', replacedBy: 'v1' }),
    );
    expect(index.entries.size).toBe(1);
    expect(index.oddities).toBeGreaterThan(0);
  });

  test('a version that refers to itself is current, and counted', () => {
    const index = published(row('v1', { replaces: 'v1', replacedBy: 'v1' }));
    expect([...index.shown]).toEqual([['v1', 'v1']]);
    expect(index.oddities).toBe(1);
  });

  test('a version never leaves its list because links change', () => {
    const index = published(V1, V2);
    index.final([row('v1'), row('v2')]);
    expect([...index.shown]).toEqual([['v1', 'v2']]);
  });

  test('a link that its record names no longer is counted no longer', () => {
    const index = published(V1, V2, row('v3', { replaces: 'v1' }));
    index.final([row('v3')]);
    expect(index.oddities).toBe(0);
  });
});

describe('absences, rule 2 of the design (awaited ids):', () => {
  test('an id that is referred to stands in the list until it is read', () => {
    const index = new AbsenceIndex();
    index.page([V1]);
    expect(index.awaited()).toEqual(['v2']);
    index.page([row('v2')]);
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2']);
    expect(index.awaited()).toEqual([]);
  });

  test('an awaited id that turns out to be of another student is taken out', () => {
    const index = published(V1);
    index.final([row('v2', { student: 2 })]);
    expect(index.entries.get('v1')?.members.map(({ id }) => id)).toEqual(['v1']);
    expect(index.entries.get('v2')?.student).toBe(2);
    expect(index.oddities).toBe(1);
  });

  test('a record without a student fits any', () => {
    const index = published(V1, row('v2', { replaces: 'v1', student: null }));
    expect([...index.shown]).toEqual([['v1', 'v2']]);
  });
});

describe('absences, rule 3 of the design (the absence id):', () => {
  test('it is the oldest version that was read at the first publication, and stays', () => {
    const index = published(row('v2', { replaces: 'v1' }));
    index.final([V1]);
    index.final([], ['v2']);
    expect(new Set(index.events.map(({ absenceId }) => absenceId))).toEqual(new Set(['v2']));
  });
});

describe('absences, rule 4 of the design (continued):', () => {
  test('two published absences and the middle version that comes later: the older one ends, merged into the younger', () => {
    const index = published(row('m'), row('z', { replaces: 'a' }));
    index.final([row('a', { replaces: 'm', replacedBy: 'z' })]);
    expect(eventsOf(index)).toEqual(['m/1 CREATED m', 'z/1 CREATED z', 'm/2 DELETED m MERGED z']);
    expect([...index.shown]).toEqual([['z', 'z']]);
  });

  test('the older absence waits until the one that continues it is published', () => {
    const index = published('v2');
    // v3 has a list of its own, which awaits v4; v2 joins at v3 although v1 stands before it
    index.page([row('v1', { replacedBy: 'v3' }), row('v3', { replaces: 'v1', replacedBy: 'v4' })]);
    index.page([row('v2', { replacedBy: 'v3' })]);
    index.final();
    const events = eventsOf(index);
    expect(events.indexOf('v2/2 DELETED v2 MERGED v1')).toBeGreaterThan(events.indexOf('v1/1 CREATED v1'));
    expect(index.events.filter(({ mergedInto, cause }) => cause === 'MERGED' && mergedInto === null)).toEqual(
      [],
    );
  });

  test('a pupil who is corrected by a replacement: the wrong absence is deleted and names no other, the right one is new', () => {
    for (const [before, after] of [
      [V1, row('v2', { student: 2 })],
      [row('v1'), row('v2', { replaces: 'v1', student: 2 })],
    ] as const) {
      const index = published(row('v1'));
      index.page([before]);
      index.page([after]);
      index.final();
      expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v2/1 CREATED v2', 'v1/2 DELETED v1']);
      expect([...index.shown]).toEqual([['v2', 'v2']]);
    }
  });

  test('a new version after the continued one restores its absence', () => {
    const index = published(row('v1'), row('v2', { replaces: 'v1', student: 2 }));
    index.final([row('v1', { replacedBy: 'v3' }), row('v3', { replaces: 'v1' })]);
    expect(eventsOf(index).at(-1)).toBe('v1/3 RESTORED v3');
  });
});

describe('absences, rule 5 of the design (tail and steps):', () => {
  test('each version after the one published last has its step, and then the deletion', () => {
    const index = published('v1');
    index.final([
      V1,
      row('v2', { replaces: 'v1', replacedBy: 'v3' }),
      row('v3', { replaces: 'v2', isDeleted: true }),
    ]);
    expect(eventsOf(index)).toEqual([
      'v1/1 CREATED v1',
      'v1/2 REPLACED v2',
      'v1/3 REPLACED v3',
      'v1/4 DELETED v3',
    ]);
  });

  test('a deleted version that leaves the hub does not revive the one before it', () => {
    const index = published(V1, row('v2', { replaces: 'v1', isDeleted: true }));
    index.final([], ['v2']);
    index.final([V1]);
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2', 'v1/3 DELETED v2']);
  });

  test('a version that was deleted and left before it was published ends the absence with the one published last', () => {
    const index = published('v1');
    index.page([V1, row('v3', { replaces: 'v2', isDeleted: true })]);
    index.page([], ['v3']);
    index.final();
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 DELETED v1']);
  });

  test('so does a version that was continued and left before it was published', () => {
    const index = published('v1', 'z');
    index.page([V1, row('v3', { replaces: 'v2', replacedBy: 'z' })]);
    index.page([
      row('z', { replaces: 'y' }),
      row('v3', { replaces: 'v2', replacedBy: 'z', isDeleted: true }),
    ]);
    index.page([], ['v3']);
    index.final();
    expect(index.events.filter(({ versionId }) => versionId === 'v3')).toEqual([]);
    expect(index.events.at(-1)).toMatchObject({ absenceId: 'v1', operation: 'DELETED', versionId: 'v1' });
  });

  test('what stands before the version published last is never published', () => {
    const index = published(V2);
    index.final([V1]);
    expect(eventsOf(index)).toEqual(['v2/1 CREATED v2']);
  });

  test('a deletion that is withdrawn restores the absence', () => {
    const index = published(row('v1', { isDeleted: true }));
    index.page([row('v1')]);
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 DELETED v1', 'v1/3 RESTORED v1']);
  });
});

describe('absences, rule 6 of the design (pages):', () => {
  test('while a sync runs, an absence is published up to its first awaited id, and no deletion beyond it', () => {
    const index = new AbsenceIndex();
    index.page([V1, row('v3', { replaces: 'v2', isDeleted: true })]);
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1']);
    index.final();
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v3', 'v1/3 DELETED v3']);
    expect([...index.entries.values()].some(({ isOpen }) => isOpen)).toBe(false);
  });

  test('the end of a sync ignores awaited ids', () => {
    const index = new AbsenceIndex();
    index.page([V2]);
    expect(eventsOf(index)).toEqual([]);
    index.final();
    expect(eventsOf(index)).toEqual(['v2/1 CREATED v2']);
  });
});

describe('absences, rule 7 of the design (vanished):', () => {
  test('the last one left names no successor: it is shown again, as replaced', () => {
    const index = published(row('v1'), V2);
    index.page([], ['v2']);
    expect(eventsOf(index)).toHaveLength(2);
    index.final();
    expect(eventsOf(index).at(-1)).toBe('v1/3 REPLACED v1 VANISHED');
  });

  test('the last one left names a successor: the absence is deleted, and restored when the tail is back', () => {
    const index = published(V1, V2);
    index.final([], ['v2']);
    expect(eventsOf(index).at(-1)).toBe('v1/3 DELETED v2 VANISHED');
    expect(index.entries.has('v1')).toBe(true);
    index.final([V2]);
    expect(eventsOf(index).at(-1)).toBe('v1/4 RESTORED v2');
  });

  test('the absence is also restored when the last one left names no successor any more', () => {
    const index = published(V1, V2);
    index.final([], ['v2']);
    index.final([row('v1')]);
    expect(eventsOf(index).at(-1)).toBe('v1/4 RESTORED v1');
  });

  test('none left: the absence is deleted and its entry goes', () => {
    const index = published(V1, V2);
    index.page([], ['v2']);
    index.page([], ['v1']);
    index.final();
    expect(eventsOf(index).at(-1)).toBe('v1/3 DELETED v2 VANISHED');
    expect(index.entries.size + index.pointers.size).toBe(0);
  });

  test('none left of an absence that is deleted already: only its entry goes', () => {
    const index = published(row('v1', { isDeleted: true }));
    expect(index.page([], ['v1']).ended).toEqual(['v1']);
    expect(eventsOf(index)).toHaveLength(2);
    expect(index.entries.size).toBe(0);
  });

  test('the oldest versions may leave the hub without an event', () => {
    const index = published(V1, V2);
    index.final([], ['v1']);
    index.final([row('v2', { replaces: 'v1', replacedBy: 'v3' }), row('v3', { replaces: 'v2' })]);
    expect(eventsOf(index)).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2', 'v1/3 REPLACED v3']);
  });
});

describe('absences, rule 8 of the design (another student):', () => {
  test('a person merged at the hub: the old absence ends, and the next full sync reads its records as new', () => {
    const index = published(V1, V2);
    const moved = [
      { ...V1, student: 2 },
      { ...V2, student: 2 },
    ];
    expect(index.page(moved).rejected).toEqual(['v1', 'v2']);
    expect(eventsOf(index)).toHaveLength(2);
    expect(index.final().ended).toEqual(['v1']);
    expect(eventsOf(index).at(-1)).toBe('v1/3 DELETED v2 VANISHED');
    index.final(moved);
    expect(eventsOf(index).slice(-2)).toEqual(['v1/1 CREATED v1', 'v1/2 REPLACED v2']);
    expect(index.lives.get('v1')).toHaveLength(2);
  });

  test('one version of several is rejected and counted, and the rest of its absence stays', () => {
    const index = published(row('v1'), V2);
    expect(index.final([{ ...V2, student: 2 }]).rejected).toEqual(['v2']);
    expect([...index.shown]).toEqual([['v1', 'v1']]);
    expect(index.oddities).toBe(1);
  });

  test('a rejected version that comes back as its own student is taken again', () => {
    const index = published(row('v1'), V2);
    index.final([{ ...V2, student: 2 }]);
    index.final([V2]);
    expect([...index.shown]).toEqual([['v1', 'v2']]);
    expect(index.oddities).toBe(0);
  });
});

describe('absences, rule 9 of the design (forgotten):', () => {
  test('nothing is published while the absence is over; live again, it is created with step 1', () => {
    const index = published(row('v1', { isDeleted: true }));
    index.forgetDeleted();
    index.final([row('v1', { isDeleted: true })]);
    expect(eventsOf(index)).toHaveLength(2);
    index.final([row('v1', { isDeleted: true, replacedBy: 'v2' }), V2]);
    expect(eventsOf(index).at(-1)).toBe('v1/1 CREATED v2');
  });

  test('a forgotten version that lives again is created with its own record', () => {
    const index = published(row('v1', { isDeleted: true }));
    index.forgetDeleted();
    index.page([row('v1')]);
    expect(eventsOf(index).at(-1)).toBe('v1/1 CREATED v1');
  });
});

describe('absences, rule 10 of the design (what is shown):', () => {
  test('a deleted version is hidden at once, although its deletion waits for an awaited id', () => {
    const index = published('v1');
    index.page([row('v1', { isDeleted: true, replacedBy: 'v2' })]);
    expect(eventsOf(index)).toHaveLength(1);
    expect([...index.shown]).toEqual([]);
  });

  test('a current version that comes again is shown again, without an event', () => {
    const index = published(V1, V2);
    const { steps, shown } = index.page([V2]);
    expect(steps).toEqual([]);
    expect([...shown]).toEqual([['v1', 'v2']]);
  });
});

test('of more than 1,000 versions of an absence the oldest go, but not the one that gave the id', () => {
  const index = new AbsenceIndex();
  for (let at = 0; at < 1_010; at += 1)
    index.page([row(`v${at}`, { replaces: at === 0 ? null : `v${at - 1}` })]);
  index.check();
  const members = index.entries.get('v0')?.members.map(({ id }) => id) ?? [];
  expect(members.length).toBeLessThanOrEqual(1_001);
  expect(members.slice(0, 2)).toEqual(['v0', 'v10']);
  expect(index.events.at(-1)).toMatchObject({ absenceId: 'v0', step: 1_010, versionId: 'v1009' });
});
