import type { Kafka, KafkaMessage } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readStretches } from '../../../src/log/kafka-reader.ts';

/** Topics of one partition each that a consumer of kafkajs can read up to their stable ends. */
class LaggingTopics {
  readonly #onEvent = new Map<string, (event: unknown) => void>();
  readonly #highWatermarks: Readonly<Record<string, number>>;
  readonly #next = new Map<string, number>();
  #eachBatch: (payload: unknown) => Promise<void> = () => Promise.resolve();

  constructor(highWatermarks: Readonly<Record<string, number>>) {
    this.#highWatermarks = highWatermarks;
  }

  get kafka(): Kafka {
    const consumer = {
      events: { CRASH: 'crash', END_BATCH_PROCESS: 'end' },
      on: (name: string, listener: (event: unknown) => void) => this.#onEvent.set(name, listener),
      connect: () => Promise.resolve(),
      subscribe: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      seek: () => undefined,
      run: ({ eachBatch }: { eachBatch: (payload: unknown) => Promise<void> }) => {
        this.#eachBatch = eachBatch;
        return Promise.resolve();
      },
    };
    return { consumer: () => consumer } as unknown as Kafka;
  }

  /** Delivers what becomes readable when the stable end moves here. */
  async stableEndMovesTo(end: number, topic = 'progress'): Promise<void> {
    const next = this.#next.get(topic) ?? 0;
    const messages = Array.from(
      { length: end - next },
      (_, at) => ({ offset: String(next + at) }) as KafkaMessage,
    );
    this.#next.set(topic, end);
    const highWatermark = String(Math.max(end, this.#highWatermarks[topic] ?? 0));
    await this.#eachBatch({ batch: { topic, partition: 0, messages, highWatermark } });
    const payload = { topic, partition: 0, lastOffset: String(end - 1), highWatermark };
    this.#onEvent.get('end')?.({ payload });
  }
}

async function read(topics: LaggingTopics, { awaitsDecision = true, names = ['progress'] } = {}) {
  const offsets: number[] = [];
  let isOver = false;
  const reading = (async () => {
    await readStretches({
      kafka: topics.kafka,
      groupIdPrefix: 'p',
      stretches: names.map((topic) => ({ topic, partition: 0, from: 0, to: 3 })),
      awaitsDecision,
      onMessages: ({ messages }) => {
        offsets.push(...messages.map(({ offset }) => Number(offset)));
        return Promise.resolve();
      },
      signal: new AbortController().signal,
    });
    isOver = true;
  })();
  await vi.advanceTimersByTimeAsync(1);
  return { offsets, over: () => reading, isOver: () => isOver };
}

describe('readStretches', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits for a commit that was acknowledged but whose markers are late', async () => {
    const topics = new LaggingTopics({ progress: 5 });
    const { offsets, over, isOver } = await read(topics);
    await topics.stableEndMovesTo(3);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(isOver()).toBe(false);
    await topics.stableEndMovesTo(5);
    await over();
    expect(offsets).toEqual([0, 1, 2, 3, 4]);
  });

  it('reads what was decided between the request for the end and the first fetch', async () => {
    const topics = new LaggingTopics({ progress: 5 });
    const { offsets, over } = await read(topics);
    await topics.stableEndMovesTo(5);
    await over();
    expect(offsets).toEqual([0, 1, 2, 3, 4]);
  });

  it('ends at the stable end where a transaction stays undecided', async () => {
    const topics = new LaggingTopics({ progress: 5 });
    const { offsets, over } = await read(topics);
    await topics.stableEndMovesTo(3);
    await vi.advanceTimersByTimeAsync(12_000);
    await over();
    expect(offsets).toEqual([0, 1, 2]);
  });

  it('ends at the stable end while others keep committing beyond what is read already', async () => {
    const topics = new LaggingTopics({ dead: 5, busy: 3 });
    const { over, isOver } = await read(topics, { names: ['dead', 'busy'] });
    await topics.stableEndMovesTo(3, 'dead');
    for (let end = 3; end < 10 && !isOver(); end += 1) {
      await topics.stableEndMovesTo(end, 'busy');
      await vi.advanceTimersByTimeAsync(5_000);
    }
    expect(isOver()).toBe(true);
    await over();
  });

  it('ends at the requested end when the caller does not await undecided transactions', async () => {
    const topics = new LaggingTopics({ progress: 5 });
    const { offsets, over } = await read(topics, { awaitsDecision: false });
    await topics.stableEndMovesTo(3);
    await over();
    expect(offsets).toEqual([0, 1, 2]);
  });
});
