import { expect, it } from 'vitest';
import type { Coordination } from '../../../src/state/coordination.ts';
import { keepHeartbeat } from '../../../src/state/keep-heartbeat.ts';

it('a heartbeat announces a take-over within half a second', async () => {
  const stop = new AbortController();
  let nowMs = 0;
  const announced: number[][] = [];
  const announce: Coordination['announce'] = async (_tenant, { ownedSinceMs }) => {
    announced.push([nowMs, ownedSinceMs]);
    return true;
  };
  await keepHeartbeat(
    { announce } as Coordination,
    { tenantId: 'north', owner: 'o' },
    {
      ownedSinceMs: () => (nowMs > 4_200 ? 7 : null),
      signal: stop.signal,
      sleep: async (ms) => {
        nowMs += ms;
        if (nowMs > 10_000) stop.abort();
      },
    },
  );
  expect(announced).toEqual([
    [0, 0],
    [3_000, 0],
    [4_500, 7],
    [7_500, 7],
  ]);
});
