import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHub } from '../../../src/hub/create-hub.ts';
import type { HubTools } from '../../../src/hub/create-hub.ts';
import type { HubSettings } from '../../../src/hub/hub.ts';
import type { HubEvent } from '../../../src/core/hub-events.ts';
import type { HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import { ROW_COLLECTIONS, collectionNamed, type CollectionName } from '../../../src/model/collections.ts';
import { startReferenceHub, type ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';

let reference: ReferenceHub;
beforeAll(async () => {
  reference = await startReferenceHub({ students: 120, seed: 7 });
});
afterAll(async () => {
  await reference.stop();
});

function client(options: Partial<HubSettings & HubTools> & { events?: HubEvent[] } = {}) {
  const { events = [], ...overrides } = options;
  const all: HubSettings & HubTools = {
    baseUrl: reference.baseUrl,
    tokenUrl: reference.tokenUrl,
    clientId: reference.clientId,
    clientSecret: { reveal: () => reference.clientSecret },
    clientAuth: 'basic',
    scope: '',
    pageSize: 100,
    paging: 'auto',
    maxConcurrentRequests: 4,
    requestTimeoutMs: 60_000,
    maxResponseBytes: 64 * 1024 * 1024,
    retry: { firstMs: 1, longestMs: 5 },
    onEvent: (event) => events.push(event),
    ...overrides,
  };
  return createHub(all, all);
}

async function read(
  hub: ReturnType<typeof createHub>,
  name: CollectionName,
  options: Partial<ReadOptions> = {},
): Promise<{ ids: string[]; end: ScanEnd; pages: HubPage[] }> {
  const collection = collectionNamed(name);
  const scan = hub.readPages({
    collection,
    readVersion: () => 0,
    signal: new AbortController().signal,
    ...options,
  });
  const pages: HubPage[] = [];
  for (;;) {
    const next = await scan.next();
    if (next.done === true) {
      const ids = pages.flatMap(({ rows }) => rows.map((row) => (row as { sourcedId: string }).sourcedId));
      return { ids, end: next.value, pages };
    }
    pages.push(next.value);
  }
}

async function underFault<T>(faults: readonly string[], work: () => Promise<T>): Promise<T> {
  try {
    for (const fault of faults) reference.faults.set(fault);
    return await work();
  } finally {
    reference.faults.clear();
  }
}

const parentOf = (name: CollectionName): string | undefined => {
  if (name === 'afterschool-users') return reference.district.afterschoolIds()[0];
  return name === 'class-students' ? [...reference.district.ids('classes')][0] : undefined;
};

const TOP_LEVEL = ROW_COLLECTIONS.filter((name) => !collectionNamed(name).path.includes('{id}'));

describe('against the reference hub', () => {
  it.each(TOP_LEVEL)('a full scan of %s returns every row once', async (name) => {
    await using hub = client();
    const { ids, end } = await read(hub, name);
    const expected = [...reference.district.ids(name)];
    expect(ids.length).toBe(expected.length);
    expect(new Set(ids)).toEqual(new Set(expected));
    expect(end).toMatchObject({
      paging: 'keyset',
      totalAtStart: expected.length,
      totalAtEnd: expected.length,
    });
  });

  it.each(['afterschool-users', 'class-students'] as const)(
    '%s are read under their parent',
    async (name) => {
      await using hub = client({ pageSize: 4 });
      const { ids } = await read(hub, name, { parentId: parentOf(name) });
      expect(ids.length).toBeGreaterThan(4);
      expect(new Set(ids).size).toBe(ids.length);
    },
  );

  it('an incremental scan returns exactly the changed rows', async () => {
    await using hub = client();
    const { pages } = await read(hub, 'users', { modifiedAfterMs: Date.now() + 3_600_000 });
    expect(pages[0]?.hubTimeMs).toBeTypeOf('number');
    const [id = ''] = reference.district.ids('users');
    const before = reference.clock.now();
    reference.clock.advance(1000);
    reference.district.patch('users', id, { givenName: 'Changed' });
    expect((await read(hub, 'users', { modifiedAfterMs: before })).ids).toEqual([id]);
  });

  it.each([
    ['ignore-after', 'sourced-id-filter'],
    ['refuse-after', 'sourced-id-filter'],
  ])('%s: every row is returned, by %s', async (fault, paging) => {
    await using hub = client();
    const { ids, end } = await underFault([fault], () => read(hub, 'users'));
    expect(new Set(ids)).toEqual(new Set(reference.district.ids('users')));
    expect(end.paging).toBe(paging);
  });

  it.each([
    [['ignore-after', 'ignore-filter']],
    [['ignore-after', 'ignore-filter', 'ignore-order']],
    [['refuse-after', 'refuse-lone-sort', 'ignore-filter']],
    [['no-link', 'no-total', 'clamp-limit=30']],
    [['no-link', 'zero-total', 'clamp-limit=30']],
    [['no-link', 'remaining-total', 'clamp-limit=30']],
    [['no-link', 'unfiltered-total']],
    [['next-past-end', 'no-total']],
    [['foreign-link=https://elsewhere.example']],
    [['relative-link', 'other-envelope=things']],
    [['error-rate=0.1']],
    [['reset=0.1']],
    [['wrong-type']],
    [['ignore-after', 'no-link', 'no-total', 'clamp-limit=30', 'empty-204']],
  ])('every row is returned under %s', async (faults) => {
    await using hub = client({ retry: { firstMs: 1, longestMs: 5, maxAttempts: 12, retryAfterCapMs: 5 } });
    const { ids } = await underFault(faults, () => read(hub, 'users'));
    expect(new Set(ids)).toEqual(new Set(reference.district.ids('users')));
  });

  it('revoked tokens are renewed, also where the hub says 403', async () => {
    await using hub = client();
    await read(hub, 'orgs');
    reference.tokens.revokeAll();
    await read(hub, 'orgs');
    reference.tokens.revokeAll();
    await underFault(['token-expired-403'], () => read(hub, 'orgs'));
    expect((await read(hub, 'orgs')).ids.length).toBeGreaterThan(0);
  });

  it('post authentication works, and wrong credentials are reported', async () => {
    await using good = client({ clientAuth: 'post' });
    expect((await read(good, 'orgs')).ids.length).toBeGreaterThan(0);
    await using bad = client({ clientSecret: { reveal: () => 'wrong' } });
    await expect(read(bad, 'orgs')).rejects.toMatchObject({
      code: 'HUB_TOKEN_REFUSED',
      message: expect.stringContaining('invalid_client') as string,
    });
  });

  it.each([
    ['truncate', 'HUB_BODY_INVALID'],
    ['html-error=200', 'HUB_BODY_INVALID'],
    ['status=500', 'HUB_UNAVAILABLE'],
    ['not-offered', 'HUB_NOT_OFFERED'],
  ])('%s ends with %s', async (fault, code) => {
    await using hub = client({ retry: { firstMs: 1, longestMs: 5, maxAttempts: 2 } });
    await expect(underFault([fault], () => read(hub, 'orgs'))).rejects.toMatchObject({ code });
  });

  it.each(['empty-list', 'missing-list', 'empty-204'])(
    '%s does not look like a complete scan',
    async (fault) => {
      await using hub = client();
      const { end } = await underFault([fault], () => read(hub, 'orgs'));
      expect(['no-rows', 'missing-list', 'no-next-link']).toContain(end.reason);
    },
  );

  it('the hub finds exactly the existing rows among ids of any shape', async () => {
    await using hub = client();
    for (const name of ['users', 'classes', 'enrollments', 'absence-versions'] as const) {
      const present = [...reference.district.ids(name)].slice(0, 3);
      const rows = await hub.findRows({
        collection: collectionNamed(name),
        ids: [...present, 'gone', "o'hara", 'a b+c|d'],
        readVersion: () => 0,
        signal: new AbortController().signal,
      });
      expect(new Set(rows.map(({ row }) => (row as { sourcedId: string }).sourcedId))).toEqual(
        new Set(present),
      );
    }
  });
});
