import { describe, expect, it } from 'vitest';
import { Semaphore } from '../../../src/hub/semaphore.ts';

const never = new AbortController().signal;

describe('a semaphore', () => {
  it('admits no more than it has permits, in the order of arrival', async () => {
    const permits = new Semaphore(2);
    const order: number[] = [];
    const releases: (() => void)[] = [];
    const entries = [0, 1, 2, 3].map(async (who) => {
      const release = await permits.acquire(never);
      order.push(who);
      releases.push(release);
    });
    await Promise.all(entries.slice(0, 2));
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([0, 1]);
    releases[0]?.();
    releases[0]?.();
    await entries[2];
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([0, 1, 2]);
    releases[1]?.();
    await entries[3];
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it('keeps its permit when a waiting request gives up', async () => {
    const permits = new Semaphore(1);
    const stop = new AbortController();
    const release = await permits.acquire(never);
    const waiting = permits.acquire(stop.signal);
    stop.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
    release();
    await expect(permits.acquire(never)).resolves.toBeTypeOf('function');
  });

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
});
