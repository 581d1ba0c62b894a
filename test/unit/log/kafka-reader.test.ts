import type { Kafka, KafkaMessage } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readStretches } from '../../../src/log/kafka-reader.ts';
import { turns } from '../hub/support/turns.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A consumer of kafkajs, to whom topics of one partition become readable up to their stable ends. */
function laggingTopics(highWatermarks: Readonly<Record<string, number>>) {
  const listeners = new Map<string, (event: unknown) => void>();
  const ends = new Map<string, number>();
  let attempts = 0;
  let eachBatch = (_payload: unknown): Promise<void> => Promise.resolve();
  const nothing = () => Promise.resolve();
  const consumer = {
    events: { CRASH: 'crash', END_BATCH_PROCESS: 'end' },
    on: (name: string, listener: (event: unknown) => void) => listeners.set(name, listener),
    connect: nothing,
    subscribe: nothing,
    disconnect: nothing,
    seek: () => undefined,
    run: async (options: { eachBatch: typeof eachBatch }) => {
      ({ eachBatch } = options);
      attempts += 1;
    },
  };
  return {
    attempts: () => attempts,
    kafka: { consumer: () => consumer } as unknown as Kafka,
    crash: () => listeners.get('crash')?.({ payload: { error: new Error('a leader moved') } }),
    async stableEndMovesTo(end: number, topic: string): Promise<void> {
      const next = ends.get(topic) ?? 0;
      const offsets = Array.from({ length: end - next }, (_, at) => String(next + at));
      const messages = offsets.map((offset) => ({ offset }) as KafkaMessage);
      ends.set(topic, end);
      const batch = { topic, partition: 0, highWatermark: String(Math.max(end, highWatermarks[topic] ?? 0)) };
      await eachBatch({ batch: { ...batch, messages } });
      listeners.get('end')?.({ payload: { ...batch, lastOffset: String(end - 1) } });
    },
  };
}

/** Reads up to offset 3 of each topic, whose high watermark is 5. */
async function read(awaitsDecision: boolean, names: readonly string[]) {
  const topics = laggingTopics({ progress: 5, dead: 5 });
  const offsets: number[] = [];
  const seen = { isOver: false, offsets, topics };
  const reading = readStretches({
    kafka: topics.kafka,
    groupIdPrefix: 'p',
    stretches: names.map((topic) => ({ topic, partition: 0, from: 0, to: 3 })),
    awaitsDecision,
    onMessages: async ({ messages }) => void offsets.push(...messages.map(({ offset }) => Number(offset))),
    signal: new AbortController().signal,
  });
  void reading.then(() => (seen.isOver = true));
  await vi.advanceTimersByTimeAsync(1);
  return seen;
}

it.each([
  ['waits for a commit that was acknowledged but whose markers are late', true, [3, 5_000, 5], 5],
  ['reads what was decided between the request for the end and the first fetch', true, [5], 5],
  ['ends at the stable end where a transaction stays undecided', true, [3, 12_000], 3],
  ['ends at the requested end when undecided transactions are not awaited', false, [3], 3],
])('reading up to an end %s', async (_, awaitsDecision, happens, end) => {
  const seen = await read(awaitsDecision, ['progress']);
  for (const [at, what] of happens.entries()) {
    expect(seen.isOver).toBe(false);
    if (what < 100) await seen.topics.stableEndMovesTo(what, 'progress');
    await vi.advanceTimersByTimeAsync(what < 100 ? 1 : what);
    if (at + 1 < happens.length) continue;
    expect([seen.isOver, seen.offsets]).toEqual([true, [0, 1, 2, 3, 4].slice(0, end)]);
  }
});

it('reading up to an end stops at the stable end while others keep committing beyond what is read already', async () => {
  const seen = await read(true, ['dead', 'busy']);
  await seen.topics.stableEndMovesTo(3, 'dead');
  for (let end = 3; end < 10 && !seen.isOver; end += 1) {
    await seen.topics.stableEndMovesTo(end, 'busy');
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(seen.isOver).toBe(true);
});

describe('attempts to read', () => {
  const begin = (signal = new AbortController().signal) => {
    const topics = laggingTopics({});
    const stretches = [{ topic: 'progress', partition: 0, from: 0, to: 6 }];
    const onMessages = () => Promise.resolve();
    const reading = readStretches({ kafka: topics.kafka, groupIdPrefix: 'p', stretches, onMessages, signal });
    return { topics, outcome: reading.catch((error: unknown) => error) };
  };

  it('are not counted while they read something', async () => {
    const { topics, outcome } = begin();
    for (let end = 1; end <= 6; end += 1) {
      await vi.waitFor(() => expect(topics.attempts()).toBe(end));
      await topics.stableEndMovesTo(end, 'progress');
      topics.crash();
    }
    expect(await outcome).toBeUndefined();
  });

  it('end with the signal, also in the pause between two', async () => {
    const stop = new AbortController();
    const { topics, outcome } = begin(stop.signal);
    await vi.waitFor(() => expect(topics.attempts()).toBe(1));
    topics.crash();
    await turns(50);
    stop.abort('stopping');
    expect(await Promise.race([outcome, turns(50)])).toBe('stopping');
  });
});
