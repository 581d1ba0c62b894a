import * as fc from 'fast-check';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Semaphore, Turns } from '../../../src/semaphore.ts';
import { turns } from './support/turns.ts';

const never = new AbortController().signal;

it('a released permit goes to a caller who waits, not to a caller who asks without waiting', async () => {
  const permits = new Semaphore(1);
  const release = await permits.acquire(never);
  const waiting = permits.acquire(never);
  release();
  expect(permits.tryAcquire()).toBeNull();
  (await waiting)();
  expect(permits.tryAcquire()).not.toBeNull();
});

it('narrower semaphores within a wider one take turns, each in the order of arrival', async () => {
  const wider = new Semaphore(1);
  const narrower = new Map(['a', 'b', 'c'].map((name) => [name, new Semaphore(2, wider)]));
  const order: string[] = [];
  const enter = async (name: string): Promise<void> => {
    const release = await narrower.get(name[0] ?? '')?.acquire(never);
    order.push(name);
    await turns(2);
    release?.();
  };
  await Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map(enter));
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
});

it('a semaphore within a wider one never grants more permits than either has, and gets all back', async () => {
  const asked = fc.record({
    tenant: fc.nat(2),
    waits: fc.nat(3),
    works: fc.nat(3),
    givesUp: fc.option(fc.nat(6), { nil: undefined }),
    tries: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(asked, { maxLength: 25 }), async (all) => {
      const wider = new Semaphore(3);
      const tenants = Array.from({ length: 3 }, () => new Semaphore(2, wider));
      const within = [0, 0, 0];
      await Promise.all(
        all.map(async ({ tenant, waits, works, givesUp, tries }) => {
          const permits = tenants[tenant] ?? wider;
          const stop = new AbortController();
          await turns(waits);
          if (givesUp !== undefined) void turns(givesUp).then(() => stop.abort(new Error('gives up')));
          const acquired = tries ? permits.tryAcquire() : permits.acquire(stop.signal).catch(() => null);
          const release = await acquired;
          if (release === null) return;
          within[tenant] = (within[tenant] ?? 0) + 1;
          expect(Math.max(...within)).toBeLessThanOrEqual(2);
          expect(within.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(3);
          await turns(works);
          within[tenant] = (within[tenant] ?? 0) - 1;
          release();
          release();
        }),
      );
      for (const permits of tenants) {
        const got = [permits.tryAcquire(), permits.tryAcquire(), permits.tryAcquire()];
        expect(got.map((each) => each === null)).toEqual([false, false, true]);
        for (const release of got) release?.();
      }
      expect([1, 2, 3, 4].map(() => wider.tryAcquire() === null)).toEqual([false, false, false, true]);
    }),
    { numRuns: 150 },
  );
});

/** Three works, one at a time, with what ends each and what the first calls when it makes progress. */
function begun() {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const turn = new Turns(new Semaphore(1), 30_000);
  const order: number[] = [];
  const ends = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const progress: (() => void)[] = [];
  const all = ends.map((end, at) =>
    turn.run(
      async (onProgress) => {
        order.push(at);
        progress.push(onProgress);
        await end.promise;
      },
      { signal: never },
    ),
  );
  return { turn, order, ends, progress, all };
}

it('work keeps its turn as long as it makes progress, and otherwise lets the next work begin', async () => {
  const { order, ends, progress, all } = begun();
  for (let minute = 0; minute < 10; minute += 1) {
    await vi.advanceTimersByTimeAsync(29_000);
    progress[0]?.();
  }
  expect(order).toEqual([0]);
  await vi.advanceTimersByTimeAsync(30_000);
  // It goes on, and takes the turn of no other.
  progress[0]?.();
  ends[0]?.resolve();
  await all[0];
  expect(order).toEqual([0, 1]);
  for (const { resolve } of ends) resolve();
  await Promise.all(all);
  expect([order, vi.getTimerCount()]).toEqual([[0, 1, 2], 0]);
});

it('work that fails lets the next work begin, and aborted work never begins', async () => {
  const { turn, order, ends, all } = begun();
  const stop = new AbortController();
  const fourth = turn.run(() => Promise.resolve(order.push(3)), { signal: stop.signal });
  stop.abort(new Error('stopping'));
  await expect(fourth).rejects.toThrow('stopping');
  ends[0]?.reject(new Error('failed'));
  await expect(all[0]).rejects.toThrow('failed');
  for (const { resolve } of ends.slice(1)) resolve();
  await Promise.all(all.slice(1));
  expect(order).toEqual([0, 1, 2]);
});
