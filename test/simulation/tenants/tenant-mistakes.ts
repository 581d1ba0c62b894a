import { RollcallError } from '../../../src/errors.ts';
import type { Hub } from '../../../src/hub/hub.ts';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import type { Missing, MissingKeys } from '../../../src/core/deletions/missing.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { DeletionState, Progress } from '../../../src/model/progress.ts';
import type { TenantState } from '../../../src/state/index-store.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { TenantWorld } from './tenant-world.ts';
import { CHAIN_MISTAKES } from '../chains/chain-mistakes.ts';
import { withOther } from '../parts/with-other.ts';
import { AFTERSCHOOL_MISTAKES } from './afterschool-mistakes.ts';
import { plantedIn } from './tenant-world.ts';
import type { TenantRow } from './tenant-row.ts';
import { TWIN_MISTAKES } from './twin-mistakes.ts';
import { readAnywhere, withDeletions, withPages } from './misused-parts.ts';
import { ROW_MISTAKES } from './row-mistakes.ts';

export const TENANT_MISTAKES = [
  ...ROW_MISTAKES,
  ...CHAIN_MISTAKES,
  ...TWIN_MISTAKES,
  ...AFTERSCHOOL_MISTAKES,
  ...plantedIn('tenant-restarts', [
    {
      name: 'the watermark moves before the sync is complete',
      finds: 'the incremental sync missed a change',
      trouble: 0.7,
      manner: { liesOften: 0, paging: 'keyset', hasClock: true },
      log: (log) =>
        withOther(log, {
          commit: (transaction) => {
            const { progress } = transaction;
            const isEarly = progress.watermarkMs !== null && !progress.complete;
            const watermarkMs = isEarly ? progress.startedAtMs : progress.watermarkMs;
            return log.commit({ ...transaction, progress: { ...progress, watermarkMs } });
          },
        }),
    },
    {
      name: 'a producer is used again after a send that failed',
      finds: 'published twice',
      trouble: 1,
      reusesProducer: true,
    },
    {
      name: 'a short scan counts as complete',
      finds: 'removed, but full syncs did not miss it',
      manner: { liesOften: 1, lies: ['cut short'], hasTotals: true },
      hub: alwaysWhole,
    },
    {
      name: 'a row that one full sync missed is removed',
      finds: 'removed, but full syncs did not miss it',
      state: (state, world) =>
        withDeletions(state, { missing: (collection) => missedBefore(state, world, collection) }),
    },
    {
      name: 'what is remembered as missing is not compared with the sync that the log names',
      finds: 'removed, but full syncs did not miss it',
      trouble: 0.7,
      manner: { liesOften: 0.5, lies: ['cut short'], hasTotals: false, paging: 'keyset' },
      // Each process finds what any sync missed: maps that are void, which only their syncs give away.
      state: (state, world) => {
        const all = everMissing(world);
        return withDeletions(state, {
          missing: async (collection) => {
            const missing = await state.deletions.missing(collection);
            const keys = new Map([...(all.get(collection) ?? []), ...(missing?.keys ?? [])]);
            return missing && { ...missing, keys, syncId: settledBy(world, collection) };
          },
          setMissing: async (collection, missing) => {
            all.set(collection, new Map([...(all.get(collection) ?? []), ...(missing?.keys ?? [])]));
            await state.deletions.setMissing(collection, missing);
          },
        });
      },
    },
    {
      name: 'rows that were seen stay among the missing',
      finds: 'removed, but full syncs did not miss it',
      manner: { liesOften: 0.5, lies: ['cut short'], hasTotals: false, paging: 'keyset' },
      state: (state) =>
        withDeletions(state, {
          setMissing: async (collection, missing) => {
            const before = await state.deletions.missing(collection);
            const keys = missing && new Map([...(before?.keys ?? []), ...missing.keys]);
            await state.deletions.setMissing(collection, missing && { ...missing, keys: keys ?? new Map() });
          },
        }),
    },
    {
      name: 'the guard is switched off',
      finds: 'removed beyond the limits without an approval',
      parts: (parts) => ({ ...parts, guard: { rows: 1_000_000, ratio: 1 } }),
    },
    {
      name: 'the guard forgets the earlier removals of the day',
      finds: 'removed beyond the limits without an approval',
      trouble: 0.3,
      log: (log) => withDeletionState(log, (state) => ({ ...state, removed: 0 })),
    },
    {
      name: 'a hold is forgotten at a restart',
      finds: 'a hold ended although rows are missing still',
      log: (log) =>
        withOther(log, {
          own: async (signal) => {
            const ownership = await log.own(signal);
            const progress = new Map(
              [...ownership.progress].map(([name, each]) => [
                name,
                changed(each, (state) => ({ ...state, heldSinceMs: null })),
              ]),
            );
            return { ...ownership, progress };
          },
        }),
    },
    {
      name: 'an approval releases more than was listed',
      finds: 'removed beyond the limits without an approval',
      approves: (_listed, { broker, collections }) =>
        new Set(collections.flatMap((collection) => [...broker.viewOf(collection).keys()])),
    },
    {
      name: "another tenant's rows count as known",
      finds: "another tenant's row",
      index: (index) =>
        withOther(index, {
          lookup: async (area, keys, expected) => {
            const values = await index.lookup(area, keys, expected);
            return area === 'rows' ? values.map((value) => value ?? Buffer.alloc(16)) : values;
          },
        }),
    },
    {
      name: 'a single answer empties a class',
      finds: 'emptied after a single answer',
      // Two earlier syncs seem to have had an answer without content for each class: by offset three must agree.
      state: (state, world) =>
        withDeletions(state, {
          missing: (collection) =>
            collection === 'class-students'
              ? missedBefore(state, world, collection, 2)
              : state.deletions.missing(collection),
        }),
    },
    {
      name: 'an index older than the tombstones in the log is resumed',
      finds: 'removed twice',
      index: (index, _name, { at }) =>
        withOther(index, {
          position: async () => {
            const position = await index.position();
            return position && { ...position, committedAtMs: at.time.now() };
          },
        }),
    },
    {
      name: 'a lost topic counts as up to date',
      kind: 'tenant-lost-topics',
      finds: 'differs from the hub',
      log: (log) =>
        withOther(log, {
          ranges: async (topics) =>
            topics.map((topic) => ({
              topic,
              partitions: Array.from({ length: 3 }, () => ({ low: 0, high: Number.MAX_SAFE_INTEGER })),
            })),
        }),
    },
    {
      name: 'an index that fell back is read and written nevertheless',
      finds: 'published twice',
      index: readAnywhere,
    },
    {
      name: 'an error quotes an id',
      finds: 'an event names a row',
      hub: (hub) =>
        withOther(hub, {
          findRows: async ({ ids }) => {
            throw new RollcallError('HUB_TIMEOUT', `no answer for ${ids[0]}`, { remedy: 'None.' });
          },
        }),
    },
    {
      name: 'a failed attempt is repeated at once',
      finds: 'tried again in',
      parts: (parts) => ({ ...parts, runtime: { ...parts.runtime, random: () => -1 } }),
    },
    {
      name: 'a re-stamp counts as a change of a row',
      finds: 'nothing had changed',
      parts: (parts) => withReaders(parts, stampedReader),
    },
  ]),
];

/** Each published row seems to have been missed once before. */
async function missedBefore(
  state: TenantState,
  world: TenantWorld,
  collection: CollectionName,
  times = 1,
): Promise<Missing | null> {
  const missing = await state.deletions.missing(collection);
  const published = [...world.broker.viewOf(collection).keys()];
  return missing && { ...missing, keys: new Map(published.map((key) => [key, { sinceMs: 0, times }])) };
}

/** The sync that the log names as the one that settled the missing rows last. */
const EVER_MISSING = new WeakMap<TenantWorld, Map<CollectionName, MissingKeys>>();

function everMissing(world: TenantWorld): Map<CollectionName, MissingKeys> {
  const all = EVER_MISSING.get(world) ?? new Map<CollectionName, MissingKeys>();
  EVER_MISSING.set(world, all);
  return all;
}

function settledBy({ broker }: TenantWorld, collection: CollectionName): string {
  const last = broker.transactions.findLast(({ progress }) => progress.collection === collection);
  return last?.progress.deletions?.settledBy ?? '';
}

function changed(progress: Progress, change: (state: DeletionState) => DeletionState): Progress {
  const { deletions } = progress;
  return deletions === undefined ? progress : { ...progress, deletions: change(deletions) };
}

/** A log after which a process continues with another state of deletions. */
function withDeletionState(log: TenantLog, change: (state: DeletionState) => DeletionState): TenantLog {
  return withOther(log, {
    own: async (signal) => {
      const ownership = await log.own(signal);
      const progress = [...ownership.progress].map(([name, each]) => [name, changed(each, change)] as const);
      return { ...ownership, progress: new Map(progress) };
    },
    commit: async (transaction) => {
      const committed = await log.commit(transaction);
      return { ...committed, progress: changed(committed.progress, change) };
    },
  });
}

function alwaysWhole(hub: Hub): Hub {
  return withPages(
    hub,
    (page) => ({ ...page, total: null }),
    (end) => ({ ...end, paging: 'keyset', totalAtStart: end.rows, totalAtEnd: end.rows }),
  );
}

function withReaders(parts: Tenant, misuse: (reader: RowReader) => RowReader): Tenant {
  return {
    ...parts,
    collections: parts.collections.map((each) => ({ ...each, reader: misuse(each.reader) })),
  };
}

function stampedReader(reader: RowReader): RowReader {
  return {
    ...reader,
    read: (row) => {
      const reading = reader.read(row);
      if (reading.kind !== 'row') return reading;
      const hash = Buffer.from(reading.hash);
      hash.writeUInt32BE((row as TenantRow).modifiedAtMs % 2 ** 32, 8);
      return { ...reading, hash };
    },
  };
}
