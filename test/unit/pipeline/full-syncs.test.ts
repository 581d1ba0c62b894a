import { describe, expect, it } from 'vitest';
import { FullSyncs } from '../../../src/pipeline/full-syncs.ts';

const never = new AbortController().signal;

/** Says whether a promise is settled after every pending microtask and immediate has run. */
async function isResolved(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.finally(() => (settled = true));
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('waiting for the full syncs of other collections', () => {
  it('ends when those under way are over, without waiting for its own or for later ones', async () => {
    const syncs = new FullSyncs();
    const [own, other, later] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    void syncs.run('users', () => own?.promise ?? Promise.resolve());
    const otherPass = syncs.run('orgs', () => other?.promise ?? Promise.resolve());
    const over = syncs.othersOver('users', never);
    void syncs.run('courses', () => later?.promise ?? Promise.resolve());
    expect(await isResolved(over)).toBe(false);
    other?.resolve();
    await otherPass;
    expect(await isResolved(over)).toBe(true);
    own?.resolve();
    later?.resolve();
  });

  it('ends when one of them fails, and when the session ends', async () => {
    const syncs = new FullSyncs();
    const other = Promise.withResolvers<void>();
    const failing = syncs.run('orgs', () => other.promise);
    const [first, stop] = [syncs.othersOver('users', never), new AbortController()];
    other.reject(new Error('the hub failed'));
    await expect(failing).rejects.toThrow('the hub failed');
    expect(await isResolved(first)).toBe(true);
    const hanging = Promise.withResolvers<void>();
    void syncs.run('orgs', () => hanging.promise);
    const second = syncs.othersOver('users', stop.signal);
    expect(await isResolved(second)).toBe(false);
    stop.abort();
    expect(await isResolved(second)).toBe(true);
    hanging.resolve();
  });

  it('lets two collections that both wait after their first sync go on', async () => {
    const syncs = new FullSyncs();
    const over: string[] = [];
    const twice = async (collection: 'users' | 'orgs'): Promise<void> => {
      await syncs.run(collection, () => new Promise((resolve) => setImmediate(resolve)));
      await syncs.othersOver(collection, never);
      await syncs.run(collection, () => Promise.resolve());
      over.push(collection);
    };
    await Promise.all([twice('users'), twice('orgs')]);
    expect(over.toSorted()).toEqual(['orgs', 'users']);
  });
});
