import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { rollcall, startRollcall } from '../cli/support/rollcall.ts';
import { alteredHub, type AlteredPage } from '../support/altered-hub.ts';
import { openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';

/** One for each situation, so that one tenant is enough. Their paths end in their names. */
const COLLECTIONS = [
  'categories',
  'courses',
  'orgs',
  'classes',
  'enrollments',
  'results',
] as const satisfies readonly CollectionName[];
const HALF_AN_HOUR_MS = 1_800_000;
const TWO_WAYS_OUT = /another hub\.paging; or set hub\.totals: ignored/;

type Alter = (page: AlteredPage) => void;

let hub: Awaited<ReturnType<typeof startTestHub>>;
let front: Awaited<ReturnType<typeof alteredHub>>;
let mirror: Mirror;
/** What the hub does to the pages of a collection at present. */
const alters = new Map<string, Alter>();

const idAt = (at: number): string => `row-${String(at).padStart(3, '0')}`;

function put(collection: CollectionName, from: number, to: number, title = 'as it was'): void {
  for (let at = from; at < to; at += 1) hub.district.put(collection, { sourcedId: idAt(at), title });
}

/** The same tenant in another process, maybe with other settings. */
function openAgain(hubSettings: Record<string, unknown> = {}): Promise<Mirror> {
  return openMirror({
    hub,
    collections: COLLECTIONS,
    hubSettings: { baseUrl: front.baseUrl, pageSize: 50, ...hubSettings },
    settings: { http: { port: 0 } },
    topicPrefix: mirror?.topicPrefix,
  });
}

beforeAll(async () => {
  // Beside a clock of the past, status would speak of late syncs.
  hub = await startTestHub({ students: 8, startMs: Date.now() });
  for (const collection of COLLECTIONS) {
    for (const id of hub.district.ids(collection)) hub.district.remove(collection, id);
    put(collection, 0, 250);
  }
  // No incremental sync reads these again.
  hub.clock.advance(HALF_AN_HOUR_MS);
  front = await alteredHub(hub, (page) => alters.get(page.collection)?.(page));
  mirror = await openAgain();
});
afterAll(async () => {
  await mirror[Symbol.asyncDispose]();
  await front[Symbol.asyncDispose]();
  await hub.stop();
});

const full = async (collection: CollectionName) => (await mirror.full(collection)).get(collection);
const delta = async (collection: CollectionName) => (await mirror.delta(collection)).get(collection);
const progressOf = (collection: CollectionName) => mirror.session.runners.get(collection)?.progress;
const missingOf = async (collection: CollectionName) =>
  [...((await mirror.parts.state.deletions.missing(collection))?.keys ?? [])].map(([key]) => key);

/** The modes of the syncs that `work` leads to. */
async function modesOf(work: () => Promise<unknown>): Promise<string[]> {
  const before = mirror.events.length;
  await work();
  return mirror.events.slice(before).flatMap((event) => (event.type === 'sync-started' ? event.mode : []));
}

const first190: Alter = (page) => {
  page.rows = page.rows.filter((row) => idOf(row) < idAt(190));
};
/** Without a cursor the hub's own order, in which the first page ends with a late row. */
const unorderedFirstPage: Alter = (page) => {
  if (['afterSourcedId', 'sort', 'filter'].some((name) => page.query.has(name))) return;
  page.rows = hub.district.snapshot(page.collection).filter((_, at) => at % 5 === 0);
};
const countsTenMore: Alter = (page) => {
  page.total += 10;
};

describe('a full sync that brings fewer rows than the hub counts', () => {
  it.each([
    ['a hub that returns 190 of 250 rows', 'categories', first190, 190],
    ['a hub whose first page is out of order', 'courses', unorderedFirstPage, 54],
  ] as const)(
    'counts no miss, removes nothing, and is complete only if as many rows are known as the hub counts: %s',
    async (_, collection, alter, rows) => {
      alters.set(collection, alter);
      const why = `${rows} of 250 rows came`;
      const short = { rows, total: 250 };
      expect(await full(collection)).toMatchObject({ kind: 'inconclusive', why, short });
      expect(progressOf(collection)).toMatchObject({
        complete: false,
        watermarkMs: null,
        lastCompleteFull: null,
      });
      expect(await mirror.metricsText()).toContain(
        `rollcall_rows_short{tenant="north",collection="${collection}"} ${250 - rows}`,
      );
      expect(mirror.statusText()).toContain(`${collection}: ${rows} of 250 rows`);

      alters.delete(collection);
      expect(await full(collection)).toMatchObject({ kind: 'complete', short: null });
      expect(mirror.statusText()).not.toContain(`${collection}: ${rows} of 250 rows`);

      hub.district.remove(collection, idAt(3));
      alters.set(collection, alter);
      const before = await mirror.ends();
      const earlier = progressOf(collection);
      hub.clock.advance(HALF_AN_HOUR_MS);
      for (const night of [1, 2, 3])
        expect([night, await full(collection)]).toMatchObject([
          night,
          { kind: 'complete', short: { total: 249 }, stats: { rowsRemoved: 0 } },
        ]);
      expect(await missingOf(collection)).toEqual([]);
      expect(await mirror.ends()).toEqual(before);
      const covered = progressOf(collection);
      expect(covered?.watermarkMs).toBeGreaterThan(earlier?.watermarkMs ?? Infinity);
      expect(covered?.lastCompleteFull?.syncId).not.toBe(earlier?.lastCompleteFull?.syncId);

      hub.clock.advance(HALF_AN_HOUR_MS);
      put(collection, 250, 260);
      alters.set(collection, first190);
      for (const sync of [full, delta])
        expect(await sync(collection)).toMatchObject({ kind: 'inconclusive' });
      const { watermarkMs, lastCompleteFull } = progressOf(collection) ?? {};
      expect([watermarkMs, lastCompleteFull]).toEqual([covered?.watermarkMs, covered?.lastCompleteFull]);

      alters.delete(collection);
      expect(await full(collection)).toMatchObject({ kind: 'complete', short: null });
      expect(await mirror.differences(collection)).toEqual({});
    },
  );
});

describe('a Link says only whether there is more', () => {
  it('a next link that begins one row late skips no row of a full or incremental sync', async () => {
    alters.set('enrollments', ({ next, rows }) => {
      const ids = hub.district.ids('enrollments');
      next?.searchParams.set('afterSourcedId', ids[ids.indexOf(idOf(rows.at(-1))) + 1] ?? '');
    });
    expect(await full('enrollments')).toMatchObject({ kind: 'complete', short: null });
    expect(await mirror.differences('enrollments')).toEqual({});
    hub.clock.advance(HALF_AN_HOUR_MS);
    put('enrollments', 0, 120, 'changed');
    expect(await modesOf(() => delta('enrollments'))).toEqual(['INCREMENTAL']);
    expect(await mirror.differences('enrollments')).toEqual({});
  });
});

describe('a row that is deleted while it is the cursor of a scan', () => {
  /** Answers a cursor that is no row with an empty list. Once, the last row of a first page goes right after it. */
  function loseCursorOnce(collection: CollectionName): void {
    let isLost = false;
    alters.set(collection, (page) => {
      const cursor = page.query.get('afterSourcedId');
      if (cursor !== null && !hub.district.ids(collection).includes(cursor)) page.rows = [];
      if (isLost || cursor !== null) return;
      isLost = true;
      hub.district.remove(collection, idOf(page.rows.at(-1)));
    });
  }

  it('leaves a full sync short, and the confirming one reads everything', async () => {
    loseCursorOnce('classes');
    expect(await full('classes')).toMatchObject({ kind: 'complete', short: null });
    const shorts = mirror.events.flatMap((event) =>
      event.type === 'sync-ended' && event.collection === 'classes' && event.short !== null
        ? [event.short]
        : [],
    );
    expect(shorts.at(-1)).toEqual({ rows: 50, total: 249 });
    // The row was published before it was deleted, and the confirming sync missed it for the first time.
    expect(await missingOf('classes')).toEqual([idAt(49)]);
    await full('classes');
    expect(await mirror.differences('classes')).toEqual({});
  });

  it('makes an incremental sync become a full one', async () => {
    alters.clear();
    await full('classes');
    hub.clock.advance(HALF_AN_HOUR_MS);
    put('classes', 100, 200, 'changed');
    loseCursorOnce('classes');
    expect(await modesOf(() => delta('classes'))).toEqual(['INCREMENTAL', 'FULL', 'FULL']);
    await full('classes');
    expect(await mirror.differences('classes')).toEqual({});
  });
});

describe('a total of a filtered list that counts other rows', () => {
  it('makes one incremental sync a day become a full one', async () => {
    await full('results');
    alters.set('results', (page) => {
      if (page.query.has('filter')) page.total += 7;
    });
    const change = (): void => {
      hub.clock.advance(HALF_AN_HOUR_MS);
      put('results', 0, 3, `changed at ${hub.clock.now()}`);
    };
    for (const day of [1, 2]) {
      change();
      expect([day, await modesOf(() => delta('results'))]).toEqual([day, ['INCREMENTAL', 'FULL']]);
      change();
      expect([day, await modesOf(() => delta('results'))]).toEqual([day, ['INCREMENTAL']]);
      expect(await mirror.differences('results')).toEqual({});
      await full('results');
    }
  });

  it('does so never where it counts all rows', async () => {
    alters.set('results', (page) => {
      page.total = hub.district.ids('results').length;
    });
    hub.clock.advance(HALF_AN_HOUR_MS);
    put('results', 0, 3, 'changed again');
    expect(await modesOf(() => delta('results'))).toEqual(['INCREMENTAL']);
  });
});

describe('a short collection has two ways out', () => {
  it('hub.totals: ignored, where the total counts rows that the hub never returns', async () => {
    alters.set('orgs', countsTenMore);
    for (const night of [1, 2])
      expect([night, await full('orgs')]).toMatchObject([night, { why: '250 of 260 rows came' }]);
    await using out = await openAgain({ totals: 'ignored' });
    const synced = async () => (await out.full('orgs')).get('orgs');
    expect(await synced()).toMatchObject({ kind: 'complete', short: null });
    hub.district.remove('orgs', idAt(7));
    expect(await synced()).toMatchObject({ kind: 'complete', stats: { rowsRemoved: 1 } });
    expect(await out.differences('orgs')).toEqual({});
  });

  it('another hub.paging, where the hub skips rows', async () => {
    put('courses', 300, 310);
    alters.set('courses', unorderedFirstPage);
    await using out = await openAgain({ paging: 'offset' });
    const synced = async () => (await out.full('courses')).get('courses');
    expect(await synced()).toMatchObject({ kind: 'complete', short: null });
    expect(await out.differences('courses')).toEqual({});
  });

  it('pull, status and check say how many rows came, and name both', async () => {
    put('categories', 0, 10);
    put('categories', 400, 410);
    alters.clear();
    alters.set('categories', first190);
    const came = `190 of ${hub.district.ids('categories').length} rows`;
    await using last = await openAgain({ pageSize: 300 });
    const config = last.configText;
    await using run = startRollcall(config, 'run');
    await run.says('categories');
    const pull = await rollcall(config, 'pull', '--full', '--collection', 'categories');
    expect(pull.code).toBe(1);
    expect(pull.stderr).toContain('fewer rows of categories came than the hub counts; waiting');
    expect(pull.stderr).toContain(`categories: ${came} came`);
    expect(pull.stderr).toMatch(TWO_WAYS_OUT);
    const check = await rollcall(config, 'check');
    expect([check.code, check.stdout]).toEqual([1, expect.stringContaining(`${came} came`)]);
    expect(check.stdout).toMatch(TWO_WAYS_OUT);
    // It prints the heartbeat of the process that runs, which may be some seconds old.
    await vi.waitFor(
      async () => {
        const status = await rollcall(config, 'status');
        expect(status.stdout).toMatch(new RegExp(`✗ north .*categories: ${came}`));
        expect(status.stdout).toMatch(TWO_WAYS_OUT);
      },
      { timeout: 30_000, interval: 500 },
    );
  });
});
