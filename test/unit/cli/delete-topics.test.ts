import { afterEach, expect, it, vi } from 'vitest';
import { deleteTopics } from '../../../src/cli/topics.ts';

vi.mock('../../../src/runtime.ts', () => ({
  sleep: (ms: number) => Promise.resolve(void vi.setSystemTime(Date.now() + ms)),
}));
afterEach(() => vi.useRealTimers());

/** Deletes topics that the brokers list for some time longer. */
function deletion(listedForMs: number): Promise<void> {
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  const names = ['p.north.results', 'p.north.courses'];
  const listTopics = async () => ['p.north.orgs', ...(Date.now() < listedForMs ? names : [])];
  const topics = names.map((name) => ({ name }));
  return deleteTopics({ deleteTopics: async () => {}, listTopics }, topics, new AbortController().signal);
}

it('topics that were deleted are awaited until no broker lists them, which is an error after two minutes', async () => {
  await deletion(60_000);
  expect(Date.now()).toBe(60_000);
  await expect(deletion(Infinity)).rejects.toMatchObject({
    code: 'KAFKA_UNREACHABLE',
    message: expect.stringContaining('Kafka has accepted the deletion of p.north.results'),
    remedy: expect.stringContaining('give the command again'),
  });
});
