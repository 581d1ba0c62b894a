import { setTimeout as delay } from 'node:timers/promises';
import { partitionName } from '../model/topic-names.ts';
import { typeOf, wholeRequest } from './wire/kafka-broker.ts';
import type { KafkaConnections, LedPartition } from './wire/kafka-connections.ts';
import { kafkaError } from './kafka-errors.ts';
import { RequestFailure, type TopicPartition } from './transaction-brokers.ts';

export interface PartitionRange {
  readonly partition: number;
  /** First available offset. */
  readonly low: number;
  /** First offset that a `read_committed` reader cannot read yet (the last stable offset). */
  readonly high: number;
}

/** The part of {@link KafkaConnections} that is needed to find out about topics and their offsets. */
export type TopicQuestions = Pick<KafkaConnections, 'ask' | 'partitionsOf'>;

const EARLIEST = -2;
const LATEST = -1;
const MISSING = 'UNKNOWN_TOPIC_OR_PARTITION';
/** Errors of the protocol while a leader moves. */
const LEADER_MOVED = new Set(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE']);
/** A broker that dies is noticed after 9 s (`broker.session.timeout.ms`), and its partitions then have other leaders. */
const WITHIN_MS = 25_000;
const BETWEEN_ATTEMPTS_MS = 100;

/**
 * What to do about topics that a broker does not know: wait for them, or leave them out. If this is not given, the
 * request fails.
 */
type Missing = 'awaited' | 'skipped';

/**
 * Returns the ranges of readable offsets of topics, in the order of their partitions, by topic.
 *
 * `high` stops at an open transaction and does not show how far an unfinished write got. This waits while a leader moves or a
 * broker is away. Throws `KAFKA_…`.
 */
export async function fetchOffsets(
  kafka: TopicQuestions,
  topics: readonly string[],
  missing?: Missing,
  withinMs = WITHIN_MS,
): Promise<ReadonlyMap<string, readonly PartitionRange[]>> {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    try {
      const led = await kafka.partitionsOf(topics, { skipsMissing: missing === 'skipped' });
      const lows = await listOffsets(kafka, led, EARLIEST);
      const highs = await listOffsets(kafka, led, LATEST);
      const ranges = new Map<string, PartitionRange[]>();
      for (const { topic, partition } of led.toSorted((a, b) => a.partition - b.partition)) {
        const name = partitionName(topic, partition);
        const range = { partition, low: lows.get(name) ?? 0, high: highs.get(name) ?? 0 };
        ranges.set(topic, [...(ranges.get(topic) ?? []), range]);
      }
      return ranges;
    } catch (error) {
      if (performance.now() > untilMs || !isPassing(error, missing === 'awaited'))
        throw kafkaError(error, 'reading offsets of topics');
      await delay(BETWEEN_ATTEMPTS_MS);
    }
  }
}

function isPassing(error: unknown, awaitsMissing: boolean): boolean {
  if (!(error instanceof RequestFailure)) return false;
  const { outcome, type = '' } = error;
  return outcome !== 'refused' || LEADER_MOVED.has(type) || (awaitsMissing && type === MISSING);
}

/** Partitions as kafkajs' requests name them: by topic, each with what is asked about it. */
export function byTopic<T extends TopicPartition>(
  partitions: readonly T[],
  about: (partition: T) => object,
): readonly object[] {
  return [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, some]) => ({
    topic,
    partitions: some.map((each) => ({ partition: each.partition, ...about(each) })),
  }));
}

interface OffsetsAnswer {
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly offset: string;
    }[];
  }[];
}

/**
 * Offsets by `<topic>/<partition>`. `timestamp`: the number by which Kafka's protocol asks for the first or the last
 * offset.
 */
async function listOffsets(
  kafka: Pick<KafkaConnections, 'ask'>,
  led: readonly LedPartition[],
  timestamp: number,
): Promise<ReadonlyMap<string, number>> {
  const offsets = new Map<string, number>();
  const questions = [...Map.groupBy(led, ({ leader }) => leader)].map(async ([node, some]) => {
    const ends = wholeRequest('ListOffsets', { topics: byTopic(some, () => ({ timestamp })) });
    const { responses } = await kafka.ask<OffsetsAnswer>(node, ends);
    for (const { topic, partitions } of responses)
      for (const { partition, errorCode, offset } of partitions) {
        const type = typeOf(errorCode);
        if (type !== null) throw new RequestFailure('refused', { type, topic });
        offsets.set(partitionName(topic, partition), Number(offset));
      }
  });
  await Promise.all(questions);
  return offsets;
}
