import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHub } from '../../../src/hub/create-hub.ts';
import type { HubTools } from '../../../src/hub/create-hub.ts';
import type { HubSettings } from '../../../src/hub/hub.ts';
import { collectionNamed, ROW_COLLECTIONS, type CollectionName } from '../../../src/model/collections.ts';
import { startReferenceHub, type ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';

let reference: ReferenceHub;
beforeAll(async () => {
  reference = await startReferenceHub({ students: 120, seed: 7 });
});
afterAll(async () => {
  await reference.stop();
});

const UNKNOWN = ['gone', 'a b+c|d', 'x&limit=1', '100%'];

function idsOf(name: CollectionName): string[] {
  return [...reference.district.ids(name)];
}

/** Picks the first id, the last and some between, no two a page's length apart. */
function someOf(name: CollectionName): string[] {
  const ids = idsOf(name);
  return [...new Set([0, 3, 17, 41, ids.length - 1].flatMap((place) => ids[place] ?? []))];
}

async function find(
  ids: readonly string[],
  options: { name?: CollectionName; faults?: readonly string[]; hub?: HubTools } = {},
) {
  const { name = 'absence-versions', faults = [] } = options;
  const settings: HubSettings = {
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
  };
  await using hub = createHub(settings, {
    retry: { firstMs: 1, longestMs: 5, maxAttempts: 12, retryAfterCapMs: 5 },
    breaker: { failures: 1000 },
    ...options.hub,
  });
  try {
    for (const fault of faults) reference.faults.set(fault);
    const signal = new AbortController().signal;
    const rows = await hub.findRows({
      collection: collectionNamed(name),
      ids,
      readVersion: () => 0,
      signal,
    });
    return rows.map(({ row }) => (row as { sourcedId: string }).sourcedId).sort();
  } finally {
    reference.faults.clear();
  }
}

describe('a lookup of rows by id, at the reference hub', () => {
  it.each(ROW_COLLECTIONS.filter((name) => !collectionNamed(name).path.includes('{id}')))(
    'of %s finds the rows that exist',
    async (name) => {
      const there = someOf(name);
      expect(await find([...there, ...UNKNOWN], { name })).toEqual(there.toSorted());
    },
  );

  it.each([
    [['empty-204']],
    [['clamp-limit=1']],
    [['other-envelope=things']],
    [['no-link', 'no-total']],
    [['unfiltered-total']],
    [['duplicate-rows']],
    [['refuse-unknown']],
    [['one-clause']],
    [['wrong-type']],
    [['big-numbers', 'proto-keys']],
    [['error-rate=0.1']],
    [['reset=0.1']],
  ])('finds the same with %s', async (faults) => {
    const there = someOf('absence-versions');
    expect(await find([...there, ...UNKNOWN], { faults })).toEqual(there.toSorted());
  });

  it.each(['ignore-filter', 'status=400', 'status=403', 'not-offered', 'missing-list', 'html-error=404'])(
    'with %s is shown no row',
    async (fault) => expect(await find(['gone'], { faults: [fault] })).toEqual([]),
  );

  it.each([
    ['status=500', 'HUB_UNAVAILABLE'],
    ['html-error=502', 'HUB_UNAVAILABLE'],
    ['html-error=200', 'HUB_BODY_INVALID'],
    ['truncate', 'HUB_BODY_INVALID'],
    ['rate-limit=1', 'HUB_UNAVAILABLE'],
    ['refuse-connection', 'HUB_UNREACHABLE'],
  ])('with %s fails with %s, so that the caller may wait', async (fault, code) => {
    const hub = { retry: { firstMs: 1, longestMs: 5, maxAttempts: 2, retryAfterCapMs: 5 } };
    await expect(find(['gone'], { faults: [fault], hub })).rejects.toMatchObject({ code });
  });
});
