import { setTimeout as delay } from 'node:timers/promises';
import { abortable } from '../abortable.ts';
import { RollcallError } from '../errors.ts';
import { partitionName, partsOfTopic } from '../model/topic-names.ts';
import {
  committedRecords,
  MAX_DECOMPRESSED_BYTES,
  type FetchedPartition,
  type FetchedRecord,
} from './wire/fetched-batch.ts';
import { typeOf, wholeRequest } from './wire/kafka-broker.ts';
import { kafkaError } from './kafka-errors.ts';
import { byTopic, fetchOffsets, type TopicQuestions } from './topic-offsets.ts';
import { RequestFailure, type TopicPartition } from './transaction-brokers.ts';

/** A part of a partition: offsets from `from` up to, but not including, `to`. Infinity: until the signal aborts. */
export interface Stretch extends TopicPartition {
  readonly from: number;
  readonly to: number;
}

/** Messages within a stretch, at least one. */
type ReadMessages = TopicPartition & { readonly messages: readonly FetchedRecord[] };

export interface ReadOptions {
  readonly kafka: TopicQuestions;
  readonly stretches: readonly Stretch[];
  /** Called for one batch of messages at a time. */
  readonly onMessages: (read: ReadMessages) => Promise<void>;
  /**
   * Also waits for records of open transactions after the stretches. A broker answers a commit before it writes the
   * markers: without this, a caller that knows of a commit may not find its records.
   */
  readonly awaitsDecision?: boolean | undefined;
  readonly signal: AbortSignal;
  /** How the reader waits; by default with Node's timer. */
  readonly sleep?: typeof delay | undefined;
}

const STALLED_AFTER_MS = 60_000;
/** A transaction that stays open longer belongs to a process that died before its commit. */
const DECIDED_WITHIN_MS = 10_000;
/** A broker that dies is noticed after 9 s (`broker.session.timeout.ms`), and its partitions then have other leaders. */
const FAILS_FOR_MS = 25_000;
const BETWEEN_ATTEMPTS_MS = 500;
/**
 * The pause before the end of a partition is fetched again. A broker is not asked to wait for new records, because the
 * other requests on the connection would wait, too.
 */
const BETWEEN_FETCHES_MS = 100;
/** No broker has this node id. */
const NOBODY = -1;
const ANSWER_BYTES = 10_485_760;
const PARTITION_BYTES = 4_194_304;

/**
 * Reads stretches of partitions with `read_committed`, each in order, to their ends.
 *
 * It detects an end by the position after what was fetched, and not by the last record that a handler gets: a record of
 * an aborted transaction, for example, reaches no handler. For this, the offset before `to` must still be in the log,
 * as that of a record or of a control batch (see `appendEndMarkers`).
 */
export async function readStretches(options: ReadOptions): Promise<void> {
  const { signal, sleep = delay } = options;
  const reader = new StretchReader(options);
  while (!reader.isDone) {
    try {
      await reader.attempt();
    } catch (error) {
      signal.throwIfAborted();
      const failure = kafkaError(error, 'reading topics');
      // The next attempt continues where this one stopped, perhaps at another leader.
      if (reader.unansweredMs > FAILS_FOR_MS || failure.code !== 'KAFKA_UNREACHABLE') throw failure;
      await sleep(BETWEEN_ATTEMPTS_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

interface FetchAnswer {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

type FetchedOf = FetchedPartition & TopicPartition;

class StretchReader {
  readonly #options: ReadOptions;
  /** Unread stretches, by `<topic>/<partition>`; `from` advances with the handled messages. */
  readonly #open = new Map<string, Stretch>();
  /** The original ends of the stretches that were extended, so that they include undecided records. */
  readonly #stableEnds = new Map<string, number>();
  #progressAtMs = performance.now();
  #answeredAtMs = performance.now();

  constructor(options: ReadOptions) {
    this.#options = options;
    for (const stretch of options.stretches) {
      if (stretch.from < stretch.to) this.#open.set(nameOf(stretch), stretch);
    }
  }

  get isDone(): boolean {
    return this.#open.size === 0;
  }

  /** The time since all leaders last answered, ms. */
  get unansweredMs(): number {
    return performance.now() - this.#answeredAtMs;
  }

  /** Reads until everything has been read, something fails, or the signal aborts. Never leaves a handler running. */
  async attempt(): Promise<void> {
    const { kafka, signal } = this.#options;
    const topics = new Set([...this.#open.values()].map(({ topic }) => topic));
    const led = await abortable(kafka.partitionsOf([...topics]), signal);
    const leaders = new Map(led.map((each) => [nameOf(each), each.leader]));
    while (!this.isDone) {
      const byLeader = Map.groupBy(this.#open.values(), (each) => leaders.get(nameOf(each)) ?? NOBODY);
      const fetches = [...byLeader].map(([node, some]) => this.#fetch(node, some));
      let hasRead = false;
      for (const each of (await abortable(Promise.all(fetches), signal)).flat()) {
        signal.throwIfAborted();
        hasRead = (await this.#take(each)) || hasRead;
      }
      this.#answeredAtMs = performance.now();
      if (hasRead) this.#progressAtMs = this.#answeredAtMs;
      else await this.#waitForMore();
    }
  }

  /** Fetches what comes next in the stretches that a node leads. */
  async #fetch(node: number, led: readonly Stretch[]): Promise<readonly FetchedOf[]> {
    const topics = byTopic(led, ({ from }) => ({ fetchOffset: from, maxBytes: PARTITION_BYTES }));
    const fetch = wholeRequest('Fetch', { maxWaitTime: 0, minBytes: 1, maxBytes: ANSWER_BYTES, topics });
    const { responses } = await this.#options.kafka.ask<FetchAnswer>(node, fetch);
    return responses.flatMap(({ topicName: topic, partitions }) =>
      partitions.map((each) => ({ ...each, topic })),
    );
  }

  /** Hands on what was fetched from a partition. Returns whether the position has moved. */
  async #take(fetched: FetchedOf): Promise<boolean> {
    const { topic, partition, errorCode, highWatermark } = fetched;
    const name = nameOf(fetched);
    const type = typeOf(errorCode);
    if (type === 'OFFSET_OUT_OF_RANGE') return this.#startOver(name);
    if (type !== null) throw new RequestFailure('refused', { type, topic });
    const stretch = this.#extended(name, Number(highWatermark));
    const position = Number(fetched.messages.at(-1)?.offset ?? -1) + 1;
    if (stretch === undefined || position <= stretch.from) return false;
    const unreadable = fetched.messages.find(({ batchContext }) => batchContext.isUnreadable)?.batchContext;
    if (unreadable !== undefined && unreadable.firstOffset < stretch.to)
      throw batchUnreadable(fetched, unreadable.firstOffset);
    const messages = committedRecords(fetched).filter(({ offset }) => {
      const at = Number(offset);
      return at >= stretch.from && at < stretch.to;
    });
    if (messages.length > 0) await this.#options.onMessages({ topic, partition, messages });
    if (position >= stretch.to) this.#open.delete(name);
    else this.#open.set(name, { ...stretch, from: position });
    return true;
  }

  /** Records were deleted, or the topic has begun again: there may be less than was to be read. */
  async #startOver(name: string): Promise<boolean> {
    const stretch = this.#open.get(name);
    if (stretch === undefined) return false;
    const { kafka, signal } = this.#options;
    const ranges = await abortable(fetchOffsets(kafka, [stretch.topic]), signal);
    const earliest = ranges.get(stretch.topic)?.[stretch.partition]?.low ?? 0;
    if (earliest >= stretch.to) this.#open.delete(name);
    else this.#open.set(name, { ...stretch, from: earliest });
    return earliest > stretch.from;
  }

  /** Returns the stretch. The first answer about it extends it to the high watermark, which includes undecided records. */
  #extended(name: string, highWatermark: number): Stretch | undefined {
    const stretch = this.#open.get(name);
    if (stretch === undefined || this.#options.awaitsDecision !== true || this.#stableEnds.has(name)) {
      return stretch;
    }
    this.#stableEnds.set(name, stretch.to);
    const extended = { ...stretch, to: Math.max(stretch.to, highWatermark) };
    this.#open.set(name, extended);
    return extended;
  }

  async #waitForMore(): Promise<void> {
    const { signal, sleep = delay } = this.#options;
    const left = [...this.#open.values()];
    const silentMs = this.#answeredAtMs - this.#progressAtMs;
    const isUndecided = left.every((each) => each.from >= (this.#stableEnds.get(nameOf(each)) ?? Infinity));
    if (isUndecided && silentMs > DECIDED_WITHIN_MS) this.#open.clear();
    else if (silentMs > STALLED_AFTER_MS && left.every(({ to }) => to < Infinity)) throw stalled(left);
    else await sleep(BETWEEN_FETCHES_MS, undefined, { signal });
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return partitionName(topic, partition);
}

function batchUnreadable({ topic, partition }: TopicPartition, offset: number): RollcallError {
  const place = `The batch at offset ${offset} of ${partitionName(topic, partition)}`;
  const what = `${place} cannot be read: it is damaged, or longer than ${MAX_DECOMPRESSED_BYTES} bytes when it is decompressed`;
  return new RollcallError('KAFKA_REFUSED', what, {
    remedy: `Rollcall writes no such batch. Find out which program wrote it. Stop every process of this tenant, ${beginningAgain(topic)}, and start the processes again: they publish the records of this topic again.`,
  });
}

/**
 * Returns the part of a remedy that says how to empty a topic. `rollcall topics recreate` cannot do this for
 * `progress`, because it reads `progress` first.
 */
function beginningAgain(topic: string): string {
  const parts = partsOfTopic(topic);
  if (parts === null || parts.suffix === 'progress')
    return `delete the topic with "kafka-topics.sh … --delete --topic ${topic}"`;
  return `run "rollcall topics recreate ${parts.suffix} --tenant ${parts.tenantId} --yes"`;
}

function stalled([first]: readonly Stretch[]): RollcallError {
  const name = first === undefined ? '' : nameOf(first);
  const message = `Reading ${name} made no progress for ${STALLED_AFTER_MS / 1000} s`;
  return new RollcallError('KAFKA_UNREACHABLE', message, {
    remedy:
      'Check that all partitions have a leader and that no other program has left a transaction open on these topics.',
  });
}
