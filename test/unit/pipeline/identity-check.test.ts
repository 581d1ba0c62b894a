import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { IdentityCheck } from '../../../src/pipeline/identity-check.ts';
import { createMemoryStore } from '../../../src/state/memory-store.ts';

const FAILS_EVERY_QUESTION: readonly ErrorCode[] = [
  'HUB_REQUEST_REFUSED',
  'HUB_NOT_OFFERED',
  'HUB_FORBIDDEN',
  'HUB_BODY_INVALID',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
];

/** Makes a watch over users for whom the hub answers no single question. */
async function watchOf(code: ErrorCode): Promise<IdentityCheck> {
  const watch = await IdentityCheck.open({
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

describe("the owner of a hub's data", () => {
  it.each(FAILS_EVERY_QUESTION)(
    'is unknown where the hub cannot be asked for single rows, and then nothing stops: %s',
    async (code) => {
      const watch = await watchOf(code);
      expect(await watch.verify('users')).toBe('unknown');
      expect(await watch.stillHas('users', ['a'])).toBe(true);
    },
  );

  it('is not judged while the hub is unavailable: the error is passed on', async () => {
    const watch = await watchOf('HUB_UNAVAILABLE');
    await expect(watch.verify('users')).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  });
});
