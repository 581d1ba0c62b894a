import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DERIVED_COLLECTIONS } from '../../../src/model/collections.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { openMirror, startTestHub, type Mirror } from '../../integration/support/mirror.ts';
import type { TopicRecord } from '../../integration/support/read-topics.ts';
import {
  allProblems,
  notAsTheHub,
  readEvidence,
  wronglyPublished,
  type CheckedTenant,
  type Evidence,
} from './checker.ts';
import { Churn, CHURNED } from './churn.ts';
import { indexProblems } from './index-problems.ts';

type Records = readonly TopicRecord[];

let mirror: Mirror;
let tenant: CheckedTenant;
let sound: Evidence;
let happened: Readonly<Record<string, number>>;

beforeAll(async () => {
  const hub = await startTestHub();
  mirror = await openMirror({
    hub,
    collections: [...CHURNED, ...DERIVED_COLLECTIONS],
    hubSettings: { pageSize: 50 },
    settings: { deletions: { withholdAbove: { rows: 1_000_000, ratio: 1 } } },
  });
  const churn = new Churn(hub, { seed: 7, collections: CHURNED });
  tenant = { hub, history: churn.history, topicPrefix: mirror.topicPrefix };
  await mirror.full();
  for (let round = 0; round < 4; round += 1) {
    churn.step(40);
    await mirror.full();
    churn.step(20);
    await mirror.delta();
  }
  await mirror.full();
  sound = await readEvidence(tenant);
  happened = hub.living.happened();
});

afterAll(async () => {
  await mirror?.[Symbol.asyncDispose]();
  await tenant?.hub.stop();
});

/** The evidence with the records of one topic changed. */
function withTopic(topic: string, change: (records: Records) => Records): Evidence {
  return new Map([...sound, [topic, change(sound.get(topic) ?? [])]]);
}

function recordsOf(topic: string): Records {
  return sound.get(topic) ?? [];
}

/** The records of a key of a topic that pass the test, such as those of a key that was published three times. */
function keyWith(topic: string, test: (records: Records) => boolean): Records {
  for (const [, records] of Map.groupBy(recordsOf(topic), ({ key }) => key)) {
    if (test(records)) return records;
  }
  throw new Error(`the churn left no such key in ${topic}`);
}

/** Appends a record to its partition, with an id of its own. */
function republication(records: Records, record: TopicRecord, changed: Partial<TopicRecord> = {}): Records {
  const headers = { ...record.headers, ce_id: 'planted' };
  return [...records, { ...record, headers, offset: 1_000_000, ...changed }];
}

function without(records: Records, record: TopicRecord): Records {
  return records.filter((each) => each !== record);
}

const last = (records: Records): TopicRecord => records.at(-1) as TopicRecord;

/** Two records of a key in each other's place. */
function swapped(records: Records, one: TopicRecord, other: TopicRecord): Records {
  const at = (place: TopicRecord, record: TopicRecord): TopicRecord => ({
    ...record,
    offset: place.offset,
    publishedAtMs: Math.max(one.publishedAtMs, other.publishedAtMs),
  });
  return records.map((each) => (each === one ? at(one, other) : each === other ? at(other, one) : each));
}

describe('the checker', () => {
  it('reports nothing where nothing is wrong', async () => {
    expect(await allProblems(tenant)).toEqual([]);
  });

  it('is tried on a history with every kind of change', () => {
    expect(Object.keys(happened).length).toBeGreaterThan(8);
    expect(recordsOf('users').some(({ value }) => value === null)).toBe(true);
  });

  it.each<[string | RegExp, string, () => Evidence]>([
    [
      'content that the hub never had',
      'a content that was never there',
      () => {
        const [record] = recordsOf('users');
        return withTopic('users', (records) =>
          republication(records, record as TopicRecord, {
            value: { ...record?.value, familyName: 'Nobody' },
          }),
        );
      },
    ],
    [
      'was never at the hub',
      'a key that was never there',
      () => withTopic('users', (records) => republication(records, last(records), { key: 'stranger' })),
    ],
    [
      'older after newer',
      'an older content after a newer one',
      () => {
        const [first, second] = keyWith('users', (records) => {
          return isTwice(records) && tenant.history.of('users').get(last(records).key)?.length === 2;
        });
        return withTopic('users', (records) => swapped(records, first as TopicRecord, second as TopicRecord));
      },
    ],
    [
      'the same twice',
      'a content published twice',
      () => {
        const known = keyWith('results', (records) => last(records).value !== null);
        return withTopic('results', (records) => republication(records, last(known)));
      },
    ],
    [
      'the same twice',
      'a hash published twice, whatever the content',
      () => {
        const known = keyWith('absence-versions', (records) => last(records).value !== null);
        return withTopic('absence-versions', (records) => republication(records, last(known)));
      },
    ],
    [
      'removed, but it never left',
      'a removal of what is there',
      () => {
        const known = keyWith('enrollments', (records) => records.every(({ value }) => value !== null));
        return withTopic('enrollments', (records) =>
          republication(records, last(known), { value: null, publishedAtMs: Date.now() }),
        );
      },
    ],
    [
      'removed twice',
      'one departure published twice',
      () => {
        const known = keyWith('users', (records) => last(records).value === null);
        return withTopic('users', (records) => republication(records, last(known)));
      },
    ],
    [
      'published before the hub had it',
      'a change published before the hub made it',
      () => {
        const [, second] = keyWith('users', (records) => isTwice(records));
        return withTopic('users', (records) =>
          records.map((each) => (each === second ? { ...each, publishedAtMs: 1 } : each)),
        );
      },
    ],
    [
      'two records have one ce_id',
      'an id used twice',
      () =>
        withTopic('results', (records) =>
          records.map((each) =>
            each === last(records) ? { ...each, headers: { ...each.headers, ...idOf(records[0]) } } : each,
          ),
        ),
    ],
    [
      'absences',
      'a current absence that goes back to an older version',
      () => {
        const versionOf = (at: number, records: Records): unknown => records[at]?.value?.['sourcedId'];
        const [first, second] = keyWith(
          'absences',
          (records) => isTwice(records) && versionOf(0, records) !== versionOf(1, records),
        );
        return withTopic('absences', (records) =>
          swapped(records, first as TopicRecord, second as TopicRecord),
        );
      },
    ],
    [
      'shows a version of another chain',
      'a current absence under the id of a later version',
      () =>
        withTopic('absences', (records) => {
          const replaced = records.find(({ key, value }) => value !== null && value['sourcedId'] !== key);
          return records.map((each) =>
            each === replaced ? { ...each, key: String(each.value?.['sourcedId']) } : each,
          );
        }),
    ],
    [
      'step 2 after none',
      'a step left out',
      () => {
        const [first] = keyWith('absence-changes', (records) => records.length > 1);
        return withTopic('absence-changes', (records) => without(records, first as TopicRecord));
      },
    ],
    [
      /step (\d+) after \1\b/,
      'a step published twice',
      () => withTopic('absence-changes', (records) => republication(records, last(records))),
    ],
    [
      'step 2 after none',
      'steps in the wrong order',
      () => {
        const [first, second] = keyWith('absence-changes', (records) => records.length > 1);
        return withTopic('absence-changes', (records) =>
          swapped(records, first as TopicRecord, second as TopicRecord),
        );
      },
    ],
    [
      'comes after the deletion',
      'a restoration',
      () => {
        const known = keyWith('absence-changes', (records) => operationOf(last(records)) === 'DELETED');
        const step = Number(last(known).value?.['step']) + 1;
        const value = { ...last(known).value, step, operation: 'RESTORED' };
        return withTopic('absence-changes', (records) => republication(records, last(known), { value }));
      },
    ],
    [
      'cannot follow',
      'a step after the deletion',
      () => {
        const known = keyWith('absence-changes', (records) => operationOf(last(records)) === 'DELETED');
        const step = Number(last(known).value?.['step']) + 1;
        const value = { ...known[0]?.value, step, operation: 'REPLACED' };
        return withTopic('absence-changes', (records) => republication(records, last(known), { value }));
      },
    ],
    [
      'a snapshot after the first complete full sync',
      'a late snapshot',
      () =>
        withTopic('absence-changes', (records) =>
          records.map((each) =>
            each === last(records) ? { ...each, value: { ...each.value, snapshot: true } } : each,
          ),
        ),
    ],
    [
      'progress users',
      'a gap in the sequence of transactions',
      () => withTopic('progress', (records) => without(records, progressOf(records, 1))),
    ],
    [
      'goes back in',
      'offsets that go back',
      () =>
        withTopic('progress', (records) =>
          records.map((each) => {
            if (each !== progressOf(records, -1)) return each;
            const names = Object.keys(each.value?.['offsets'] as object);
            return {
              ...each,
              value: { ...each.value, offsets: Object.fromEntries(names.map((name) => [name, 0])) },
            };
          }),
        ),
    ],
    [
      'progress says',
      'a record that no progress accounts for',
      () => {
        const known = keyWith('users', (records) => last(records).value === null);
        return withTopic('users', (records) => without(records, last(known)).concat(far(last(known))));
      },
    ],
  ])('reports "%s" for %s', (message, _, plant) => {
    expect(wronglyPublished(tenant, plant()).join('\n')).toMatch(message);
  });

  it('reports the loss of a last record', () => {
    const [, ...others] = recordsOf('users').toReversed();
    expect(
      wronglyPublished(
        tenant,
        withTopic('users', () => others.toReversed()),
      ),
    ).toContainEqual(expect.stringContaining('progress says'));
  });

  it.each(['users', 'absence-versions', 'absences', 'absence-changes'])(
    'reports %s that differ from the hub',
    (topic) => {
      const known = keyWith(topic, (records) => records.length === 1 && last(records).value !== null);
      const found = notAsTheHub(
        tenant,
        withTopic(topic, (records) => without(records, last(known))),
      );
      expect(found.join('\n')).toContain(known[0]?.key);
    },
  );

  it('reports the loss of a last step', () => {
    const known = keyWith('absence-changes', (records) => {
      return records.length > 1 && operationOf(last(records)) === 'REPLACED';
    });
    const found = notAsTheHub(
      tenant,
      withTopic('absence-changes', (records) => without(records, last(known))),
    );
    expect(found.join('\n')).toContain(last(known).key);
  });

  it('reports a derived watermark that is withdrawn, unless the source lost its records', () => {
    const withdrawn = withTopic('progress', (records) => {
      const of = records.filter(({ key }) => key === 'absences');
      return records.map((each) =>
        each === last(of)
          ? { ...each, value: { ...each.value, mode: 'INCREMENTAL', watermark: null } }
          : each,
      );
    });
    const taken = expect.stringMatching(/progress absences .*takes its watermark back/);
    expect(wronglyPublished(tenant, withdrawn)).toContainEqual(taken);
    expect(wronglyPublished(tenant, withdrawn, { lost: ['absence-versions'] })).not.toContainEqual(taken);
  });

  it('reports an index that differs from its topic', async () => {
    const store = createMemoryStore();
    const index = store.tenant('north').collection('users');
    const check = () =>
      indexProblems({
        store,
        tenantId: 'north',
        collection: 'users',
        records: recordsOf('users'),
        progress: recordsOf('progress'),
      });
    expect(await check()).toEqual(['index of users: is not there']);
    const at = { sequence: 1, transactionId: 'another', committedAtMs: 0, offsets: {} };
    await index.apply(null, at, []);
    expect(await check()).toEqual(['index of users: reflects another transaction']);
    const lastId = recordsOf('progress').findLast(({ key }) => key === 'users')?.value?.['transactionId'];
    await index.apply('another', { ...at, sequence: 2, transactionId: String(lastId) }, [
      { area: 'rows', key: 'stranger', value: Buffer.alloc(16) },
    ]);
    const problems = await check();
    expect(problems).toContain('index of users: stranger is in no topic');
    expect(problems.some((each) => each.endsWith('has another hash'))).toBe(true);
  });
});

function isTwice(records: Records): boolean {
  return records.length > 1 && records[0]?.value != null && records[1]?.value != null;
}

function operationOf(record: TopicRecord): unknown {
  return record.value?.['operation'];
}

function idOf(record: TopicRecord | undefined): Record<string, string> {
  return { ce_id: record?.headers['ce_id'] ?? '' };
}

function far(record: TopicRecord): TopicRecord {
  return { ...record, offset: 1_000_000 };
}

function progressOf(records: Records, at: number): TopicRecord {
  return records.filter(({ key }) => key === 'users').at(at) as TopicRecord;
}
