import { describe, expect, it } from 'vitest';
import { FullPasses } from '../../../src/pipeline/full-passes.ts';

const never = new AbortController().signal;

/** Says whether a promise is settled after every pending microtask and immediate has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.finally(() => (settled = true));
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('waiting for the full syncs of other collections', () => {
  it('ends when those under way are over, without waiting for its own or for later ones', async () => {
    const passes = new FullPasses();
    const [own, other, later] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    void passes.run('users', () => own?.promise ?? Promise.resolve());
    const otherPass = passes.run('orgs', () => other?.promise ?? Promise.resolve());
    const over = passes.othersOver('users', never);
    void passes.run('courses', () => later?.promise ?? Promise.resolve());
    expect(await isSettled(over)).toBe(false);
    other?.resolve();
    await otherPass;
    expect(await isSettled(over)).toBe(true);
    own?.resolve();
    later?.resolve();
  });

  it('ends when one of them fails, and when the session ends', async () => {
    const passes = new FullPasses();
    const other = Promise.withResolvers<void>();
    const failing = passes.run('orgs', () => other.promise);
    const [first, stop] = [passes.othersOver('users', never), new AbortController()];
    other.reject(new Error('the hub failed'));
    await expect(failing).rejects.toThrow('the hub failed');
    expect(await isSettled(first)).toBe(true);
    const hanging = Promise.withResolvers<void>();
    void passes.run('orgs', () => hanging.promise);
    const second = passes.othersOver('users', stop.signal);
    expect(await isSettled(second)).toBe(false);
    stop.abort();
    expect(await isSettled(second)).toBe(true);
    hanging.resolve();
  });

  it('ends for two collections that wait for each other', async () => {
    const passes = new FullPasses();
    const twice = async (collection: 'users' | 'orgs'): Promise<void> => {
      await passes.run(collection, () => new Promise((resolve) => setImmediate(resolve)));
      await passes.othersOver(collection, never);
      await passes.run(collection, () => Promise.resolve());
    };
    await Promise.all([twice('users'), twice('orgs')]);
  });
});
