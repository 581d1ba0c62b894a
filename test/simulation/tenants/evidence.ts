import { STATE_TOPIC, type TopicSuffix } from '../../../src/model/collections.ts';
import { topicName } from '../../../src/model/topic-names.ts';
import { progressValue } from '../../../src/log/progress-codec.ts';
import type { Row } from '../../oracle/history.ts';
import type { Evidence } from '../../oracle/progress.ts';
import type { TopicRecord } from '../../oracle/rows.ts';
import { changeCodec, rejectCodec, versionCodec } from '../chains/chain-codecs.ts';
import { studentBehind } from '../chains/mappings.ts';
import { SCOPE, type Broker, type CommittedRecord, type CommittedTransaction } from './broker.ts';

/** What was decoded already: nothing that is committed ever changes. */
const RECORDS = new WeakMap<CommittedRecord, TopicRecord>();
const PROGRESS = new WeakMap<CommittedTransaction, readonly TopicRecord[]>();

/**
 * Everything ever committed, as a consumer decodes it, or what its topics have now; students have their own ids, and a reject
 * is the row that it quotes.
 */
export function evidenceOf(broker: Broker, extent: 'ever' | 'now' = 'ever'): Evidence {
  const { history, transactions } = broker;
  const evidence = new Map<string, TopicRecord[]>();
  for (const [topic, records] of history) {
    const now = extent === 'now' ? broker.viewOf(topic) : null;
    const newest = records.filter((record) => now === null || now.get(record.key)?.body === record.body);
    if (topic !== STATE_TOPIC) evidence.set(topic, newest.map(logged));
  }
  return evidence.set('progress', transactions.flatMap(loggedProgress));
}

function logged(record: CommittedRecord): TopicRecord {
  const known = RECORDS.get(record);
  if (known !== undefined) return known;
  const { committedAtMs: publishedAtMs, body, ...rest } = record;
  const value = body && unmasked(decodeBody(record.topic, body));
  const decoded = { ...rest, topic: topicName(SCOPE, record.topic), publishedAtMs, value };
  RECORDS.set(record, decoded);
  return decoded;
}

function loggedProgress(committed: CommittedTransaction, transaction: number): readonly TopicRecord[] {
  const known = PROGRESS.get(committed);
  if (known !== undefined) return known;
  const { progress, derived, committedAtMs: publishedAtMs } = committed;
  const decoded = [progress, ...derived].map((each, at) => ({
    topic: topicName(SCOPE, 'progress'),
    partition: 0,
    offset: transaction,
    publishedAtMs,
    key: each.collection,
    value: progressValue(each, 'UTC'),
    headers: { ce_id: `${transaction} ${at}` },
    transaction,
  }));
  PROGRESS.set(committed, decoded);
  return decoded;
}

/** The value as it was published. */
export function decodeBody(topic: TopicSuffix, body: Buffer): Row {
  if (topic === 'absence-versions' || topic === 'absences')
    return versionCodec.fromBuffer(body) as unknown as Row;
  if (topic === 'absence-changes') return changeCodec.fromBuffer(body) as unknown as Row;
  const text = topic === 'rejects' ? rejectCodec.fromBuffer(body).row : String(body);
  return JSON.parse(text ?? '{}') as Row;
}

/** The value with its student's own id. */
export function unmasked(value: Row): Row {
  const copy: Record<string, unknown> = { ...value };
  for (const name of ['version', 'previousVersion'])
    if (typeof copy[name] === 'object' && copy[name] !== null) copy[name] = unmasked(copy[name] as Row);
  const student = copy['student'] as { sourcedId: string } | null | undefined;
  if (student != null) copy['student'] = { ...student, sourcedId: studentBehind(student.sourcedId) };
  return copy;
}
