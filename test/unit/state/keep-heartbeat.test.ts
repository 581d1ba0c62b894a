import { expect, it } from 'vitest';
import type { Coordination } from '../../../src/state/coordination.ts';
import { keepHeartbeat } from '../../../src/state/keep-heartbeat.ts';
import { sleep } from '../../../src/runtime.ts';

it('a heartbeat before the take-over is renewed as seldom as others, and the take-over is announced at once', async () => {
  const announced: number[] = [];
  const announce: Coordination['announce'] = async (_tenant, { ownedSinceMs }) => {
    announced.push(ownedSinceMs);
    return true;
  };
  let since: number | null = null;
  const stop = new AbortController();
  const kept = keepHeartbeat(
    { announce } as Coordination,
    { tenantId: 'north', owner: 'o' },
    {
      ownedSinceMs: () => since,
      signal: stop.signal,
      sleep,
    },
  );
  await sleep(1_300, stop.signal);
  expect(announced).toEqual([0]);
  since = 7;
  await sleep(700, stop.signal);
  expect(announced).toEqual([0, 7]);
  stop.abort();
  await kept;
});
