import { expect, it } from 'vitest';
import type { Coordination } from '../../../src/state/coordination.ts';
import { keepHeartbeat } from '../../../src/state/keep-heartbeat.ts';

it.each([false, true])(
  'a heartbeat is renewed every three seconds, and is left to an owner that follows: %s',
  async (isFollowed) => {
    const did: unknown[] = [];
    const coordination: Partial<Coordination> = {
      announce: async (_, { ownedSinceMs }) => did.push([nowMs, ownedSinceMs]) > 0,
      withdraw: async (_, owner) => void did.push(owner),
    };
    const enough = Promise.withResolvers<void>();
    let nowMs = 0;
    const heartbeat = keepHeartbeat(
      coordination as Coordination,
      { tenantId: 'north', owner: 'o' },
      {
        ownedSinceMs: () => (nowMs > 4_200 ? 7 : null),
        isFollowed: () => isFollowed,
        async sleep(ms, signal) {
          nowMs += ms;
          if (nowMs < 9_000) return;
          enough.resolve();
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
      },
    );
    await enough.promise;
    await heartbeat[Symbol.asyncDispose]();
    const announced = [
      [0, 0],
      [3_000, 0],
      [6_000, 7],
    ];
    expect(did).toEqual(isFollowed ? announced : [...announced, 'o']);
  },
);
