import { expect, it } from 'vitest';
import type { ReferenceHub } from '../../reference-hub/start-reference-hub.ts';
import { createMemoryStore } from '../../src/state/memory-state.ts';
import { chainProblems } from './absences.ts';
import { StateHistory, type Row } from './history.ts';
import { notAsTheHub, wronglyPublished } from './oracle.ts';
import { problemsOfCounts, problemsOfIndex, type Evidence } from './progress.ts';
import { differences, type TopicRecord } from './rows.ts';
import { scheduleDifferences } from './schedules.ts';

/*
 * A small log that is right; each wrong change of it must be found. The errors that planted mistakes lead to (test/simulation/mistakes)
 * are found there.
 */

type Published = readonly [topic: string, key: string, value: Row | null, more?: { ce_type?: string }];

const user = (name: string): Row => ({ sourcedId: 'a', familyName: name, active: 'true' });
const inTopic = (name: string): Row => ({ sourcedId: 'a', familyName: name, active: true });

function version(id: string, links: Row = {}, student = 's1'): Row {
  return { sourcedId: id, fromTime: 1, student: { sourcedId: student }, ...links };
}
const X1 = version('x1');
const X1_REPLACED = version('x1', { replacedBy: { sourcedId: 'x2' } });
const X2 = version('x2', { replaces: { sourcedId: 'x1' } });
const X2_DELETED = { ...X2, deletedTime: 50_000 };
const Y1 = version('y1', {}, 's2');

function event(absenceId: string, step: number, operation: string, shown: Row, more: Row = {}): Published {
  const value = { absenceId, step, operation, cause: 'HUB', version: shown, snapshot: step === 1, ...more };
  return ['absence-changes', absenceId, value, { ce_type: `rollcall.absence.${operation.toLowerCase()}` }];
}

function hubHistory(): StateHistory {
  const history = new StateHistory();
  for (const [ms, topic, key, row] of [
    [0, 'users', 'a', user('A')],
    [0, 'users', 'b', { ...user('B'), sourcedId: 'b' }],
    [10_000, 'users', 'a', user('AA')],
    [40_000, 'users', 'a', null],
    [0, 'absence-versions', 'x1', X1],
    [0, 'absence-versions', 'y1', Y1],
    [20_000, 'absence-versions', 'x1', X1_REPLACED],
    [20_000, 'absence-versions', 'x2', X2],
    [50_000, 'absence-versions', 'x2', X2_DELETED],
  ] as const)
    history.put(topic, key, row, ms);
  return history;
}

const NOTHING_WRONG = { rowsNotFound: 0, rowsRejected: 0, rowsWithoutId: 0, rowsOnHold: 0 };

const TRANSACTIONS: readonly (readonly Published[])[] = [
  [
    ['users', 'a', inTopic('A')],
    ['users', 'b', { ...inTopic('B'), sourcedId: 'b' }],
  ],
  [
    ['absence-versions', 'x1', X1],
    ['absence-versions', 'y1', Y1],
    ['absences', 'x1', { absenceId: 'x1', ...X1 }],
    ['absences', 'y1', { absenceId: 'y1', ...Y1 }],
    event('x1', 1, 'CREATED', X1),
    event('y1', 1, 'CREATED', Y1),
  ],
  [['users', 'a', inTopic('AA')]],
  [
    ['absence-versions', 'x1', X1_REPLACED],
    ['absence-versions', 'x2', X2],
    ['absences', 'x1', { absenceId: 'x1', ...X2 }],
    event('x1', 2, 'REPLACED', X2, { previousVersion: X1_REPLACED }),
  ],
  [['users', 'a', null]],
  [['absence-versions', 'x2', X2_DELETED], ['absences', 'x1', null], event('x1', 3, 'DELETED', X2_DELETED)],
];

function logOf(transactions: readonly (readonly Published[])[]): Map<string, TopicRecord[]> {
  const log = new Map<string, TopicRecord[]>();
  const offsets = new Map<string, Record<string, number>>();
  const put = (topic: string, key: string, value: Row | null, transaction: number, headers: Row = {}) => {
    const records = log.get(topic) ?? [];
    log.set(topic, records);
    const offset = records.length;
    const written: Record<string, string> = {
      ce_id: `${topic} ${offset}`,
      ...(headers as Record<string, string>),
    };
    if (value !== null) written['content-hash'] = JSON.stringify(value);
    const place = { topic: `p.t.${topic}`, partition: 0, offset };
    records.push({
      ...place,
      key,
      value,
      headers: written,
      publishedAtMs: transaction * 10_000,
      transaction,
    });
    offsets.set(topic, { [`${place.topic}/0`]: offset });
  };
  const tally = new Map<string, { sequence: number; keys: Set<string>; full: Row | null }>();
  for (const [transaction, records] of transactions.entries()) {
    for (const [topic, key, value, headers] of records) put(topic, key, value, transaction, headers);
    const topics = new Set(records.map(([topic]) => topic));
    for (const collection of topics) {
      const of = tally.get(collection) ?? { sequence: 0, keys: new Set(), full: null };
      tally.set(collection, of);
      of.sequence += 1;
      const own = records.filter(([topic]) => topic === collection);
      for (const [, key, value] of own) of.keys[value === null ? 'delete' : 'add'](key);
      const syncId = `sync ${transaction}`;
      const isFull = of.sequence === 1;
      const full = { ...NOTHING_WRONG, syncId, rows: of.keys.size, offsets: offsets.get(collection) };
      if (isFull) of.full = full;
      const counts = {
        rowsPublished: own.filter(([, , value]) => value !== null).length,
        rowsRemoved: own.filter(([, , value]) => value === null).length,
      };
      const mode = isFull ? 'FULL' : 'INCREMENTAL';
      const at = { sequence: of.sequence, transactionId: `transaction ${transaction}`, syncId, mode };
      const value = { collection, ...at, complete: true, watermark: transaction, ...counts };
      put(
        'progress',
        collection,
        { ...value, offsets: offsets.get(collection), lifeId: 'first', lastCompleteFull: of.full },
        transaction,
      );
    }
  }
  return log;
}

const HUB = hubHistory();
const HISTORY = { collections: ['users', 'absence-versions'], of: (name: string) => HUB.of(name) };
const SOUND: Evidence = logOf(TRANSACTIONS);

function problemsOf(evidence: Evidence): string[] {
  const wanted = HISTORY.collections.map((name) => {
    const rows = [...HUB.of(name)].flatMap(([key, states]): [string, Row][] => {
      const row = states.at(-1)?.row ?? null;
      return row === null ? [] : [[key, row]];
    });
    return [name, new Map(rows)] as const;
  });
  const mirrored = { history: HISTORY, evidence };
  return [
    ...wronglyPublished(mirrored),
    ...notAsTheHub(mirrored, new Map(wanted)),
    ...problemsOfCounts(evidence),
  ];
}

/** The log with other records in a transaction. */
function replaced(transaction: number, ...records: Published[]): Evidence {
  return logOf(TRANSACTIONS.map((each, at) => (at === transaction ? records : each)));
}

function added(transaction: number, ...records: Published[]): Evidence {
  return replaced(transaction, ...(TRANSACTIONS[transaction] ?? []), ...records);
}

/** The log with a record changed; `at`: its place in the topic. */
function changed(topic: string, at: number, change: (record: TopicRecord) => Partial<TopicRecord>): Evidence {
  const records = [...(SOUND.get(topic) ?? [])];
  const record = records.at(at) as TopicRecord;
  return new Map([...SOUND, [topic, records.with(at, { ...record, ...change(record) })]]);
}

function withValue(topic: string, at: number, fields: Row): Evidence {
  return changed(topic, at, ({ value }) => ({ value: { ...value, ...fields } }));
}

/** A topic in which a record stands twice; `change`: what of its second copy is another. */
function doubled(
  topic: string,
  at: number,
  change: (record: TopicRecord) => Partial<TopicRecord> = () => ({}),
): TopicRecord[] {
  const records = SOUND.get(topic) ?? [];
  const record = records[at] as TopicRecord;
  const copy = { ...record, offset: record.offset + 1, ...change(record) };
  const later = records.slice(at + 1).map((each) => Object.assign({}, each, { offset: each.offset + 1 }));
  return [...records.slice(0, at + 1), copy, ...later];
}

/** As if other content had been published under an id of its own. */
const otherId = ({ headers }: TopicRecord) => ({ headers: { ...headers, ce_id: 'another' } });

const [, , , THIRD = [], , LAST = []] = TRANSACTIONS;

it('the oracle of the tests finds no error in a sound log, whether transactions are known or not', () => {
  const asRead = new Map<string, TopicRecord[]>();
  for (const [topic, records] of SOUND) {
    const unknown = (record: TopicRecord) => Object.assign({}, record, { transaction: undefined });
    asRead.set(topic, records.map(unknown));
  }
  expect(problemsOf(SOUND)).toEqual([]);
  expect(wronglyPublished({ history: HISTORY, evidence: asRead })).toEqual([]);
});

it.each<[string, () => Evidence]>([
  ['content that the hub never had', () => added(4, ['users', 'b', inTopic('nobody')])],
  ['published twice', () => added(2, ['users', 'a', { ...inTopic('AA'), dateLastModified: 1 }])],
  ['published before the hub had it', () => changed('users', 2, () => ({ publishedAtMs: 1 }))],
  ['two records have one ce_id: users', () => new Map([...SOUND, ['progress', doubled('progress', 0)]])],
  ['published twice: x1', () => new Map([...SOUND, ['absences', doubled('absences', 0, otherId)]])],
  ['missing from the topic', () => replaced(0, ['users', 'a', inTopic('A')])],
  ['not at the hub', () => replaced(4)],
  ['.familyName differs', () => added(4, ['users', 'b', { ...inTopic('C'), sourcedId: 'b' }])],
  ['step 3 after 1', () => replaced(3, ...THIRD.slice(0, 3))],
  ['step 2 after 2', () => added(3, event('x1', 2, 'REPLACED', X2))],
  ['REPLACED 2: replaced by itself', () => added(3, event('y1', 2, 'REPLACED', Y1))],
  ['nulled, but not deleted', () => added(3, ['absence-changes', 'y1', null])],
  ['nulled, but never created', () => added(3, ['absence-changes', 'z1', null])],
  ['of another absence than its key', () => withValue('absence-changes', 0, { absenceId: 'y1' })],
  ['ce_type', () => changed('absence-changes', 0, () => ({ headers: { ce_id: 'other' } }))],
  [
    'records of two students',
    () => withValue('absence-changes', 2, { previousVersion: version('x1', {}, 's2') }),
  ],
  ['an outdated record', () => withValue('absence-changes', 2, { previousVersion: X1 })],
  ['not published x2', () => replaced(3, ...THIRD.slice(0, 2))],
  ['over, but not published as over', () => replaced(5, ...LAST.slice(0, 2))],
  ['published as over, but it is not', () => added(5, event('y1', 2, 'DELETED', Y1))],
  ['vanished, but it is there', () => withValue('absence-changes', -1, { cause: 'VANISHED' })],
  ['under several ids: x1 x2', () => changed('absence-changes', 2, () => ({ key: 'x2' }))],
  ['has the id x2', () => changed('absence-changes', 1, () => ({ key: 'x2' }))],
  ['y1 is shown twice', () => added(5, ['absences', 'y2', Y1])],
  ['x2 is deleted', () => replaced(5, ...LAST.filter(([topic]) => topic !== 'absences'))],
  ['stands under another id', () => withValue('absences', 1, { absenceId: 'y2' })],
  ['shows nothing, not y1', () => added(5, ['absences', 'y1', null])],
  ['goes back in p.t.users/0', () => withValue('progress', -4, { offsets: { 'p.t.users/0': 0 } })],
  ['goes back in a life', () => withValue('progress', -4, { offsets: { 'p.t.users/0': 0 } })],
  ['ends a life of its topic', () => withValue('progress', -1, { lifeId: 'second' })],
  ['tells no life of its topic', () => withValue('progress', -1, { lifeId: null })],
  ['has counts', () => withValue('progress', -1, { lastCompleteFull: { ...NOTHING_WRONG, rowsOnHold: 1 } })],
  ['takes its watermark back', () => withValue('progress', -1, { watermark: 0 })],
  ['has an id again', () => withValue('progress', 4, { transactionId: 'transaction 0' })],
  ['has another mode than its source', () => withValue('progress', -1, { mode: 'FULL' })],
  ['does not complete the full sync', () => withValue('progress', 2, { lastCompleteFull: null })],
  ['its source has no such transaction', () => withValue('progress', -1, { transactionId: 'another' })],
  ['the last record of p.t.users/0', () => changed('users', -1, () => ({ offset: 9 }))],
  ['says 7 rows published', () => withValue('progress', -1, { rowsPublished: 7 })],
])('the oracle of the tests finds this error planted in a log: %s', (problem, plant) => {
  expect(problemsOf(plant()).join('\n')).toContain(problem);
});

/** A hub at rest, as the log has it in the end. */
const hub = {
  district: {
    snapshot: (collection: string) =>
      [...HUB.of(collection).values()].flatMap((states) => states.at(-1)?.row ?? []),
  },
} as unknown as ReferenceHub;

it.each<[string, string, (records: readonly TopicRecord[]) => string[]]>([
  ['rows', 'users', (records) => differences({ hub, collection: 'users', records })],
  [
    'absences',
    'absences',
    (absences) => chainProblems({ hub, absences, changes: SOUND.get('absence-changes') ?? [] }),
  ],
  [
    'changes of absences',
    'absence-changes',
    (changes) => chainProblems({ hub, absences: SOUND.get('absences') ?? [], changes }),
  ],
  [
    'schedules',
    'users',
    (records) => scheduleDifferences({ hub, students: [], days: { from: '', to: '' }, records }),
  ],
])(
  'the oracle of the tests finds records that stand twice in a topic when it compares %s',
  (_, topic, problemsOfTopic) => {
    const text = (records: readonly TopicRecord[] = []) => problemsOfTopic(records).join('\n');
    expect(text(SOUND.get(topic))).not.toMatch(/one ce_id|published twice/);
    expect(text(doubled(topic, 0))).toContain('two records have one ce_id');
    expect(text(doubled(topic, 0, otherId))).toContain('published twice');
  },
);

it('the oracle of the tests allows republished rows only if asked to, and never the same ce_id twice', () => {
  const problems = (records: readonly TopicRecord[], mayRepeat: boolean) =>
    differences({ hub, collection: 'users', records, mayRepeat: () => mayRepeat });
  const republished = doubled('users', 1, otherId);
  expect(problems(republished, true)).toEqual([]);
  expect(problems(republished, false)).toEqual([expect.stringContaining('published twice: b')]);
  expect(problems(doubled('users', 1), true)).toEqual([
    expect.stringContaining('two records have one ce_id: b'),
  ]);
});

it('the oracle of the tests finds an index that differs from its topic or is at another position', async () => {
  const index = createMemoryStore().tenant('t').collection('users');
  const find = () => problemsOfIndex(index, 'users', SOUND);
  expect(await find()).toEqual(['index of users: is not there']);
  const at = { sequence: 1, transactionId: 'another', committedAtMs: 0, offsets: {} };
  await index.apply(null, at, [{ area: 'rows', key: 'stranger', value: Buffer.alloc(2) }]);
  expect(await find()).toEqual(['index of users: reflects another transaction']);
  await index.apply('another', { ...at, transactionId: 'transaction 4' }, []);
  expect(await find()).toEqual([
    'index of users: rows stranger: 0000, in the topics nothing',
    expect.stringContaining('index of users: rows b: nothing, in the topics'),
  ]);
});
