import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import { kafkaError } from './kafka-errors.ts';

/** The first offset to read in a partition. */
export interface StartingPoint {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export interface FollowOptions {
  readonly kafka: Kafka;
  readonly groupIdPrefix: string;
  /** Every partition to follow. */
  readonly from: readonly StartingPoint[];
  /** Called once, when the consumer has joined and records arrive as they are committed. */
  readonly onReady: () => void;
  /** Called for one record at a time, in order per partition; false stops following. */
  readonly onMessage: (topic: string, partition: number, message: KafkaMessage) => Promise<boolean>;
  /** Stops following, without an error. */
  readonly signal: AbortSignal;
}

const ATTEMPTS = 8;
const BETWEEN_ATTEMPTS_MS = 500;

/**
 * Follows topics with `read_committed` from the given offsets, each record once, until `onMessage` returns false or the
 * signal aborts.
 *
 * kafkajs starts from the beginning whenever it rejoins its group, since nothing is committed here. So each join seeks
 * to the next offsets, and records that come twice are dropped by their offset.
 */
export async function followTopics(options: FollowOptions): Promise<void> {
  const following = new Following(options);
  for (let failures = 0; !following.isDone;) {
    const handledBefore = following.handled;
    try {
      await following.attempt();
      return;
    } catch (error) {
      const failure = kafkaError(error, 'following topics');
      failures = following.handled > handledBefore ? 1 : failures + 1;
      if (failures >= ATTEMPTS || failure.code !== 'KAFKA_UNREACHABLE') throw failure;
      await delay(BETWEEN_ATTEMPTS_MS * failures, undefined, { signal: options.signal }).catch(
        () => undefined,
      );
    }
  }
}

class Following {
  handled = 0;
  readonly #options: FollowOptions;
  readonly #next: Map<string, StartingPoint>;
  #isEnded = false;
  #isReady = false;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#next = new Map(options.from.map((point) => [`${point.topic}/${point.partition}`, point]));
  }

  get isDone(): boolean {
    return this.#isEnded || this.#options.signal.aborted;
  }

  async attempt(): Promise<void> {
    const { kafka, groupIdPrefix, signal } = this.#options;
    const consumer = kafka.consumer({
      allowAutoTopicCreation: false,
      groupId: `${groupIdPrefix}.tail.${randomUUID()}`,
      maxWaitTimeInMs: 100,
      sessionTimeout: 60_000,
      rebalanceTimeout: 120_000,
      retry: {
        initialRetryTime: 50,
        maxRetryTime: 1_000,
        retries: 8,
        restartOnFailure: () => Promise.resolve(false),
      },
    });
    const ended = Promise.withResolvers<void>();
    ended.promise.catch(() => undefined);
    const onAbort = (): void => ended.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      if (!signal.aborted) await this.#start(consumer, ended);
      if (!signal.aborted) await ended.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      await consumer.disconnect().catch(() => undefined);
    }
  }

  async #start(consumer: Consumer, ended: PromiseWithResolvers<void>): Promise<void> {
    consumer.on(consumer.events.CRASH, ({ payload }) => ended.reject(payload.error));
    consumer.on(consumer.events.GROUP_JOIN, () => {
      this.#seek(consumer);
      if (!this.#isReady) this.#options.onReady();
      this.#isReady = true;
    });
    await consumer.connect();
    const topics = [...new Set(this.#options.from.map(({ topic }) => topic))];
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async (batch) => {
        await this.#handle(batch).catch((error: unknown) => ended.reject(error));
        if (this.#isEnded) ended.resolve();
      },
    });
    this.#seek(consumer);
  }

  #seek(consumer: Consumer): void {
    for (const { topic, partition, offset } of this.#next.values()) {
      consumer.seek({ topic, partition, offset: String(offset) });
    }
  }

  async #handle({ batch }: EachBatchPayload): Promise<void> {
    const { topic, partition } = batch;
    const name = `${topic}/${partition}`;
    for (const message of batch.messages) {
      const offset = Number(message.offset);
      if (this.isDone) return;
      if (offset < (this.#next.get(name)?.offset ?? 0)) continue;
      const isContinued = await this.#options.onMessage(topic, partition, message);
      this.#next.set(name, { topic, partition, offset: offset + 1 });
      this.handled += 1;
      if (!isContinued) this.#isEnded = true;
    }
  }
}
