import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { readTenantProgress } from '../../../src/cli/verb-parts.ts';
import { RequestFailure } from '../../../src/log/transaction-brokers.ts';
import type { Assembly } from '../../../src/session/assemble.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Kafka of which one broker answers, and the one that leads every topic does not. */
const kafka = {
  askAny: async () => ({}),
  partitionsOf: async (topics: readonly string[]) =>
    topics.map((topic) => ({ topic, partition: 0, leader: 2 })),
  ask: async () => {
    throw new RequestFailure('unsent');
  },
};

it('a command that reads a log whose broker is down says so after two seconds, and ends after twelve', async () => {
  let said = '';
  const stderr = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((text) => (said += String(text)) !== '');
  const config = { kafka: { brokers: ['a:9092', 'b:9092'], topicPrefix: 'p' } };
  const assembly = { kafka, config, registry: {} } as unknown as Assembly;
  const signal = new AbortController().signal;
  const ended = readTenantProgress(assembly, [{ id: 'north' }], signal).then(
    () => 'read',
    ({ code }: { code: string }) => code,
  );
  await vi.advanceTimersByTimeAsync(1_900);
  expect(said).toBe('');
  await vi.advanceTimersByTimeAsync(200);
  expect(said).toBe(
    'Kafka (a:9092, b:9092): still waiting for the leaders of the topics named progress. If brokers are down, this takes half a minute at most.\n',
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await ended).toBe('KAFKA_UNREACHABLE');
  stderr.mockRestore();
});
