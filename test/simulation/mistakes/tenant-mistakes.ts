import { RollcallError } from '../../../src/errors.ts';
import type { MissingKeys } from '../../../src/core/deletions/decide-missing.ts';
import type { Hub, ReadOptions } from '../../../src/hub/hub.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { DeletionState, Progress } from '../../../src/model/progress.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import type { Transaction } from '../../../src/log/log.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { withOther } from '../parts/with-other.ts';
import { AFTERSCHOOL_USERS, afterschoolOf } from '../tenants/afterschools.ts';
import { AFTERSCHOOLS } from '../tenants/tenant-hub.ts';
import { isOfScope } from '../tenants/state-problems.ts';
import type { TenantRedis } from '../tenants/tenant-redis.ts';
import { MARKER } from '../tenants/tenant-row.ts';
import type { TenantWorld } from '../tenants/tenant-world.ts';
import { alwaysCurrent, plantedIn, readAnywhere, reversed, withPages, type TenantMistake } from './misuse.ts';

/** Longer than a history waits for a commit. */
const TOO_LATE_MS = 15_000;
const CUTS_SHORT = {
  liesOften: 0.5,
  lies: ['cut short'],
  hasTotals: false,
  paging: 'keyset',
} as const satisfies TenantMistake['manner'];
const NOT_MISSED = 'removed, but full syncs did not miss it';
const BEYOND_LIMITS = 'removed beyond the limits without an approval';

const ONE_COLLECTION = plantedIn('users-restarts', [
  {
    name: 'of an id listed twice in a page the last row counts',
    finds: 'differs from the hub',
    manner: { hasTwins: true },
    page: reversed,
  },
  {
    name: 'the index changes before the log has committed',
    finds: 'differs from the hub',
    log: (log, { redis }) =>
      withOther(log, {
        commit: async (transaction) => {
          await writeTooEarly(redis, transaction);
          return log.commit(transaction);
        },
      }),
  },
  {
    name: 'the index keeps removed rows',
    finds: 'removed twice',
    changes: (changes) => changes.filter(({ value }) => value !== null),
  },
  {
    name: 'an index that was flushed or restored counts as current',
    finds: 'published twice',
    index: alwaysCurrent,
  },
  {
    name: 'an index at another position is read and written nevertheless',
    kind: 'users-take-overs',
    finds: 'published twice',
    index: readAnywhere,
  },
  {
    name: 'a take-over overlooks the last transaction',
    finds: 'comes after',
    own: (ownership, { broker }) => {
      const before = broker.transactions.at(-2)?.progress;
      return before === undefined ? ownership : { ...ownership, progress: new Map([['users', before]]) };
    },
  },
  {
    name: 'a process forgets that it owned the tenant before',
    kind: 'users-take-overs',
    finds: 'owned again after it was superseded',
    ownership: 'forgets ownership',
  },
  {
    name: 'a process does not notice that it was fenced',
    kind: 'users-take-overs',
    finds: 'continued although it was superseded',
    log: (log, { at, broker }, process) =>
      withOther(log, {
        commit: async (transaction) => {
          if (broker.isSuperseded(process)) await at.time.sleep(TOO_LATE_MS);
          return log.commit(transaction);
        },
      }),
  },
  {
    name: 'a page counts as newer than everything published',
    finds: 'older after newer',
    page: (page) => ({ ...page, readVersion: Number.POSITIVE_INFINITY }),
  },
  {
    name: 'the watermark runs ahead of the hub',
    finds: 'the incremental sync missed a change',
    page: (page) => ({ ...page, hubTimeMs: page.hubTimeMs === null ? null : page.hubTimeMs + 60 }),
  },
  {
    name: 'a row that the hub has counts as gone',
    finds: 'removed, but it never left',
    hub: (hub) => hiding(`${MARKER}ou05`, hub),
  },
  {
    name: 'a page is recognised by its cursor and its number of rows',
    kind: 'users-take-overs',
    finds: 'differs from the hub',
    hub: (hub) =>
      recognising(hub, (pages, cursor, text) => {
        const page = pages.at(cursor);
        return page?.rows === text.toString().split('sourcedId').length - 1 ? page : null;
      }),
  },
]);

const SEVERAL_COLLECTIONS = plantedIn('tenant-restarts', [
  {
    name: 'an afterschool that left the configuration is still mirrored',
    finds: 'published although the configuration does not name its afterschool',
    parts: (parts) => mirroring(parts, AFTERSCHOOLS),
  },
  {
    name: 'an afterschool that entered the configuration is not loaded at the start',
    finds: 'not loaded at the start',
    namesOthers: true,
    parts: (parts) => mirroring(parts, AFTERSCHOOLS.slice(0, 1)),
  },
  {
    name: 'an afterschool that comes back is published again',
    finds: 'published twice',
    trouble: 0,
    namesOthers: true,
    // The index has no rows of afterschools that the process before did not name.
    known: (hash, key, name, world) => {
      const before = world.afterschoolsOf(world.processes.length - 1);
      const isKnown = before.includes(afterschoolOf(AFTERSCHOOL_USERS, key) ?? '');
      return name !== AFTERSCHOOL_USERS || isKnown ? hash : null;
    },
  },
  {
    name: 'the watermark moves before the sync is complete',
    finds: 'the incremental sync missed a change',
    trouble: 0.7,
    manner: { liesOften: 0, paging: 'keyset', hasClock: true },
    commit: (transaction) => {
      const { progress } = transaction;
      const isEarly = progress.watermarkMs !== null && !progress.complete;
      const watermarkMs = isEarly ? progress.startedAtMs : progress.watermarkMs;
      return { ...transaction, progress: { ...progress, watermarkMs } };
    },
  },
  {
    name: 'a short scan counts as complete',
    finds: NOT_MISSED,
    manner: { liesOften: 1, lies: ['cut short'], hasTotals: true },
    hub: (hub) =>
      withPages(
        hub,
        (page) => ({ ...page, total: null }),
        (end) => ({ ...end, paging: 'keyset', totalAtStart: end.rows, totalAtEnd: end.rows }),
      ),
  },
  {
    name: 'a row that one full sync missed is removed',
    finds: NOT_MISSED,
    missing: (missing, collection, world) => ({ ...missing, keys: missedBefore(world, collection, 1) }),
  },
  {
    name: 'what is remembered as missing is not compared with the sync that the log names',
    finds: NOT_MISSED,
    trouble: 0.7,
    manner: CUTS_SHORT,
    // Each process finds what any sync missed: maps that are void, which only their syncs give away.
    missing: (missing, collection, world) => {
      const keys = new Map([...(everMissing(world).get(collection) ?? []), ...missing.keys]);
      const last = world.broker.transactions.findLast(({ progress }) => progress.collection === collection);
      return { ...missing, keys, syncId: last?.progress.deletions?.settledBy ?? '' };
    },
    remember: (missing, _before, collection, world) => {
      const all = everMissing(world);
      all.set(collection, new Map([...(all.get(collection) ?? []), ...(missing?.keys ?? [])]));
      return missing;
    },
  },
  {
    name: 'the guard is switched off',
    finds: BEYOND_LIMITS,
    parts: (parts) => ({ ...parts, guard: { rows: 1_000_000, ratio: 1 } }),
  },
  {
    name: 'the guard forgets the earlier removals of the day',
    finds: BEYOND_LIMITS,
    trouble: 0.3,
    own: (ownership) => withDeletions(ownership, { removed: 0 }),
    log: (log) =>
      withOther(log, {
        commit: async (transaction) => {
          const committed = await log.commit(transaction);
          return { ...committed, progress: changed(committed.progress, { removed: 0 }) };
        },
      }),
  },
  {
    name: 'a hold is forgotten at a restart',
    finds: 'a hold ended although rows are missing still',
    own: (ownership) => withDeletions(ownership, { onHoldSinceMs: null }),
  },
  {
    name: 'the approval of a part ends the hold of the other rows',
    finds: 'a hold ended although rows are missing still',
    log: (log) =>
      withOther(log, {
        commit: async (transaction) => {
          const isApproval = transaction.decisions?.some(({ kind }) => kind === 'approved') === true;
          const { progress } = transaction;
          const ended = isApproval ? changed(progress, { onHoldSinceMs: null }) : progress;
          return log.commit({ ...transaction, progress: ended });
        },
      }),
  },
  {
    name: 'an approval releases more than was listed',
    finds: BEYOND_LIMITS,
    approves: (_listed, { broker, collections }) =>
      new Set(collections.flatMap((collection) => [...broker.viewOf(collection).keys()])),
  },
  {
    name: "another tenant's rows count as known",
    finds: 'was never at the hub',
    known: (hash) => hash ?? Buffer.alloc(16),
  },
  {
    name: 'a single answer empties a class',
    finds: 'emptied after a single answer',
    // Two earlier syncs seem to have had an answer without content for each class: by offset three must agree.
    missing: (missing, collection, world) =>
      collection === 'class-students' ? { ...missing, keys: missedBefore(world, collection, 2) } : missing,
  },
  {
    name: 'a class or an afterschool that can be read again stays among the rejects',
    finds: 'rejected still, although it can be read',
    trouble: 0.7,
    record: (record) =>
      record.topic === 'rejects' && record.body === null && isOfScope(record.key) ? [] : [record],
  },
  {
    name: 'an index older than the tombstones in the log is resumed',
    finds: 'removed twice',
    position: (position, _name, { at }) => ({ ...position, committedAtMs: at.time.now() }),
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
]);

export const TENANT_MISTAKES = [...ONE_COLLECTION, ...SEVERAL_COLLECTIONS];

/** Each published row seems to have been missed before. */
function missedBefore({ broker }: TenantWorld, collection: CollectionName, times: number): MissingKeys {
  return new Map([...broker.viewOf(collection).keys()].map((key) => [key, { sinceMs: 0, times }]));
}

const EVER_MISSING = new WeakMap<TenantWorld, Map<CollectionName, MissingKeys>>();

function everMissing(world: TenantWorld): Map<CollectionName, MissingKeys> {
  const all = EVER_MISSING.get(world) ?? new Map<CollectionName, MissingKeys>();
  EVER_MISSING.set(world, all);
  return all;
}

function changed(progress: Progress, change: Partial<DeletionState>): Progress {
  const { deletions } = progress;
  return deletions === undefined ? progress : { ...progress, deletions: { ...deletions, ...change } };
}

function withDeletions<Read extends { readonly progress: ReadonlyMap<CollectionName, Progress> }>(
  ownership: Read,
  change: Partial<DeletionState>,
): Read {
  const progress = [...ownership.progress].map(([name, each]) => [name, changed(each, change)] as const);
  return { ...ownership, progress: new Map(progress) };
}

/** As if the configuration named these afterschools. */
function mirroring(parts: Tenant, parentIds: readonly string[]): Tenant {
  const collections = parts.collections.map((each) =>
    each.name === AFTERSCHOOL_USERS ? { ...each, parentIds } : each,
  );
  return { ...parts, collections };
}

type Pages = NonNullable<ReadOptions['pages']>;

/** A hub whose scans recognise pages in another way. */
function recognising(
  hub: Hub,
  recognise: (pages: Pages, cursor: string | null, text: Buffer) => ReturnType<Pages['recognise']>,
): Hub {
  return withOther(hub, {
    readPages: (options) => {
      const { pages } = options;
      if (pages === undefined) return hub.readPages(options);
      const spoiled: Pages = {
        at: (cursor) => pages.at(cursor),
        recognise: (cursor, text) => recognise(pages, cursor, text),
      };
      return hub.readPages({ ...options, pages: spoiled });
    },
  });
}

async function writeTooEarly(redis: TenantRedis, { records }: Transaction): Promise<void> {
  const index = redis.memory.collection('users');
  const position = await index.position();
  if (position === null) return;
  const changes = records.map(({ topic, key, headers }) => {
    const hash = headers['content-hash'];
    const value = hash === undefined ? null : Buffer.from(hash, 'hex');
    return topic === 'rejects'
      ? ({ area: 'rejects', key: splitCompositeKey(key)?.[1] ?? key, value } as const)
      : ({ area: 'rows', key, value } as const);
  });
  await index.apply(position.transactionId, position, changes);
}

function hiding(id: string, hub: Hub): Hub {
  const isOther = (row: unknown): boolean => (row as { sourcedId: string }).sourcedId !== id;
  const fewer = (total: number | null): number | null => (total === null ? null : total - 1);
  // The row is hidden only later; otherwise it would never have been published.
  const isHidden = (options: ReadOptions): boolean => options.readVersion() > 10;
  const hidden = withPages(
    hub,
    (page, options) =>
      isHidden(options) ? { ...page, rows: page.rows.filter(isOther), total: fewer(page.total) } : page,
    (end, options) =>
      isHidden(options)
        ? { ...end, totalAtStart: fewer(end.totalAtStart), totalAtEnd: fewer(end.totalAtEnd) }
        : end,
  );
  return withOther(hidden, {
    findRows: async (options) => (await hub.findRows(options)).filter(({ row }) => isOther(row)),
  });
}
