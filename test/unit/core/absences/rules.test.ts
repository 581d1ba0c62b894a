import { deepStrictEqual } from 'node:assert';
import { expect, test } from 'vitest';
import {
  awaitedIn,
  forgotten,
  isShown,
  type AbsenceEntry,
  type AbsenceStep,
  type VersionRow,
} from '../../../../src/core/absences/absence-entry.ts';
import { studentFingerprint } from '../../../../src/core/absences/absence-version.ts';
import { decodeEntry, encodeEntry } from '../../../../src/core/absences/entry-codec.ts';
import {
  deriveAbsences,
  idsToLoad,
  type DerivedAbsences,
  type DeriveInput,
} from '../../../../src/core/absences/derive-absences.ts';

/** The index and the topics in memory. */
class AbsenceIndex {
  readonly entries = new Map<string, AbsenceEntry>();
  readonly pointers = new Map<string, string>();
  readonly shown = new Map<string, string>();
  readonly events: AbsenceStep[] = [];
  rejected = 0;

  read({
    mode,
    rows,
    vanished = [],
    lacking,
  }: Pick<DeriveInput, 'mode' | 'rows' | 'lacking'> & Partial<DeriveInput>): DerivedAbsences {
    const isFinal = mode === 'final';
    const open = [...this.entries].flatMap(([key, { isOpen }]) => (isFinal && isOpen ? [key] : []));
    const input = { mode, rows, vanished, open, lacking };
    const named = this.#load(idsToLoad(input));
    const others = isFinal ? [...named.values()].flatMap(({ continuedBy }) => continuedBy ?? []) : [];
    const out = deriveAbsences({ ...input, entries: new Map([...named, ...this.#load(others)]) });
    this.events.push(...out.steps);
    for (const [key, id] of out.shown) setOrDelete(this.shown, key, id);
    for (const key of out.ended) this.shown.delete(key);
    for (const [key, entry] of out.entries) setOrDelete(this.entries, key, entry);
    // No pointer is written that stands already.
    expect([...out.pointers].filter(([id, key]) => (this.pointers.get(id) ?? null) === key)).toEqual([]);
    for (const [id, key] of out.pointers) setOrDelete(this.pointers, id, key);
    this.rejected += new Set(out.rejected).size;
    this.#check();
    return out;
  }

  forgetDeleted(): void {
    for (const [key, entry] of this.entries) {
      const { isDeleted = false, step = 0 } = entry.published ?? {};
      if (isDeleted && step > 0) this.entries.set(key, forgotten(entry));
    }
  }

  #load(ids: Iterable<string>): Map<string, AbsenceEntry> {
    const found = [...ids].flatMap((id) => {
      const key = this.pointers.get(id) ?? id;
      const entry = this.entries.get(key);
      return entry === undefined ? [] : [[key, entry] as const];
    });
    return new Map(found);
  }

  /** Throws if entries and pointers do not fit each other, or an entry is not the same once encoded and decoded. */
  #check(): void {
    const entries = [...this.entries];
    const members = entries.flatMap(([key, each]) => each.members.map(({ id }) => [id, key] as const));
    const owners = new Map(members);
    for (const [key, entry] of entries) deepStrictEqual(decodeEntry(key, encodeEntry(key, entry)), entry);
    const shown = entries.flatMap(([key, each]) => (isShown(each) ? key : []));
    expect(new Set(this.shown.keys())).toEqual(new Set(shown));
    expect(members.length).toBe(owners.size);
    expect(this.pointers).toEqual(new Map(members.filter(([id, key]) => id !== key)));
  }
}

function setOrDelete<T>(map: Map<string, T>, key: string, value: T | null): void {
  if (value === null) map.delete(key);
  else map.set(key, value);
}

/**
 * Plays a history: what a page (`;`) or the end of a sync (`.`) brings. `b<a>c!@2` is the version b of student 2, which
 * replaces a, is replaced by c and is deleted; `@-` has no student; `-b` has vanished; the record of `~b` is not at hand;
 * `forget` is time that passes.
 */
function play(history: string): AbsenceIndex {
  const index = new AbsenceIndex();
  for (const [, text = '', end] of history.matchAll(/([^;.]*)([;.])/g)) {
    const words = text.split(' ').filter((word) => word !== '');
    const marked = (mark: string) => words.filter((word) => word[0] === mark).map((word) => word.slice(1));
    const mode = end === '.' ? 'final' : 'page';
    if (words[0] === 'forget') index.forgetDeleted();
    else
      index.read({ mode, rows: words.flatMap(rowOf), vanished: marked('-'), lacking: new Set(marked('~')) });
  }
  return index;
}

function rowOf(word: string): VersionRow[] {
  const match = /^(\w+)(?:<(\w+))?(?:>(\w+))?(!?)(?:@(.))?$/.exec(word);
  if (match === null) return [];
  const [, id = '', replaces = null, replacedBy = null, deleted, student = '1'] = match;
  const isDeleted = deleted === '!';
  return [{ id, replaces, replacedBy, isDeleted, student: student === '-' ? null : Number(student) }];
}

/** Each absence with its versions and the one that is shown; `?`: awaited ids, `!`: contradictions, `x`: rejected rows. */
function stateOf({ entries, shown, rejected }: AbsenceIndex): string {
  const all = [...entries.values()];
  const contradictions = all
    .flatMap(({ members }) => members)
    .filter(({ hasRefusedLink, state }) => hasRefusedLink || state === 'foreign');
  return [
    ...[...entries].map(
      ([key, { members }]) => `${key}(${members.map(({ id }) => id).join(' ')})=${shown.get(key) ?? ''}`,
    ),
    ...all.flatMap((entry) => (entry.isOpen ? awaitedIn(entry).map((id) => `?${id}`) : [])),
    contradictions.length > 0 ? `!${contradictions.length}` : [],
    rejected > 0 ? `x${rejected}` : [],
  ]
    .flat()
    .join(' ')
    .padEnd(1, '-');
}

function eventsOf({ events }: AbsenceIndex): string {
  const written = events.map(({ absenceId, step, operation, versionId, cause, mergedInto }) =>
    [`${absenceId}/${step}`, operation, versionId, cause === 'HUB' ? [] : cause, mergedInto ?? []]
      .flat()
      .join(' '),
  );
  return written.join(', ').padEnd(1, '-');
}

/** Each name is followed by its histories: what is read (see `play`) → events → what is shown → the number of contradictions. */
const HISTORIES = `
rule 1 (lists): either of the two links makes one absence of two versions
  v1 v2<v1. → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
  v1>v2 v2. → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
rule 1 (lists): a fork gives two current absences and is counted
  v1>v2 v2<v1 v3<v1. → v1/1 CREATED v1, v1/2 REPLACED v2, v3/1 CREATED v3 → v1(v1 v2)=v2 v3(v3)=v3 !1
rule 1 (lists): a loop keeps every version in one absence and is counted
  v1<v3>v2 v2<v1>v3 v3<v2>v1. → v3/1 CREATED v3, v3/2 REPLACED v1, v3/3 REPLACED v2 → v3(v3 v1 v2)=v2 !2
rule 1 (lists): a version that refers to itself is current, and counted
  v1<v1>v1. → v1/1 CREATED v1 → v1(v1)=v1 !1
rule 1 (lists): a version never leaves its list because links change
  v1>v2 v2<v1. v1 v2. → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
rule 1 (lists): a refused link is counted until its record no longer names it
  v1>v2 v2<v1 v3<v1. v3. → v1/1 CREATED v1, v1/2 REPLACED v2, v3/1 CREATED v3 → v1(v1 v2)=v2 v3(v3)=v3
rule 1 (lists): all rows of a batch are placed before any link is followed
  v3<v2 v1 v2<v1; → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v3 → v1(v1 v2 v3)=v3
  v2<v1 v1 v3<v2; → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v3 → v1(v1 v2 v3)=v3
  v1 v3<v2 v2<v1; → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v3 → v1(v1 v2 v3)=v3
rule 1 (lists): a placeholder id in both links does not chain the absences that name it
  v1<none>none. v2<none>none v3<none>none v4<none>none@2. → v1/1 CREATED v1, v2/1 CREATED v2, v3/1 CREATED v3, v4/1 CREATED v4 → v1(none v1)=v1 v2(v2)=v2 v3(v3)=v3 v4(v4)=v4 !5
rule 2 (awaited ids): an id that a version refers to stands in the list until its version is read
  v1>v2; → v1/1 CREATED v1 → v1(v1 v2)=v1 ?v2
  v1>v2; v2; → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
rule 2 (awaited ids): an awaited version leaves the list if it is of another student
  v1>v2. v2@2. → v1/1 CREATED v1, v2/1 CREATED v2, v1/2 DELETED v1 → v1(v1)= v2(v2)=v2 !1
rule 2 (awaited ids): a version without a student fits into the list of any student
  v1>v2 v2<v1@-. → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
rule 2 (awaited ids): an awaited id never becomes an absence id, as it may be of another student
  v2<v1; v1@2; . → v2/1 CREATED v2, v1/1 CREATED v1, v1/2 DELETED v1 → v2(v2)=v2 v1(v1)= !1
rule 2 (awaited ids): an id stays awaited if a version of another student refers to it
  v1>v2; x<v2@2; → v1/1 CREATED v1, x/1 CREATED x → v1(v1 v2)=v1 x(x)=x ?v2 !2
rule 3 (the absence id): the oldest version read at the first publication gives the id for good
  v2<v1. v1>v2. -v2. → v2/1 CREATED v2, v2/2 DELETED v2 VANISHED → v2(v1 v2)=
rule 4 (continued): when a later version joins two published absences, the older absence ends
  m z<a. a<m>z. → m/1 CREATED m, z/1 CREATED z, m/2 DELETED m MERGED z → m(m)= z(a z)=z !1
  m. z<a. a<m>z. m>a. → m/1 CREATED m, z/1 CREATED z, m/2 DELETED m MERGED z → m(m)= z(a z)=z !2
rule 4 (continued): an absence ends only once the absence that continues it is published
  v2. v1>v3 v3<v1>v4; v2>v3; . → v2/1 CREATED v2, v1/1 CREATED v1, v1/2 REPLACED v3, v2/2 DELETED v2 MERGED v1 → v2(v2)= v1(v1 v3 v4)=v3 !1
  e; a<b; e>a; . → e/1 CREATED e, a/1 CREATED a, e/2 DELETED e MERGED a → e(e)= a(b a)=a !1
rule 4 (continued): a replacement that corrects the pupil ends one absence and begins another
  v1. v1>v2; v2@2; . → v1/1 CREATED v1, v2/1 CREATED v2, v1/2 DELETED v1 → v1(v1)= v2(v2)=v2 !1
  v1. v1; v2<v1@2; . → v1/1 CREATED v1, v2/1 CREATED v2, v1/2 DELETED v1 → v1(v1)= v2(v2)=v2 !1
rule 4 (continued): a new version restores an absence that had ended as continued
  v1 v2<v1@2. v1>v3 v3<v1. → v1/1 CREATED v1, v2/1 CREATED v2, v1/2 DELETED v1, v1/3 RESTORED v3 → v1(v1 v3)=v3 v2(v2)=v2 !1
rule 5 (tail and steps): each new version gets a step, and the deletion of the last one gets another
  v1. v1>v2 v2<v1>v3 v3<v2!. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v3, v1/4 DELETED v3 → v1(v1 v2 v3)=
rule 5 (tail and steps): a deleted version that leaves the hub does not revive an older version
  v1>v2 v2<v1!. -v2. v1>v2. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 → v1(v1 v2)=
rule 5 (tail and steps): an absence whose tail left unpublished ends with its last published version
  v1. v1>v2 v3<v2!; -v3; . → v1/1 CREATED v1, v1/2 DELETED v1 → v1(v1 v2 v3)=
  v1 z. v1>v2 v3<v2>z; z<y v3<v2>z!; -v3; . → v1/1 CREATED v1, z/1 CREATED z, v1/2 DELETED v1 MERGED z → v1(v1 v2 v3)= z(y z)=z !1
rule 5 (tail and steps): a version older than the last published version is never published
  v2<v1. v1>v2. → v2/1 CREATED v2 → v2(v1 v2)=v2
rule 5 (tail and steps): a deletion that is withdrawn restores the absence
  v1!. v1; → v1/1 CREATED v1, v1/2 DELETED v1, v1/3 RESTORED v1 → v1(v1)=v1
rule 6 (pages): until a sync ends, no version is published after the first awaited id
  v1>v2 v3<v2!; → v1/1 CREATED v1 → v1(v1 v2 v3)=v1 ?v2
  v1>v2 v3<v2!; . → v1/1 CREATED v1, v1/2 REPLACED v3, v1/3 DELETED v3 → v1(v1 v2 v3)=
rule 6 (pages): the end of a sync ignores awaited ids
  v2<v1; → - → v2(v1 v2)= ?v1
  v2<v1; . → v2/1 CREATED v2 → v2(v1 v2)=v2
rule 6 (pages): an absence with a record that is not at hand is published at the end of the sync
  v1 v2<v1 ~v2; → - → v1(v1 v2)=
  v1 v2<v1 ~v2; . → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
rule 7 (vanished): the last version left is shown again after the sync if it names no successor
  v1 v2<v1. -v2; → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2
  v1 v2<v1. -v2; . → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v1 VANISHED → v1(v1 v2)=v1
rule 7 (vanished): an absence is deleted while its last version names a successor that is gone
  v1>v2 v2<v1. -v2. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 VANISHED → v1(v1 v2)=
  v1>v2 v2<v1. -v2. v2<v1. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 VANISHED, v1/4 RESTORED v2 → v1(v1 v2)=v2
  v1>v2 v2<v1. -v2. v1. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 VANISHED, v1/4 RESTORED v1 → v1(v1 v2)=v1
rule 7 (vanished): an absence of which no version is left is deleted once, and its entry goes
  v1>v2 v2<v1. -v2; -v1; . → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 VANISHED → -
  v1!. -v1; → v1/1 CREATED v1, v1/2 DELETED v1 → -
rule 7 (vanished): the oldest versions may leave the hub without an event
  v1>v2 v2<v1. -v1. v2<v1>v3 v3<v2. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v3 → v1(v1 v2 v3)=v3
rule 7 (vanished): the loss of an id that was never read changes nothing
  v1>v2; -v2 -x; → v1/1 CREATED v1 → v1(v1 v2)=v1 ?v2
rule 8 (another student): a merged person's absence ends, and the next full sync reads a new one
  v1>v2 v2<v1. v1>v2@2 v2<v1@2; → v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2 !2 x2
  v1>v2 v2<v1. v1>v2@2 v2<v1@2; . → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 VANISHED → x2
  v1>v2 v2<v1. v1>v2@2 v2<v1@2; . v1>v2@2 v2<v1@2. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 DELETED v2 VANISHED, v1/1 CREATED v1, v1/2 REPLACED v2 → v1(v1 v2)=v2 x2
rule 8 (another student): a version of another student is rejected until its own student has it back
  v1 v2<v1. v2<v1@2. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v1 VANISHED → v1(v1 v2)=v1 !1 x1
  v1 v2<v1. v2<v1@2. v2<v1. → v1/1 CREATED v1, v1/2 REPLACED v2, v1/3 REPLACED v1 VANISHED, v1/4 REPLACED v2 → v1(v1 v2)=v2 x1
rule 9 (forgotten): a forgotten absence publishes nothing while it is over, then begins at step 1
  v1!. forget; v1!. → v1/1 CREATED v1, v1/2 DELETED v1 → v1(v1)=
  v1!. forget; v1>v2! v2<v1. → v1/1 CREATED v1, v1/2 DELETED v1, v1/1 CREATED v2 → v1(v1 v2)=v2
  v1!. forget; v1; → v1/1 CREATED v1, v1/2 DELETED v1, v1/1 CREATED v1 → v1(v1)=v1
rule 10 (what is shown): a deleted version is hidden at once, even if its deletion waits
  v1. v1>v2!; → v1/1 CREATED v1 → v1(v1 v2)= ?v2
`;

const all = HISTORIES.trim().split(/\n(?! )/);
test.each(all.map((each) => each.split('\n  ')))('%s', (_name, ...histories) => {
  for (const each of histories) {
    const [history = '', events, state] = each.split(' → ');
    const index = play(history);
    expect([history, eventsOf(index), stateOf(index)]).toEqual([history, events, state]);
  }
});

test('a current version that is read again shows its absence in `absences` again, but makes no event', () => {
  const index = play('v1>v2 v2<v1.');
  const { steps, shown } = index.read({ mode: 'page', rows: rowOf('v2<v1') });
  expect([steps, [...shown]]).toEqual([[], [['v1', 'v2']]]);
});

test('a deleted absence does not open again when a version that went to another student is read', () => {
  const index = play('v1>v2 v2<v1>v3 v3<v2. v3<v2@2; .');
  expect(index.entries.get('v1')).toMatchObject({ published: { isDeleted: true }, isOpen: false });
  index.read({ mode: 'page', rows: rowOf('v3<v2@2') });
  expect(index.entries.get('v1')?.isOpen).toBe(false);
});

test('of more than 1,000 versions of an absence, the oldest go, except the version that gave the id', () => {
  const index = play(
    Array.from({ length: 1_010 }, (_, at) => `v${at}<v${at - 1};`.replace('<v-1', '')).join(''),
  );
  const members = index.entries.get('v0')?.members.map(({ id }) => id) ?? [];
  expect(members.length).toBeLessThanOrEqual(1_001);
  expect(members.slice(0, 2)).toEqual(['v0', 'v10']);
  expect(index.events.at(-1)).toMatchObject({ absenceId: 'v0', step: 1_010, versionId: 'v1009' });
});

const lone = { replaces: null, replacedBy: null, isDeleted: false, student: 1 };

test('an absence of one version takes six bytes, one of three at most 90, and damaged bytes are refused', () => {
  const [one = '', two = '', three = ''] = [1, 2, 3].map(
    (each) => `3f2504e0-4f89-41d3-9a0c-0305e82c330${each}`,
  );
  for (const [ids, most] of [
    [[one], 6],
    [[one, two, three], 90],
  ] as const) {
    const index = new AbsenceIndex();
    const rows = ids.map((id, at) => Object.assign({ id }, lone, { replaces: ids[at - 1] ?? null }));
    index.read({ mode: 'final', rows });
    const entry = index.entries.get(one);
    if (entry === undefined) throw new Error('there is no entry');
    const bytes = encodeEntry(one, entry);
    expect(bytes.length + index.pointers.size * 17).toBeLessThanOrEqual(most);
    expect(() => decodeEntry(one, bytes.subarray(0, -1))).toThrow(RangeError);
    expect(() => decodeEntry(one, Buffer.concat([bytes, Buffer.from([0])]))).toThrow(RangeError);
  }
});

test('the fingerprint of a student has 32 bits, and differs between tenants', () => {
  expect(studentFingerprint('a', 's1')).not.toBe(studentFingerprint('b', 's1'));
  expect(studentFingerprint('a', 's1')).toBe(studentFingerprint('a', 's1'));
  expect(studentFingerprint('a', 's1')).toBeLessThan(2 ** 32);
});
