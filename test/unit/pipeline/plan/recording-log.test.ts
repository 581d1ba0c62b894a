import { expect, it } from 'vitest';
import { absenceChangeHeaders, changeHeaders, type ChangeKind } from '../../../../src/core/cloud-events.ts';
import type { OutgoingRecord, Transaction } from '../../../../src/log/log.ts';
import type { CollectionName, TopicSuffix } from '../../../../src/model/collections.ts';
import { RecordingLog } from '../../../../src/plan/recording-log.ts';
import { loaded } from '../../telemetry/support/board-of.ts';

const NOW_MS = 1_700_000_000_000;
const SOURCE = { tenantId: 't', id: 'tx-7-0', modifiedAtMs: null, hash: null };

function record(topic: TopicSuffix, key: string, kind: ChangeKind): OutgoingRecord {
  const headers = changeHeaders({ ...SOURCE, topic, kind });
  return { topic, key, body: kind === 'deleted' ? null : Buffer.from('a name'), headers };
}

type Operation = 'created' | 'replaced' | 'deleted' | 'restored';
function event(key: string, operation: Operation, isNull = false): OutgoingRecord {
  const headers = absenceChangeHeaders({ ...SOURCE, operation });
  return { topic: 'absence-changes', key, body: isNull ? null : Buffer.from('a name'), headers };
}

/** A log of a plan after one transaction for each record. */
async function logOf(collection: CollectionName, records: readonly OutgoingRecord[], keepsKeys = true) {
  const unread = (): never => {
    throw new Error('no topic is read');
  };
  const topics = { progress: unread, ranges: unread, read: unread };
  const log = new RecordingLog({ topics, keepsKeys, onRead: unread, now: () => NOW_MS });
  for (const each of records) {
    const transaction: Transaction = { records: [each], progress: loaded(collection, NOW_MS), derived: [] };
    const { progress } = transaction;
    // The offsets stay as they were.
    expect(await log.commit(transaction)).toEqual({
      progress,
      derived: [],
      committedAtMs: NOW_MS,
      tookMs: 0,
    });
  }
  return log;
}

it('a plan counts records by collection and kind, over all transactions', async () => {
  const changes = [
    record('users', 'a', 'created'),
    record('users', 'b', 'updated'),
    record('users', 'c', 'created'),
  ];
  const log = await logOf('users', [...changes, record('users', 'd', 'deleted')]);
  const { counts, keys } = log.planned('users', 'users');
  expect(counts).toMatchObject({ created: 2, updated: 1, deleted: 1, rejected: 0 });
  expect(keys).toMatchObject({ created: ['a', 'c'], updated: ['b'], deleted: ['d'] });
  expect(log.planned('orgs', 'orgs').counts).toMatchObject({ created: 0, updated: 0 });
});

it('a plan counts a reject, and a reject that is taken back, for the collection of its row', async () => {
  const rejects = [
    record('rejects', 'users|broken', 'created'),
    record('rejects', 'users|mended', 'deleted'),
  ];
  const { counts, keys } = (await logOf('users', rejects)).planned('users', 'users');
  expect(counts).toMatchObject({ created: 0, deleted: 0, rejected: 1, unrejected: 1 });
  expect(keys).toMatchObject({ rejected: ['broken'], unrejected: ['mended'] });
});

it('a plan counts each kind of step of an absence, and the removal of its events as none of them', async () => {
  const log = await logOf('absence-versions', [
    record('absence-versions', 'v', 'created'),
    record('absences', 'a', 'updated'),
    ...(['created', 'replaced', 'deleted', 'restored'] as const).map((operation) => event('a', operation)),
    event('d', 'deleted', true),
  ]);
  const counted = log.planned('absence-versions', 'absence-changes').counts;
  expect(counted).toMatchObject({ created: 1, replaced: 1, deleted: 1, restored: 1, forgotten: 1 });
  expect(log.planned('absence-versions', 'absences').counts).toMatchObject({ updated: 1 });
  expect(log.planned('absence-versions', 'absence-versions').counts).toMatchObject({ created: 1 });
});

it('a plan keeps no key unless it is asked to', async () => {
  const planned = (await logOf('users', [record('users', 'u-1', 'created')], false)).planned(
    'users',
    'users',
  );
  expect(JSON.stringify(planned)).not.toContain('u-1');
  expect(planned.counts.created).toBe(1);
});
