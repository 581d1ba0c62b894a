import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { IdentityCheck, type PublishedRows } from '../../../src/sync/identity.ts';

const FAILS_EVERY_QUESTION: readonly ErrorCode[] = [
  'HUB_REQUEST_REFUSED',
  'HUB_NOT_OFFERED',
  'HUB_FORBIDDEN',
  'HUB_BODY_INVALID',
  'HUB_RESPONSE_TOO_LARGE',
  'HUB_PAGE_TOO_LONG',
];

function checkOf(
  ...published: (Partial<PublishedRows> & Pick<PublishedRows, 'collection'>)[]
): IdentityCheck {
  const check = new IdentityCheck();
  for (const each of published) {
    check.add({
      knownRows: () => 100,
      someKeys: () => Promise.resolve(['a', 'b', 'c']),
      find: () => Promise.resolve(0),
      beginWithKnown: () => Promise.resolve(false),
      ...each,
    });
  }
  return check;
}

const found = (rows: number) => () => Promise.resolve(rows);

describe("a page of hardly any known row is this tenant's", () => {
  it('if the hub still shows one of three published rows', async () => {
    expect(await checkOf({ collection: 'users', find: found(1) }).isOwn('users')).toBe(true);
    expect(await checkOf({ collection: 'users', find: found(0) }).isOwn('users')).toBe(false);
  });

  it.each(FAILS_EVERY_QUESTION)(
    'or, where it cannot be asked, if its list begins with a published row: %s',
    async (code) => {
      const find = () => Promise.reject(new HubError(code, 'No answer', { remedy: 'Look.' }));
      const begins = (is: boolean) => () => Promise.resolve(is);
      const own = checkOf({ collection: 'users', find, beginWithKnown: begins(true) });
      const other = checkOf({ collection: 'users', find, beginWithKnown: begins(false) });
      expect([await own.isOwn('users'), await other.isOwn('users')]).toEqual([true, false]);
    },
  );

  it('by the rows of another collection, if it has fewer than five itself', async () => {
    const small = { collection: 'orgs', knownRows: () => 4 } as const;
    expect(await checkOf(small, { collection: 'users', find: found(1) }).isOwn('orgs')).toBe(true);
    expect(await checkOf(small, { collection: 'users' }).isOwn('orgs')).toBe(false);
  });

  it('where no collection has five rows, unless another was found to be of another tenant', async () => {
    const check = checkOf(
      { collection: 'orgs', knownRows: () => 4 },
      { collection: 'users', knownRows: () => 4 },
    );
    expect(await check.isOwn('orgs')).toBe(true);
    check.flag('users');
    expect(await check.isOwn('orgs')).toBe(false);
  });

  it('is not judged while the hub is unavailable: the error is passed on', async () => {
    const find = () => Promise.reject(new HubError('HUB_UNAVAILABLE', 'Away', { remedy: 'Wait.' }));
    await expect(checkOf({ collection: 'users', find }).isOwn('users')).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
    });
  });
});
