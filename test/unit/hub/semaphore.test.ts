import * as fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Semaphore, Turns } from '../../../src/hub/semaphore.ts';

const never = new AbortController().signal;

describe('a semaphore', () => {
  it('gives a released permit to whoever waits, not to whoever asks without waiting', async () => {
    const permits = new Semaphore(1);
    const release = await permits.acquire(never);
    const waiting = permits.acquire(never);
    release();
    expect(permits.tryAcquire()).toBeNull();
    (await waiting)();
    const taken = permits.tryAcquire();
    expect([taken === null, permits.tryAcquire()]).toEqual([false, null]);
  });

  it('lets those who ask take turns, each in the order of arrival, whatever number of requests one has', async () => {
    const permits = new Semaphore(1);
    const order: string[] = [];
    const enter = async (name: string): Promise<void> => {
      const release = await permits.acquire(never, name[0]);
      order.push(name);
      await nextTurn();
      release();
    };
    await Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2'].map(enter));
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });
});

describe('a semaphore within a wider one', () => {
  it('lets the narrower ones take turns, and holds no place in the wider one for those who wait in it', async () => {
    const host = new Semaphore(2);
    const [north, south] = [new Semaphore(2, host), new Semaphore(2, host)];
    const order: string[] = [];
    const releases: (() => void)[] = [];
    const enter = async (name: string, permits: Semaphore): Promise<void> => {
      const release = await permits.acquire(never);
      order.push(name);
      releases.push(release);
    };
    const all = [1, 2, 3, 4].map((number) => enter(`north ${number}`, north));
    all.push(enter('south 1', south));
    for (let ended = 0; ended < all.length; ended += 1) {
      await nextTurn();
      releases[ended]?.();
    }
    await Promise.all(all);
    expect(order).toEqual(['north 1', 'north 2', 'south 1', 'north 3', 'north 4']);
  });

  it('never grants more than either has, and has all of them back, whoever gives up and when', async () => {
    const asked = fc.record({
      tenant: fc.nat(2),
      waits: fc.nat(3),
      works: fc.nat(3),
      givesUp: fc.option(fc.nat(6), { nil: undefined }),
      tries: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { maxLength: 25 }), async (all) => {
        const host = new Semaphore(3);
        const tenants = Array.from({ length: 3 }, () => new Semaphore(2, host));
        const within = [0, 0, 0];
        const turns = async (count: number): Promise<void> => {
          for (let turn = 0; turn < count; turn += 1) await nextTurn();
        };
        await Promise.all(
          all.map(async ({ tenant, waits, works, givesUp, tries }) => {
            const permits = tenants[tenant] ?? host;
            const stop = new AbortController();
            await turns(waits);
            if (givesUp !== undefined) void turns(givesUp).then(() => stop.abort(new Error('gives up')));
            const release = tries
              ? permits.tryAcquire()
              : await permits.acquire(stop.signal).catch(() => null);
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
        expect([1, 2, 3, 4].map(() => host.tryAcquire() === null)).toEqual([false, false, false, true]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('work that begins in turn', () => {
  /** Three works, one at a time, with what ends each and what the first calls when it makes progress. */
  function begun(longMs: number) {
    const turns = new Turns(new Semaphore(1), longMs);
    const order: number[] = [];
    const ends = [0, 1, 2].map(() => Promise.withResolvers<void>());
    const progress: (() => void)[] = [];
    const all = ends.map((end, at) =>
      turns.run(
        async (onProgress) => {
          order.push(at);
          progress.push(onProgress);
          await end.promise;
        },
        { signal: never },
      ),
    );
    return { turns, order, ends, progress, all };
  }

  it('counts as long as it makes progress, and lets the next begin when it makes none', async () => {
    vi.useFakeTimers();
    try {
      const { order, ends, progress, all } = begun(30_000);
      for (let minute = 0; minute < 10; minute += 1) {
        await vi.advanceTimersByTimeAsync(29_000);
        progress[0]?.();
      }
      expect(order).toEqual([0]);
      await vi.advanceTimersByTimeAsync(30_000);
      expect(order).toEqual([0, 1]);
      // It goes on, and takes the turn of no other.
      progress[0]?.();
      ends[0]?.resolve();
      await all[0];
      expect(order).toEqual([0, 1]);
      for (const { resolve } of ends) resolve();
      await Promise.all(all);
      expect(order).toEqual([0, 1, 2]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('lets the next begin when it fails, and is not begun after its signal has aborted', async () => {
    const { turns, order, ends, all } = begun(30_000);
    const stop = new AbortController();
    const fourth = turns.run(() => Promise.resolve(order.push(3)), { signal: stop.signal });
    stop.abort(new Error('stopping'));
    await expect(fourth).rejects.toThrow('stopping');
    ends[0]?.reject(new Error('failed'));
    await expect(all[0]).rejects.toThrow('failed');
    for (const { resolve } of ends.slice(1)) resolve();
    await Promise.all(all.slice(1));
    expect(order).toEqual([0, 1, 2]);
  });
});
