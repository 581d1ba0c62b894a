import { describe, expect, it } from 'vitest';
import { absenceChangeHeaders, changeHeaders, type ChangeKind } from '../../../../src/core/cloud-events.ts';
import type { OutgoingRecord, Transaction } from '../../../../src/log/log.ts';
import type { CollectionName, TopicSuffix } from '../../../../src/model/collections.ts';
import type { Progress } from '../../../../src/model/progress.ts';
import { RecordingLog } from '../../../../src/plan/recording-log.ts';

const NOW_MS = 1_700_000_000_000;

function progressOf(collection: CollectionName): Progress {
  return {
    collection,
    sequence: 7,
    transactionId: 'tx-7',
    syncId: 'sync',
    mode: 'FULL',
    complete: false,
    startedAtMs: NOW_MS,
    rowsSeen: 1,
    rowsPublished: 1,
    rowsRejected: 0,
    rowsRemoved: 0,
    rowsWithheld: 0,
    totalAtStart: null,
    totalAtEnd: null,
    watermarkMs: null,
    offsets: { 'p.t.users/0': 41 },
    lastCompleteFull: null,
    mapping: null,
  };
}

function record(topic: TopicSuffix, key: string, kind: ChangeKind): OutgoingRecord {
  const headers = changeHeaders({ tenantId: 't', topic, id: 'tx-7-0', kind, modifiedAtMs: null, hash: null });
  return { topic, key, body: kind === 'deleted' ? null : Buffer.from('a name'), headers };
}

function event(
  key: string,
  operation: 'created' | 'replaced' | 'deleted' | 'restored',
  isNull = false,
): OutgoingRecord {
  const headers = absenceChangeHeaders({
    tenantId: 't',
    id: 'tx-7-0',
    operation,
    modifiedAtMs: null,
    hash: null,
  });
  return { topic: 'absence-changes', key, body: isNull ? null : Buffer.from('a name'), headers };
}

function transactionOf(collection: CollectionName, records: readonly OutgoingRecord[]): Transaction {
  return { records, progress: progressOf(collection), derived: [] };
}

function newLog(keepsKeys = true): RecordingLog {
  const unread = (): never => {
    throw new Error('no topic is read');
  };
  const topics = { progress: unread, ranges: unread, read: unread };
  return new RecordingLog({ topics, keepsKeys, onRead: unread, now: () => NOW_MS });
}

describe('the log of a plan, which records instead of writing,', () => {
  it('answers with the progress it was given, whose offsets stay as they were', async () => {
    const transaction = transactionOf('users', [record('users', 'u-1', 'created')]);
    expect(await newLog().commit(transaction)).toEqual({
      progress: transaction.progress,
      derived: [],
      committedAtMs: NOW_MS,
      tookMs: 0,
    });
  });

  it('counts records by collection and kind, over all transactions', async () => {
    const log = newLog();
    await log.commit(
      transactionOf('users', [record('users', 'a', 'created'), record('users', 'b', 'updated')]),
    );
    await log.commit(
      transactionOf('users', [record('users', 'c', 'created'), record('users', 'd', 'deleted')]),
    );
    await log.commit(transactionOf('orgs', [record('orgs', 'o', 'updated')]));
    const { counts, keys } = log.planned('users', 'users');
    expect(counts).toMatchObject({ created: 2, updated: 1, deleted: 1, rejected: 0 });
    expect(keys).toMatchObject({ created: ['a', 'c'], updated: ['b'], deleted: ['d'] });
    expect(log.planned('orgs', 'orgs').counts).toMatchObject({ created: 0, updated: 1 });
  });

  it('counts a reject, and a reject that is taken back, for the collection of its row', async () => {
    const log = newLog();
    await log.commit(
      transactionOf('users', [
        record('rejects', 'users|broken', 'created'),
        record('rejects', 'users|mended', 'deleted'),
      ]),
    );
    const { counts, keys } = log.planned('users', 'users');
    expect(counts).toMatchObject({ created: 0, deleted: 0, rejected: 1, unrejected: 1 });
    expect(keys).toMatchObject({ rejected: ['broken'], unrejected: ['mended'] });
  });

  it('counts each kind of step of an absence, and the removal of its events as none of them', async () => {
    const log = newLog();
    await log.commit(
      transactionOf('absence-versions', [
        record('absence-versions', 'v', 'created'),
        record('absences', 'a', 'updated'),
        event('a', 'created'),
        event('a', 'replaced'),
        event('b', 'deleted'),
        event('c', 'restored'),
        event('d', 'deleted', true),
      ]),
    );
    const counted = log.planned('absence-versions', 'absence-changes').counts;
    expect(counted).toMatchObject({ created: 1, replaced: 1, deleted: 1, restored: 1, forgotten: 1 });
    expect(log.planned('absence-versions', 'absences').counts).toMatchObject({ updated: 1 });
    expect(log.planned('absence-versions', 'absence-versions').counts).toMatchObject({ created: 1 });
  });

  it('keeps no key unless it is asked to', async () => {
    const log = newLog(false);
    await log.commit(transactionOf('users', [record('users', 'u-1', 'created')]));
    expect(JSON.stringify(log.planned('users', 'users'))).not.toContain('u-1');
    expect(log.planned('users', 'users').counts.created).toBe(1);
  });
});
