import type { Kafka, KafkaMessage } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readStretches } from '../../../src/publisher/kafka-reader.ts';

const TOPIC = 'p.north.progress';

/** A partition whose records are readable up to its stable end, as a consumer of kafkajs meets it. */
class LaggingPartition {
  readonly #onEvent = new Map<string, (event: unknown) => void>();
  readonly #highWatermark: number;
  #eachBatch: (payload: unknown) => Promise<void> = () => Promise.resolve();
  #next = 0;

  constructor(highWatermark: number) {
    this.#highWatermark = highWatermark;
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

  /** Hands on what is readable once the stable end stands here. */
  async stableEndMovesTo(end: number): Promise<void> {
    const offsets = Array.from({ length: end - this.#next }, (_, at) => String(this.#next + at));
    this.#next = end;
    const messages = offsets.map((offset) => ({ offset }) as KafkaMessage);
    await this.#eachBatch({ batch: { topic: TOPIC, partition: 0, messages } });
    const payload = {
      topic: TOPIC,
      partition: 0,
      lastOffset: String(end - 1),
      highWatermark: String(this.#highWatermark),
    };
    this.#onEvent.get('end')?.({ payload });
  }
}

function read(partition: LaggingPartition, awaitsDecision: boolean) {
  const offsets: number[] = [];
  let isOver = false;
  const reading = (async () => {
    await readStretches({
      kafka: partition.kafka,
      groupIdPrefix: 'p',
      stretches: [{ topic: TOPIC, partition: 0, from: 0, to: 3 }],
      awaitsDecision,
      onMessages: ({ messages }) => {
        offsets.push(...messages.map(({ offset }) => Number(offset)));
        return Promise.resolve();
      },
      signal: new AbortController().signal,
    });
    isOver = true;
  })();
  return { offsets, reading, isOver: () => isOver };
}

describe('readStretches', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits for a commit that was answered but whose markers are late', async () => {
    const partition = new LaggingPartition(5);
    const { offsets, reading, isOver } = read(partition, true);
    await vi.advanceTimersByTimeAsync(1);
    await partition.stableEndMovesTo(3);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(isOver()).toBe(false);
    await partition.stableEndMovesTo(5);
    await reading;
    expect(offsets).toEqual([0, 1, 2, 3, 4]);
  });

  it('ends at the stable end where a transaction stays undecided', async () => {
    const partition = new LaggingPartition(5);
    const { offsets, reading } = read(partition, true);
    await vi.advanceTimersByTimeAsync(1);
    await partition.stableEndMovesTo(3);
    await vi.advanceTimersByTimeAsync(12_000);
    await reading;
    expect(offsets).toEqual([0, 1, 2]);
  });

  it('ends where it is told to end when nobody asks for what is undecided', async () => {
    const partition = new LaggingPartition(5);
    const { offsets, reading } = read(partition, false);
    await vi.advanceTimersByTimeAsync(1);
    await partition.stableEndMovesTo(3);
    await reading;
    expect(offsets).toEqual([0, 1, 2]);
  });
});
