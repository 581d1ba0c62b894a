import { afterEach, describe, expect, it, vi } from 'vitest';
import { deleteTopics } from '../../../src/cli/topics.ts';

const NAMES = ['p.north.results', 'p.north.courses'];
const TOPICS = NAMES.map((name) => ({ name }));
const { signal } = new AbortController();

vi.mock('../../../src/runtime.ts', () => ({
  sleep: (ms: number) => Promise.resolve(void vi.setSystemTime(Date.now() + ms)),
}));
afterEach(() => vi.useRealTimers());

/** Brokers that list deleted topics for a time. */
function forgettingAfter(ms: number) {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const listed = (): string[] => ['p.north.orgs', ...(Date.now() < ms ? NAMES : [])];
  const admin = {
    deleteTopics: () => Promise.resolve(),
    listTopics: () => Promise.resolve(listed()),
  };
  return { listed, deletion: () => deleteTopics(admin, TOPICS, signal) };
}

describe('topics that were deleted', () => {
  it('are awaited until no broker lists them', async () => {
    const { deletion, listed } = forgettingAfter(60_000);
    await deletion();
    expect(listed()).toEqual(['p.north.orgs']);
  });

  it('are an error where brokers still list them at the end', async () => {
    const { deletion } = forgettingAfter(Infinity);
    await expect(deletion()).rejects.toMatchObject({
      code: 'KAFKA_UNREACHABLE',
      message: expect.stringContaining('Kafka has accepted the deletion of p.north.results'),
      remedy: expect.stringContaining('give the command again'),
    });
    expect(Date.now()).toBeGreaterThan(60_000);
  });
});
