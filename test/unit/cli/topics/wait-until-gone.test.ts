import { describe, expect, it } from 'vitest';
import { waitUntilGone } from '../../../../src/cli/topics/wait-until-gone.ts';

const NAMES = ['p.north.results', 'p.north.courses'];

/** Makes brokers that list deleted topics for a time. */
function forgettingAfter(ms: number) {
  const shown: string[] = [];
  let nowMs = 0;
  const listed = (): string[] => ['p.north.orgs', ...(nowMs < ms ? NAMES : [])];
  return {
    shown,
    listed,
    elapsedMs: () => nowMs,
    parts: {
      admin: { listTopics: () => Promise.resolve(listed()) },
      progress: { update: (text: string) => void shown.push(text) },
      sleep: (forMs: number) => Promise.resolve(void (nowMs += forMs)),
      signal: new AbortController().signal,
    },
  };
}

describe('topics that were deleted', () => {
  it('are awaited until no broker lists them, with a progress line', async () => {
    const { parts, listed, shown } = forgettingAfter(60_000);
    await waitUntilGone(NAMES, parts);
    expect(listed()).toEqual(['p.north.orgs']);
    expect(new Set(shown)).toEqual(new Set(['waiting until no broker lists 2 topics any more']));
  });

  it('are an error where brokers still list them at the end', async () => {
    const { parts, elapsedMs } = forgettingAfter(Infinity);
    await expect(waitUntilGone(NAMES, parts)).rejects.toMatchObject({
      code: 'KAFKA_UNREACHABLE',
      message: expect.stringContaining('p.north.results and 1 other were deleted, and are still listed'),
      remedy: expect.stringContaining('give the command again'),
    });
    expect(elapsedMs()).toBeGreaterThan(60_000);
  });

  it('are not awaited where no broker lists them', async () => {
    const { parts, shown } = forgettingAfter(0);
    await waitUntilGone(NAMES, parts);
    expect(shown).toEqual([]);
  });
});
