import { TransactionSize } from '../../../src/core/transaction-size.ts';
import { describe, expect, it } from 'vitest';
import type { Completeness } from '../../../src/core/completeness.ts';
import type { GuardLimits } from '../../../src/core/deletion-guard.ts';
import type { KeyedRow } from '../../../src/core/row-changes.ts';
import { SeenKeys } from '../../../src/core/seen-keys.ts';
import { withOffsets } from '../../../src/model/progress.ts';
import type { ActiveSync } from '../../../src/pipeline/active-sync.ts';
import { CollectionWriter } from '../../../src/pipeline/collection-writer.ts';
import { resolveMissing } from '../../../src/pipeline/resolve-missing.ts';
import { newSyncStats } from '../../../src/pipeline/sync-stats.ts';
import {
  countWithheld,
  discardList,
  restoreTrip,
  whyOthersWithhold,
  type DeletionParts,
} from '../../../src/pipeline/withheld-deletions.ts';
import type { Transaction } from '../../../src/log/log.ts';
import { createMemoryStore } from '../../../src/state/memory-store.ts';

const LIMITS: GuardLimits = { rows: 50, ratio: 0.05, perDay: true };
const PROVEN: Completeness = { kind: 'proven' };
const TWICE: Completeness = { kind: 'needs-second-sync', why: 'no total', isShort: false };
const EMPTY_HUB: Completeness = { kind: 'unproven', why: 'no rows', isInconclusive: true, isEmpty: true };
const HASH = Buffer.alloc(16, 1);

const keysOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`);

function reading(key: string): KeyedRow {
  const row = { kind: 'row', sourcedId: key, value: {}, hash: HASH, modifiedAtMs: null } as const;
  return { key, rejectKey: key, decoded: row };
}

interface Bench {
  readonly parts: DeletionParts;
  readonly removed: () => string[];
  /** Answers a question to the hub for single rows with the keys that it finds, beside those that it gave last. */
  onAsked: (keys: readonly string[]) => Promise<readonly string[]>;
  /** If true, the hub does not find the rows by id that it gave last. */
  isBlind: boolean;
  failCommit: boolean;
  /** Runs a full sync that meets these keys, resolves its deletions and commits them; returns what was resolved. */
  sync: (
    met: readonly string[],
    options?: {
      completeness?: Completeness;
      approved?: ReadonlySet<string>;
      forgets?: boolean;
      emptied?: readonly string[];
    },
  ) => Promise<Awaited<ReturnType<typeof resolveMissing>>>;
  readonly listed: () => Promise<string[]>;
}

/** Makes a collection of `count` known rows. */
async function bench(
  count: number,
  others: readonly { name: 'orgs' | 'results'; rows: number }[] = [],
  isWanted?: (key: string) => boolean,
): Promise<Bench> {
  const state = createMemoryStore().tenant('north');
  const index = state.collection('users');
  const replay = await index.rebuild();
  await replay.write(keysOf(count).map((key) => ({ area: 'rows', key, value: HASH })));
  await replay.finish({ sequence: 0, transactionId: 'start', committedAtMs: 0, offsets: {} });
  const transactions: Transaction[] = [];
  let given: ReadonlySet<string> = new Set();
  let ids = 0;
  const writer = new CollectionWriter(
    {
      tenantId: 'north',
      collection: 'users',
      reader: { encode: () => Buffer.from('row') },
      size: new TransactionSize(),
      encodeReject: () => Buffer.from('reject'),
      index,
      commit: async (transaction) => {
        if (made.failCommit) throw new Error('the commit failed');
        transactions.push(transaction);
        const progress = withOffsets(transaction.progress, { 'p.north.users/0': transactions.length });
        return Promise.resolve({ progress, derived: [], committedAtMs: transactions.length });
      },
      now: () => 0,
      randomId: () => `tx-${(ids += 1)}`,
      isWanted,
    },
    { progress: null, indexed: 'start', offsets: {}, knownRows: count, knownRejects: 0 },
  );
  const parts: DeletionParts = {
    collection: 'users',
    writer,
    memory: state.deletions,
    limits: LIMITS,
    findExisting: async (keys) => {
      const found = await made.onAsked(keys);
      return new Set(made.isBlind ? found : [...found, ...keys.filter((key) => given.has(key))]);
    },
    today: () => '2026-11-18',
    now: () => 1_000,
    emit: () => undefined,
    others: () => others.map(({ name, rows }) => ({ collection: name, knownRows: rows })),
  };
  const made: Bench = {
    parts,
    removed: () =>
      transactions.flatMap(({ records }) =>
        records.filter(({ body }) => body === null).map(({ key }) => key),
      ),
    onAsked: () => Promise.resolve([]),
    isBlind: false,
    failCommit: false,
    listed: async () => [...(await state.deletions.withheld('users')).keys()].sort(),
    sync: async (met, options = {}) => {
      const seed = (ids += 1);
      const sync: ActiveSync = {
        stats: newSyncStats({ passId: `pass-${seed}`, mode: 'FULL', startedAtMs: 0 }),
        seen: new SeenKeys(seed),
        seenByOthers: new SeenKeys(seed),
        seenRejects: new SeenKeys(seed),
        readVersion: writer.readVersion(),
      };
      given = new Set(met);
      const knownRowsBefore = await writer.known.countWanted();
      writer.begin(sync);
      await writer.accept(sync, { rows: met.map(reading), readVersion: writer.readVersion() });
      const settled = await resolveMissing(parts, sync, {
        completeness: options.completeness ?? PROVEN,
        knownRowsBefore,
        becameEmpty: (options.emptied ?? []).map(reading),
        approved: options.approved,
      });
      const full = { passId: sync.stats.passId, startedAtMs: 0, rows: met.length, rowsRejected: 0 };
      await writer.flush(sync, {
        watermarkMs: 0,
        lastCompleteFull: { ...full, rowsWithheld: settled.withheld },
      });
      writer.end(sync);
      if (options.forgets !== true) await settled.remember();
      return settled;
    },
  };
  return made;
}

describe('an approval', () => {
  it('of more keys than a list can hold removes the listed ones, and reports the rest', async () => {
    const made = await bench(100_060);
    const met = keysOf(100_060).slice(0, 10);
    expect(await made.sync(met)).toMatchObject({ withheld: 100_050 });
    const first = await made.listed();
    expect(first.length).toBe(100_000);
    const settled = await made.sync(met, { approved: new Set(first) });
    expect(settled).toMatchObject({ approvedGone: 100_000, withheld: 50 });
    expect(new Set(made.removed())).toEqual(new Set(first));
    const rest = await made.listed();
    expect(rest.length).toBe(50);
    expect(await made.sync(met, { approved: new Set(rest) })).toMatchObject({
      approvedGone: 50,
      withheld: 0,
    });
    expect(await made.listed()).toEqual([]);
  });

  it('that was not committed leaves the list as it was', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    const list = await made.listed();
    made.failCommit = true;
    await expect(made.sync(keysOf(5), { approved: new Set(list) })).rejects.toThrow('the commit failed');
    expect(await made.listed()).toEqual(list);
    expect(made.removed()).toEqual([]);
    expect((await made.parts.memory.tripped()).has('users')).toBe(true);
  });

  it('that was not committed keeps the list, with the rows that join it', async () => {
    const made = await bench(40);
    await made.sync(keysOf(20));
    const list = await made.listed();
    made.failCommit = true;
    await expect(made.sync(keysOf(8), { approved: new Set(list) })).rejects.toThrow('the commit failed');
    expect(await made.listed()).toEqual(keysOf(40).slice(8).sort());
  });

  it('that was committed, but not recorded, completes when it is given again', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    const list = await made.listed();
    await made.sync(keysOf(5), { approved: new Set(list), forgets: true });
    expect([await made.listed(), made.removed().length]).toEqual([list, 15]);
    expect(await made.sync(keysOf(5), { approved: new Set(list) })).toMatchObject({
      approvedGone: 15,
      withheld: 0,
    });
    expect([await made.listed(), made.removed().length]).toEqual([[], 15]);
  });

  it('does not remove a row that the hub finds when it is asked again', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    made.onAsked = () => Promise.resolve(['k7']);
    const approved = new Set(await made.listed());
    expect(await made.sync(keysOf(5), { approved })).toMatchObject({ approvedGone: 14, withheld: 0 });
    expect(made.removed()).not.toContain('k7');
    expect(await made.listed()).toEqual([]);
  });

  it('by a sync that proves nothing removes nothing', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    const approved = new Set(await made.listed());
    const unproven: Completeness = { kind: 'unproven', isInconclusive: false, why: 'rows without an id' };
    expect(await made.sync(keysOf(5), { approved, completeness: unproven })).toMatchObject({
      approvedGone: null,
      withheld: 15,
    });
    expect(made.removed()).toEqual([]);
  });

  it('is enough where one sync alone proves nothing, since the sync that listed them missed them too', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5), { completeness: TWICE });
    expect(await made.listed()).toEqual([]);
    await made.sync(keysOf(5), { completeness: TWICE });
    const approved = new Set(await made.listed());
    expect(await made.sync(keysOf(5), { approved, completeness: TWICE })).toMatchObject({ approvedGone: 15 });
  });

  it('does not release the rows that have vanished since from the guard', async () => {
    const made = await bench(40);
    await made.sync(keysOf(20));
    const approved = new Set(await made.listed());
    expect(await made.sync(keysOf(8), { approved })).toMatchObject({ approvedGone: 20, withheld: 12 });
    expect(await made.listed()).toEqual(keysOf(20).slice(8).sort());
  });
});

describe('a collection whose guard trips', () => {
  it('withholds the removals of another even while the sync of that one asks for them', async () => {
    const made = await bench(100);
    made.onAsked = async () => {
      await made.parts.memory.setTripped('orgs', true);
      return [];
    };
    expect(await made.sync(keysOf(99))).toMatchObject({ withheld: 1 });
    expect(made.removed()).toEqual([]);
    await made.parts.memory.setTripped('orgs', false);
    made.onAsked = () => Promise.resolve([]);
    expect(await made.sync(keysOf(99))).toMatchObject({ withheld: 0 });
    expect(made.removed()).toEqual(['k99']);
  });

  it('does not keep another withheld that has its own rows back', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    await made.parts.memory.setTripped('orgs', true);
    // Those are all back; another row is gone, and is withheld only because of the other collection.
    await made.sync(keysOf(20).slice(1));
    expect(await made.parts.memory.tripped()).toEqual(new Set(['orgs']));
    expect(await made.listed()).toEqual(['k0']);
  });
});

describe('a list that was lost', () => {
  it('still withholds the removals of other collections after a restart without a deletion memory', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    const { memory, writer } = made.parts;
    await memory.setWithheld('users', new Map());
    await memory.setNote('users', null);
    await memory.setTripped('users', false);
    await restoreTrip(memory, 'users', writer.progress);
    expect(await whyOthersWithhold({ collection: 'orgs', memory })).toBe(
      'deletions of users need a decision',
    );
  });

  it('withholds nothing where nothing is withheld, or where all of it is listed', async () => {
    const made = await bench(20);
    const { memory, writer } = made.parts;
    await restoreTrip(memory, 'users', writer.progress);
    await memory.setTripped('orgs', true);
    await made.sync(keysOf(20).slice(1));
    await memory.setTripped('orgs', false);
    await restoreTrip(memory, 'users', writer.progress);
    expect(await memory.tripped()).toEqual(new Set());
  });
});

describe('a hub that is asked again', () => {
  it('confirms no removal if it does not find the rows either that it has just returned', async () => {
    const made = await bench(100);
    made.isBlind = true;
    expect(await made.sync(keysOf(98))).toMatchObject({ withheld: 0, wantsSecondSync: true });
    expect(made.removed()).toEqual([]);
    made.isBlind = false;
    await made.sync(keysOf(98));
    expect(made.removed()).toEqual(['k98', 'k99']);
  });

  it('keeps a row that it finds, even if it no longer finds the row that it has just returned', async () => {
    const hub = await bench(100);
    hub.isBlind = true;
    hub.onAsked = () => Promise.resolve(['k0']);
    const met = keysOf(100).slice(2);
    await hub.sync(met, { completeness: TWICE });
    await hub.sync(met, { completeness: TWICE });
    expect(hub.removed()).toEqual(['k1']);
  });
});

describe('the removals of a day', () => {
  it('still count when Redis falls back between their count and their commit', async () => {
    const hub = await bench(100);
    const { memory } = hub.parts;
    const addRemoved = memory.addRemoved.bind(memory);
    let isFirst = true;
    memory.addRemoved = async (day, collection, count) => {
      if (!isFirst) await addRemoved(day, collection, count);
      isFirst = false;
    };
    await hub.sync(keysOf(100).slice(2));
    expect((await memory.removedOn('2026-11-18')).get('users')).toBe(2);
  });
});

describe('a school of thirty that a token can no longer see', () => {
  const lost = (name: 'orgs' | 'results') =>
    new Map(keysOf(100).map((key) => [`${name}-${key}`, { passId: 'pass-0', becameEmpty: false }]));

  it('is withheld, although it is below the limits of each collection', async () => {
    const made = await bench(3_000, [
      { name: 'orgs', rows: 3_000 },
      { name: 'results', rows: 3_000 },
    ]);
    const met = keysOf(2_900);
    // Alone it would be removed, when a second sync misses it too.
    expect(await made.sync(met)).toMatchObject({ withheld: 0, wantsSecondSync: true, isMany: true });
    expect(made.removed()).toEqual([]);
    for (const name of ['orgs', 'results'] as const) await made.parts.memory.setMissing(name, lost(name));
    expect(await made.sync(met)).toMatchObject({ withheld: 100 });
    expect(made.removed()).toEqual([]);
  });

  it('does not withhold what one collection alone loses', async () => {
    const made = await bench(3_000, [
      { name: 'orgs', rows: 3_000 },
      { name: 'results', rows: 3_000 },
    ]);
    await made.parts.memory.setMissing('orgs', lost('orgs'));
    await made.sync(keysOf(2_900));
    await made.sync(keysOf(2_900));
    expect(made.removed().length).toBe(100);
  });
});

describe('a discarded list', () => {
  it('no longer counts as withheld by the log’s progress, until the next full sync', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    const { memory, writer } = made.parts;
    expect(await countWithheld(memory, 'users', writer.progress)).toBe(15);
    await discardList(made.parts);
    expect(await countWithheld(memory, 'users', writer.progress)).toBe(0);
    await memory.setNote('users', null);
    expect(await countWithheld(memory, 'users', writer.progress)).toBe(15);
  });
});

describe('an answer without any row', () => {
  const empty = { completeness: EMPTY_HUB };

  it('is no evidence that an answer with rows can confirm, and removes nothing itself', async () => {
    const made = await bench(100);
    await made.sync([], empty);
    await made.sync(keysOf(98), { completeness: TWICE });
    expect([made.removed(), await made.listed()]).toEqual([[], []]);
    await made.sync(keysOf(98), { completeness: TWICE });
    expect(made.removed()).toEqual(['k98', 'k99']);
  });

  it('does not confirm that a single value became empty', async () => {
    const made = await bench(100);
    await made.sync([], empty);
    expect(await made.sync(keysOf(100), { emptied: ['k1'] })).toMatchObject({ wantsSecondSync: true });
  });

  it('lists all rows when it comes twice, those that were missing before included', async () => {
    const made = await bench(20);
    await made.sync(keysOf(19), { completeness: TWICE });
    await made.sync([], empty);
    expect(await made.listed()).toEqual([]);
    expect(await made.sync([], empty)).toMatchObject({ withheld: 20 });
    const approved = new Set(await made.listed());
    expect(await made.sync([], { ...empty, approved })).toMatchObject({ approvedGone: 20, withheld: 0 });
    expect(made.removed().length).toBe(20);
  });

  it('releases no list of a part of the rows, but lists the rest in the end', async () => {
    const made = await bench(20);
    await made.sync(keysOf(5));
    const approved = new Set(await made.listed());
    expect(await made.sync([], { ...empty, approved })).toMatchObject({ approvedGone: null, withheld: 15 });
    expect(made.removed()).toEqual([]);
    expect(await made.sync([], empty)).toMatchObject({ withheld: 20 });
  });
});

describe('rows that the configuration no longer wants', () => {
  const isWanted = (key: string): boolean => Number(key.slice(1)) < 10;

  it('are neither removed, nor withheld, nor asked for, however many they are', async () => {
    const made = await bench(100, [], isWanted);
    const asked: string[] = [];
    made.onAsked = (keys) => {
      asked.push(...keys);
      return Promise.resolve([]);
    };
    expect(await made.sync(keysOf(10))).toMatchObject({ withheld: 0, wantsSecondSync: false });
    expect([asked, made.removed(), await made.listed()]).toEqual([[], [], []]);
  });

  it('do not count when the wanted ones are judged: all ten of ten are withheld', async () => {
    const made = await bench(1_000, [], isWanted);
    expect(await made.sync([])).toMatchObject({ withheld: 10 });
    expect(await made.listed()).toEqual(keysOf(10));
  });

  it('are dropped from the list once the configuration no longer wants them', async () => {
    let wants: (key: string) => boolean = () => true;
    const made = await bench(100, [], (key) => wants(key));
    expect(await made.sync(keysOf(10))).toMatchObject({ withheld: 90 });
    wants = isWanted;
    expect(await made.sync(keysOf(10))).toMatchObject({ withheld: 0 });
    expect([made.removed(), await made.listed()]).toEqual([[], []]);
  });

  it('are removed when a person approves a list that names them, though the hub still has them', async () => {
    let wants: (key: string) => boolean = () => true;
    const made = await bench(100, [], (key) => wants(key));
    await made.sync(keysOf(10));
    const approved = new Set(await made.listed());
    wants = isWanted;
    made.onAsked = (keys) => Promise.resolve(keys);
    expect(await made.sync(keysOf(10), { approved })).toMatchObject({ withheld: 0, approvedGone: 90 });
    expect(new Set(made.removed())).toEqual(approved);
  });

  it('are not listed where the hub has none of the wanted ones', async () => {
    const made = await bench(100, [], isWanted);
    const empty = { completeness: EMPTY_HUB };
    await made.sync([], empty);
    expect(await made.sync([], empty)).toMatchObject({ withheld: 10 });
    expect(await made.listed()).toEqual(keysOf(10));
  });
});

describe('a collection that was switched off', () => {
  it('withholds no removal of the others', async () => {
    const { deletions: memory } = createMemoryStore().tenant('north');
    await memory.setTripped('orgs', true);
    const asked = { collection: 'users', memory } as const;
    expect(await whyOthersWithhold({ ...asked, mirrored: ['users', 'orgs'] })).toMatch(/orgs/);
    expect(await whyOthersWithhold({ ...asked, mirrored: ['users'] })).toBeNull();
  });
});
