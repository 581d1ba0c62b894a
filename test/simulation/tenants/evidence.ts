import { STATE_TOPIC, type TopicSuffix } from '../../../src/model/collections.ts';
import { topicName } from '../../../src/model/topic-names.ts';
import { progressValue } from '../../../src/log/progress-codec.ts';
import type { Row } from '../../oracle/history.ts';
import type { Evidence } from '../../oracle/progress.ts';
import type { TopicRecord } from '../../oracle/rows.ts';
import { absenceCodec, changeCodec, rejectCodec, versionCodec } from '../chains/chain-codecs.ts';
import { studentBehind } from '../chains/mappings.ts';
import { SCOPE, type Broker, type CommittedRecord, type CommittedTransaction } from './broker.ts';

interface Decoded {
  readonly records: TopicRecord[];
  /** How much of the list they are. */
  until: number;
}

/** By list: nothing that is committed ever changes. */
const DECODED = new WeakMap<readonly unknown[], Decoded>();

/**
 * Everything ever committed, as a consumer decodes it, or what its topics have now; students have their own ids, and a reject
 * is the row that it quotes.
 */
export function evidenceOf(broker: Broker, extent: 'ever' | 'now' = 'ever'): Evidence {
  const evidence = new Map<string, readonly TopicRecord[]>();
  for (const [topic, records] of broker.history) {
    if (topic === STATE_TOPIC) continue;
    const ever = decoded(records, toRecord);
    const now = extent === 'now' ? broker.viewOf(topic) : null;
    const isThere = (_: TopicRecord, at: number): boolean =>
      now?.get(records[at]?.key ?? '')?.body === records[at]?.body;
    evidence.set(topic, now === null ? ever : ever.filter(isThere));
  }
  return evidence.set('progress', decoded(broker.transactions, toProgressRecords));
}

function decoded<T>(
  all: readonly T[],
  decode: (each: T, at: number) => TopicRecord | readonly TopicRecord[],
): readonly TopicRecord[] {
  const known = DECODED.get(all) ?? { records: [], until: 0 };
  DECODED.set(all, known);
  known.records.push(...all.slice(known.until).flatMap((each, at) => decode(each, known.until + at)));
  known.until = all.length;
  return known.records;
}

function toRecord({ committedAtMs: publishedAtMs, body, ...rest }: CommittedRecord): TopicRecord {
  const value = body && unmasked(decodeBody(rest.topic, body));
  return { ...rest, topic: topicName(SCOPE, rest.topic), publishedAtMs, value };
}

function toProgressRecords(
  { progress, derived, committedAtMs: publishedAtMs }: CommittedTransaction,
  transaction: number,
): readonly TopicRecord[] {
  return [progress, ...derived].map((each, at) => ({
    topic: topicName(SCOPE, 'progress'),
    partition: 0,
    offset: transaction,
    publishedAtMs,
    key: each.collection,
    value: progressValue(each, 'UTC'),
    headers: { ce_id: `${transaction} ${at}` },
    transaction,
  }));
}

/** The value as it was published. */
export function decodeBody(topic: TopicSuffix, body: Buffer): Row {
  if (topic === 'absence-versions') return versionCodec.fromBuffer(body) as unknown as Row;
  if (topic === 'absences') return absenceCodec.fromBuffer(body) as unknown as Row;
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
