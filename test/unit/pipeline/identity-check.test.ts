import { describe, expect, it } from 'vitest';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { ErrorCode } from '../../../src/errors.ts';
import { HubFindings } from '../../../src/sync/hub-findings.ts';
import { overlapsEnough, showsOwnRows } from '../../../src/sync/tenant-identity.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';

interface Given {
  readonly rows?: number;
  /** Shows so many of the rows that it is asked for. */
  readonly find?: () => Promise<number>;
  readonly firstRow?: 'published' | 'unknown';
}

const { signal } = new AbortController();

/** Collections of one session, by name. */
function sessionOf<Name extends string>(given: Readonly<Record<Name, Given>>) {
  const all = new Map<string, MirroredCollection>();
  for (const [name, { rows = 100, find, firstRow = 'unknown' }] of Object.entries<Given>(given)) {
    const table = {
      someKeys: () => Promise.resolve(['a', 'b', 'c']),
      hashesOf: (keys: string[]) =>
        Promise.resolve(new Map(keys.map((key) => [key, key === 'published' ? Buffer.of(1) : null]))),
    };
    async function* open() {
      yield { rows: [{ key: firstRow }] };
    }
    all.set(name, {
      writer: {
        known: { rows },
        readVersion: () => 0,
        read: (read: (from: typeof table) => unknown) => read(table),
      },
      source: {
        fetchRows: async () => Array.from({ length: (await find?.()) ?? 0 }),
        begin: () => Promise.resolve({ scopes: new Set(['']), scans: () => [{ scope: '', open }] }),
      },
      missing: { has: () => false },
      findings: new HubFindings(),
      all,
    } as unknown as MirroredCollection);
  }
  return Object.fromEntries(all) as Record<Name, MirroredCollection>;
}

const found = (rows: number) => () => Promise.resolve(rows);
const failing = (code: ErrorCode) => () =>
  Promise.reject(new HubError(code, 'No answer', { remedy: 'Look.' }));

describe("a page of hardly any known row is this tenant's", () => {
  it('if the hub still shows one of three published rows', async () => {
    expect(await showsOwnRows(sessionOf({ users: { find: found(1) } }).users, signal)).toBe(true);
    expect(await showsOwnRows(sessionOf({ users: { find: found(0) } }).users, signal)).toBe(false);
  });

  it.each<ErrorCode>([
    'HUB_REQUEST_REFUSED',
    'HUB_NOT_OFFERED',
    'HUB_FORBIDDEN',
    'HUB_BODY_INVALID',
    'HUB_RESPONSE_TOO_LARGE',
    'HUB_PAGE_TOO_LONG',
  ])('or, where it cannot be asked, if its list begins with a published row: %s', async (code) => {
    const find = failing(code);
    for (const firstRow of ['published', 'unknown'] as const)
      expect(await showsOwnRows(sessionOf({ users: { find, firstRow } }).users, signal)).toBe(
        firstRow === 'published',
      );
  });

  it('by the rows of another collection, if it has fewer than five itself; where none has five, unless another was found to be foreign', async () => {
    const small = { rows: 4 };
    expect(
      await showsOwnRows(sessionOf({ orgs: small, users: { rows: 5, find: found(1) } }).orgs, signal),
    ).toBe(true);
    expect(await showsOwnRows(sessionOf({ orgs: small, users: { rows: 5 } }).orgs, signal)).toBe(false);
    const { orgs, users } = sessionOf({ orgs: small, users: small });
    expect(await showsOwnRows(orgs, signal)).toBe(true);
    users.findings.isForeign = true;
    expect(await showsOwnRows(orgs, signal)).toBe(false);
  });

  it('is not judged while the hub is unavailable: the error is passed on', async () => {
    const { users } = sessionOf({ users: { find: failing('HUB_UNAVAILABLE') } });
    await expect(showsOwnRows(users, signal)).rejects.toMatchObject({ code: 'HUB_UNAVAILABLE' });
  });
});

it.each([
  // rows, known among them, published rows, whether they are this tenant's
  [1_000, 0, 100, false],
  [20_000, 9, 100, false],
  [3, 0, 0, false],
  [2_000, 10, 100, true],
  // A collection that grew many times over.
  [320, 20, 20, true],
  [46, 6, 6, true],
  [0, 0, 100, true],
])(
  "%i rows of which %i are among %i published ones are this tenant's: %s",
  (rows, knownAmongThem, knownRows, own) => {
    expect(overlapsEnough({ rows, knownAmongThem, knownRows })).toBe(own);
  },
);
