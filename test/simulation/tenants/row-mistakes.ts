import type { Hub, ReadOptions } from '../../../src/hub/hub.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import type { TenantLog, Transaction } from '../../../src/log/log.ts';
import { withOther } from '../parts/with-other.ts';
import { BrokerLog } from './broker-log.ts';
import { plantedIn } from './tenant-world.ts';
import type { TenantRedis } from './tenant-redis.ts';
import { MARKER } from './tenant-row.ts';
import { alwaysCurrent, readAnywhere, reversed, withChanges, withPages } from './misused-parts.ts';

/** Longer than a history waits for a commit. */
const TOO_LATE_MS = 15_000;

/* Mistakes with one collection. */
export const ROW_MISTAKES = plantedIn('users-restarts', [
  {
    name: 'of an id listed twice in a page the last row counts',
    finds: 'differs from the hub',
    manner: { hasTwins: true },
    hub: (hub) => withPages(hub, reversed),
  },
  {
    name: 'the index changes before the log has committed',
    finds: 'differs from the hub',
    log: (log, { redis }) =>
      withOther(log, {
        commit: (transaction) => {
          writeTooEarly(redis, transaction);
          return log.commit(transaction);
        },
      }),
  },
  {
    name: 'the index keeps removed rows',
    finds: 'removed twice',
    index: (index) => withChanges(index, (changes) => changes.filter(({ value }) => value !== null)),
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
    finds: 'sequence:',
    log: (log, { broker }) =>
      withOther(log, {
        own: async (signal) => {
          const ownership = await log.own(signal);
          const before = broker.transactions.at(-2)?.progress;
          return before === undefined ? ownership : { ...ownership, progress: new Map([['users', before]]) };
        },
      }),
  },
  {
    name: 'a fenced process continues to write',
    kind: 'users-take-overs',
    finds: 'committed after it was superseded',
    log: (log, { at, broker }, process) =>
      withOther(log, {
        commit: async (transaction) => {
          if (!broker.isSuperseded(process)) return log.commit(transaction);
          // As if its producer were the newest.
          const producer = broker.initProducer();
          broker.send(process, producer, { ...transaction, transaction, sequences: new Map() });
          broker.commit(producer, transaction);
          const { progress, derived = [] } = transaction;
          return { progress, derived, committedAtMs: at.time.now(), tookMs: 0 };
        },
      }),
  },
  {
    name: 'a process forgets that it owned the tenant before',
    kind: 'users-take-overs',
    finds: 'owned again after it was superseded',
    log: (_log, { at, broker }, process) =>
      forgetful(() => new BrokerLog({ at, broker, process, happened: () => undefined })),
  },
  {
    name: 'a process does not notice that it was fenced',
    kind: 'users-take-overs',
    finds: 'continued although it was superseded',
    log: (log, { at, broker }, process) =>
      withOther(log, {
        commit: (transaction) =>
          broker.isSuperseded(process)
            ? at.time.sleep(TOO_LATE_MS).then(() => log.commit(transaction))
            : log.commit(transaction),
      }),
  },
  {
    name: 'a page counts as newer than everything published',
    finds: 'older after newer',
    hub: (hub) => withPages(hub, (page) => ({ ...page, readVersion: Number.POSITIVE_INFINITY })),
  },
  {
    name: 'the watermark runs ahead of the hub',
    finds: 'the incremental sync missed a change',
    hub: (hub) =>
      withPages(hub, (page) => ({
        ...page,
        hubTimeMs: page.hubTimeMs === null ? null : page.hubTimeMs + 60,
      })),
  },
  {
    name: 'a row that the hub has counts as gone',
    finds: 'removed, but it never left',
    hub: (hub) => hiding(`${MARKER}ou05`, hub),
  },
  {
    name: 'a page is recognised by its cursor alone',
    finds: 'left over',
    hub: (hub) => recognising(hub, ({ cursor, pages }) => pages.at(cursor)),
  },
  {
    name: 'a page is recognised by its cursor and its number of rows',
    kind: 'users-take-overs',
    finds: 'differs from the hub',
    hub: (hub) =>
      recognising(hub, ({ cursor, text, pages }) => {
        const page = pages.at(cursor);
        return page?.rows === text.toString().split('sourcedId').length - 1 ? page : null;
      }),
  },
]);

type Pages = NonNullable<ReadOptions['pages']>;

/** A hub whose scans recognise pages in another way. */
function recognising(
  hub: Hub,
  recognise: (read: { cursor: string | null; text: Buffer; pages: Pages }) => ReturnType<Pages['recognise']>,
): Hub {
  return withOther(hub, {
    readPages: (options) => {
      const { pages } = options;
      if (pages === undefined) return hub.readPages(options);
      const spoiled: Pages = {
        at: (cursor) => pages.at(cursor),
        recognise: (cursor, text) => recognise({ cursor, text, pages }),
      };
      return hub.readPages({ ...options, pages: spoiled });
    },
  });
}

/** A log that forgets all take-overs before the current one. */
function forgetful(open: () => TenantLog): TenantLog {
  let log = open();
  return {
    own: (signal) => {
      log = open();
      return log.own(signal);
    },
    commit: (transaction) => log.commit(transaction),
    ranges: (topics) => log.ranges(topics),
    read: (options) => log.read(options),
    rollIntervals: (topics) => log.rollIntervals(topics),
    markEnds: (partitions) => log.markEnds(partitions),
    close: () => log.close(),
  };
}

function writeTooEarly(redis: TenantRedis, { records }: Transaction): void {
  for (const { topic, key, headers } of records) {
    const hash = headers['content-hash'];
    const area = topic === 'rejects' ? 'rejects' : 'rows';
    const indexKey = area === 'rejects' ? (splitCompositeKey(key)?.[1] ?? key) : key;
    if (hash === undefined) redis.contents('users')[area].delete(indexKey);
    else redis.contents('users')[area].set(indexKey, Buffer.from(hash, 'hex'));
  }
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
