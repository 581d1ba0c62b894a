import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { ForeignWatch } from '../../../src/pipeline/foreign-watch.ts';
import { createMemoryStore } from '../../../src/state/memory-store.ts';

const FAILS_EVERY_QUESTION: readonly ErrorCode[] = [
  'HUB_REQUEST_REFUSED',
  'HUB_NOT_OFFERED',
  'HUB_FORBIDDEN',
  'HUB_BODY_INVALID',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
];

/** A watch over users, of whom the hub cannot be asked one by one. */
async function watchOf(code: ErrorCode): Promise<ForeignWatch> {
  const watch = await ForeignWatch.open({
    memory: createMemoryStore().tenant('north').deletions,
    collections: ['users'],
    now: () => 0,
  });
  watch.add({
    collection: 'users',
    knownRows: () => 100,
    someKeys: () => Promise.resolve(['a', 'b', 'c']),
    findExisting: () => Promise.reject(new HubError(code, 'No answer', { remedy: 'Look.' })),
  });
  return watch;
}

describe('whose data a hub gives', () => {
  it.each(FAILS_EVERY_QUESTION)(
    'is not known where the hub cannot be asked for single rows, and nothing else follows: %s',
    async (code) => {
      const watch = await watchOf(code);
      expect(await watch.vouch('users')).toBe('unknown');
      expect(await watch.vouch('users', ['a'])).toBe('unknown');
      expect(await watch.shows('users', ['a'])).toBe(true);
    },
  );

  it('is no matter while the hub as a whole is in trouble: that is told', async () => {
    const watch = await watchOf('HUB_UNAVAILABLE');
    await expect(watch.vouch('users')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  });
});
