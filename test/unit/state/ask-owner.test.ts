import { expect, it } from 'vitest';
import { askOwner } from '../../../src/state/ask-owner.ts';
import { MemoryCoordination } from './memory-coordination.ts';

it('a command waits ten minutes for an owner that lives and does not begin', async () => {
  let nowMs = 0;
  const coordination = new MemoryCoordination(() => nowMs);
  await coordination.announce('north', { owner: 'o', ownedSinceMs: 1, info: {} }, 1e12);
  const error: unknown = await askOwner({
    coordination,
    tenantId: 'north',
    request: { id: 'r', kind: 'pull', parameters: {} },
    signal: new AbortController().signal,
    now: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
  }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: 'OWNER_BUSY',
    message: expect.stringContaining('take the request up') as string,
  });
  expect(nowMs).toBeGreaterThan(600_000);
});
