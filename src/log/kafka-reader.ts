import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import { RollcallError } from '../errors.ts';
import { kafkaError } from './kafka-errors.ts';
import type { TopicPartition } from './transaction-brokers.ts';

/** A part of a partition: offsets from `from` up to, but not including, `to`. Infinity: until the signal aborts. */
export interface Stretch extends TopicPartition {
  readonly from: number;
  readonly to: number;
}

/** Messages within a stretch; never none. */
type ReadMessages = TopicPartition & { readonly messages: readonly KafkaMessage[] };

export interface ReadOptions {
  readonly kafka: Kafka;
  readonly groupIdPrefix: string;
  readonly stretches: readonly Stretch[];
  readonly onMessages: (read: ReadMessages) => Promise<void>;
  /**
   * Also waits for records of open transactions after the stretches. A broker answers a commit before it writes the
   * markers: without this, a caller that knows of a commit may not find its records.
   */
  readonly awaitsDecision?: boolean | undefined;
  readonly signal: AbortSignal;
}

const STALLED_AFTER_MS = 60_000;
/** A transaction that stays open longer belongs to a process that died before its commit. */
const DECIDED_WITHIN_MS = 10_000;
/** Attempts in a row that read nothing. */
const FRUITLESS_ATTEMPTS = 5;
const BETWEEN_ATTEMPTS_MS = 500;

/**
 * Reads stretches of partitions with `read_committed`, each in order, to their ends.
 *
 * It detects an end by the consumer's position (END_BATCH_PROCESS), since no handler sees a last record that was
 * compacted away or belongs to an aborted transaction. So the offset before `to` must be a live record or a control
 * batch: see `appendEndMarkers`.
 * kafkajs cannot assign partitions, so each attempt joins a temporary group and commits nothing.
 */
export async function readStretches(options: ReadOptions): Promise<void> {
  const reader = new StretchReader(options);
  while (!reader.isDone) {
    options.signal.throwIfAborted();
    try {
      await reader.attempt();
    } catch (error) {
      options.signal.throwIfAborted();
      const failure = kafkaError(error, 'reading topics', [
        { operation: 'Read', on: 'topic', names: topicsOf(options.stretches) },
        { operation: 'Read', on: 'group', names: [`${options.groupIdPrefix}.catch-up.*`] },
      ]);
      // A coordinator that is still loading, or a leader that moved: the next attempt continues where this one stopped.
      reader.fruitless += 1;
      if (reader.fruitless === FRUITLESS_ATTEMPTS || failure.code !== 'KAFKA_UNREACHABLE') throw failure;
      await delay(BETWEEN_ATTEMPTS_MS * reader.fruitless, undefined, options).catch(() => undefined);
    }
  }
}

function topicsOf(stretches: readonly Stretch[]): string[] {
  return [...new Set(stretches.map(({ topic }) => topic))];
}

class StretchReader {
  readonly #options: ReadOptions;
  /** Unread stretches, by `<topic>/<partition>`; `from` advances with the handled messages. */
  readonly #open = new Map<string, Stretch>();
  /** Original ends of the stretches that were extended by undecided records. */
  readonly #stableEnds = new Map<string, number>();
  readonly #positions = new Map<string, number>();
  /** Failed attempts since something was read. */
  fruitless = 0;

  constructor(options: ReadOptions) {
    this.#options = options;
    for (const stretch of options.stretches) {
      if (stretch.from < stretch.to) this.#open.set(`${stretch.topic}/${stretch.partition}`, stretch);
    }
  }

  get isDone(): boolean {
    return this.#open.size === 0;
  }

  async attempt(): Promise<void> {
    const { kafka, groupIdPrefix, signal } = this.#options;
    const groupId = `${groupIdPrefix}.catch-up.${randomUUID()}`;
    const consumer = kafka.consumer({
      allowAutoTopicCreation: false,
      groupId,
      maxBytesPerPartition: 4_194_304,
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
    // It may reject before the await below, which still sees the rejection.
    ended.promise.catch(() => undefined);
    const onAbort = (): void => ended.reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const watchdog = this.#watch(consumer, ended);
    try {
      await this.#start(consumer);
      await ended.promise;
    } finally {
      clearInterval(watchdog);
      signal.removeEventListener('abort', onAbort);
      await consumer.disconnect().catch(() => undefined);
    }
  }

  async #start(consumer: Consumer): Promise<void> {
    const stretches = [...this.#open.values()];
    await consumer.connect();
    await consumer.subscribe({
      topics: topicsOf(stretches),
      fromBeginning: true,
    });
    await consumer.run({ autoCommit: false, eachBatch: (payload) => this.#handle(payload) });
    for (const { topic, partition, from } of stretches) {
      if (from > 0) consumer.seek({ topic, partition, offset: String(from) });
    }
  }

  #watch(consumer: Consumer, ended: PromiseWithResolvers<void>): NodeJS.Timeout {
    let lastProgressAtMs = performance.now();
    consumer.on(consumer.events.CRASH, ({ payload }) => ended.reject(payload.error));
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
      const name = `${payload.topic}/${payload.partition}`;
      const stretch = this.#extended(name, payload);
      // Records of other writers may still arrive for a partition that is read to its end.
      if (stretch === undefined) return;
      const position = Number(payload.lastOffset) + 1;
      if (position > (this.#positions.get(name) ?? -1)) {
        lastProgressAtMs = performance.now();
        this.fruitless = 0;
      }
      this.#positions.set(name, position);
      if (position >= stretch.to) this.#open.delete(name);
      if (this.isDone) ended.resolve();
    });
    return setInterval(() => {
      const silentMs = performance.now() - lastProgressAtMs;
      if (silentMs > DECIDED_WITHIN_MS && this.#onlyUndecidedLeft) {
        this.#open.clear();
        ended.resolve();
      }
      if (silentMs > STALLED_AFTER_MS && !this.#isEndless) ended.reject(this.#stalled());
    }, 1_000);
  }

  /** Returns the stretch, extended at its first batch to the high watermark, which includes undecided records. */
  #extended(name: string, { highWatermark }: { readonly highWatermark: string }): Stretch | undefined {
    const stretch = this.#open.get(name);
    if (stretch === undefined || this.#options.awaitsDecision !== true || this.#stableEnds.has(name)) {
      return stretch;
    }
    this.#stableEnds.set(name, stretch.to);
    const extended = { ...stretch, to: Math.max(stretch.to, Number(highWatermark)) };
    this.#open.set(name, extended);
    return extended;
  }

  get #isEndless(): boolean {
    return [...this.#open.values()].some(({ to }) => to === Infinity);
  }

  get #onlyUndecidedLeft(): boolean {
    return [...this.#open.keys()].every(
      (name) => (this.#positions.get(name) ?? -1) >= (this.#stableEnds.get(name) ?? Infinity),
    );
  }

  async #handle({ batch }: EachBatchPayload): Promise<void> {
    const name = `${batch.topic}/${batch.partition}`;
    // Records that were undecided when the end was determined may be decided now: they come with the first batch.
    const stretch = this.#extended(name, batch);
    if (stretch === undefined) return;
    // Before the seek takes effect, records before the stretch may arrive.
    const messages = batch.messages.filter(({ offset }) => {
      const position = Number(offset);
      return position >= stretch.from && position < stretch.to;
    });
    const last = messages.at(-1);
    if (last === undefined) return;
    await this.#options.onMessages({ topic: batch.topic, partition: batch.partition, messages });
    this.#open.set(name, { ...stretch, from: Number(last.offset) + 1 });
  }

  #stalled(): RollcallError {
    const [name = ''] = this.#open.keys();
    const message = `Reading ${name} made no progress for ${STALLED_AFTER_MS / 1000} s`;
    return new RollcallError('KAFKA_UNREACHABLE', message, {
      remedy:
        "Check that all partitions have a leader and that no other program's transaction hangs on these topics.",
    });
  }
}
