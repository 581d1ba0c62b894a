import { expect, it } from 'vitest';
import { changeHeaders, type ChangeKind } from '../../../../src/core/cloud-events.ts';
import type { OutgoingRecord } from '../../../../src/log/log.ts';
import type { CollectionName, TopicSuffix } from '../../../../src/model/collections.ts';
import { recordingLog } from '../../../../src/plan/recording-log.ts';
import { loaded } from '../../telemetry/support/board-of.ts';

const NOW_MS = 1_700_000_000_000;
const SOURCE = { tenantId: 't', id: 'tx-7-0', modifiedAtMs: null, hash: null };

function record(topic: TopicSuffix, key: string, kind: ChangeKind): OutgoingRecord {
  const headers = changeHeaders({ ...SOURCE, topic, kind });
  return { topic, key, body: kind === 'deleted' ? null : Buffer.from('a name'), headers };
}

type Operation = 'created' | 'replaced' | 'deleted' | 'restored';
function event(key: string, operation: Operation, isNull = false): OutgoingRecord {
  const topic = 'absence-changes';
  const headers = changeHeaders({ ...SOURCE, topic, kind: operation });
  return { topic, key, body: isNull ? null : Buffer.from('a name'), headers };
}

/** A log of a plan after one transaction for each record. */
async function logOf(collection: CollectionName, records: readonly OutgoingRecord[], keepsKeys = true) {
  const unread = (): never => {
    throw new Error('no topic is read');
  };
  const topics = { progress: unread, ranges: unread, read: unread };
  const log = recordingLog({ topics, keepsKeys, onRead: unread, now: () => NOW_MS });
  for (const each of records) {
    const progress = loaded(collection, NOW_MS);
    // The offsets stay as they were.
    const committed = { progress, derived: [], committedAtMs: NOW_MS, tookMs: 0 };
    expect(await log.commit({ records: [each], progress, derived: [] })).toEqual(committed);
  }
  return log;
}

it('a plan counts records by collection and kind, and keeps keys only if it is asked to', async () => {
  const records = [
    record('users', 'a', 'created'),
    record('users', 'b', 'updated'),
    record('users', 'c', 'created'),
    record('users', 'd', 'deleted'),
    record('rejects', 'users|broken', 'created'),
    record('rejects', 'users|mended', 'deleted'),
  ];
  const log = await logOf('users', records);
  const { counts, keys } = log.planned('users', 'users');
  expect(counts).toMatchObject({ created: 2, updated: 1, deleted: 1, rejected: 1, unrejected: 1 });
  const rows = { created: ['a', 'c'], updated: ['b'], deleted: ['d'] };
  expect(keys).toMatchObject({ ...rows, rejected: ['broken'], unrejected: ['mended'] });
  expect(log.planned('orgs', 'orgs').counts).toMatchObject({ created: 0, updated: 0 });
  const without = (await logOf('users', records, false)).planned('users', 'users');
  expect([without.counts, Object.values(without.keys).flat()]).toEqual([counts, []]);
});

it('a plan counts each kind of step of an absence, and apart from them the removal of its events', async () => {
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
