import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import type { TenantLog, Transaction } from '../../../src/log/log.ts';
import type { CollectionIndex, IndexPosition } from '../../../src/state/index-store.ts';
import type { HistoryKind, Mistake } from './session-history.ts';
import type { SimulatedIndex } from '../parts/simulated-index.ts';
import { SimulatedLog } from '../parts/simulated-log.ts';
import { withOther } from '../parts/with-other.ts';

/** A mistake that the code under test could make, the kind of history to plant it in, and the problem that must be found. */
export interface SeededMistake {
  readonly name: string;
  readonly kind: HistoryKind;
  readonly finds: string;
  readonly mistake: Mistake;
}

/** Longer than a history waits for a commit. */
const TOO_LATE_MS = 15_000;

export const MISTAKES: readonly SeededMistake[] = [
  {
    name: 'of an id listed twice in a page the last row counts',
    kind: 'restarts',
    finds: 'differs from the hub',
    mistake: { hub: (hub) => withOther(hub, { readPages: (options) => reversed(hub.readPages(options)) }) },
  },
  {
    name: 'the index changes before the log has committed',
    kind: 'restarts',
    finds: 'differs from the hub',
    mistake: {
      log: (log, { index }) =>
        withOther(log, {
          commit: (transaction) => {
            writeTooEarly(index, transaction);
            return log.commit(transaction);
          },
        }),
    },
  },
  {
    name: 'the index keeps removed rows',
    kind: 'restarts',
    finds: 'removed twice',
    mistake: {
      index: (index) =>
        withOther(index, {
          apply: (previous, position, changes) =>
            index.apply(
              previous,
              position,
              changes.filter(({ value }) => value !== null),
            ),
        }),
    },
  },
  {
    name: 'an index that was flushed or restored counts as current',
    kind: 'restarts',
    finds: 'published twice',
    mistake: { index: trustedBlindly },
  },
  {
    name: 'an index at another position is read and written nevertheless',
    kind: 'take-overs',
    finds: 'published twice',
    mistake: {
      index: (index) => {
        const here = async (): Promise<string | null> => (await index.position())?.transactionId ?? null;
        return withOther(index, {
          lookup: async (area, keys) => index.lookup(area, keys, await here()),
          apply: async (_previous, position, changes) => index.apply(await here(), position, changes),
        });
      },
    },
  },
  {
    name: 'a take-over overlooks the last transaction',
    kind: 'restarts',
    finds: 'sequence:',
    mistake: {
      log: (log, { topics }) =>
        withOther(log, {
          own: async (signal) => {
            const ownership = await log.own(signal);
            const before = topics.transactions.at(-2)?.progress;
            return before === undefined
              ? ownership
              : { ...ownership, progress: new Map([['users', before]]) };
          },
        }),
    },
  },
  {
    name: 'a fenced process continues to write',
    kind: 'take-overs',
    finds: 'committed after it was superseded',
    mistake: {
      log: (log, { at, topics }, process) =>
        withOther(log, {
          commit: async (transaction) => {
            if (!topics.isSuperseded(process)) return log.commit(transaction);
            return { ...topics.append(process, transaction), committedAtMs: at.time.now(), tookMs: 0 };
          },
        }),
    },
  },
  {
    name: 'a process forgets that it owned the tenant before',
    kind: 'take-overs',
    finds: 'owned again after it was superseded',
    mistake: {
      log: (_log, { at, topics }, process) => forgetful(() => new SimulatedLog(at, topics, process)),
    },
  },
  {
    name: 'a process does not notice that it was fenced',
    kind: 'take-overs',
    finds: 'continued although it was superseded',
    mistake: {
      log: (log, { at, topics }, process) =>
        withOther(log, {
          commit: (transaction) =>
            topics.isSuperseded(process)
              ? at.time.sleep(TOO_LATE_MS).then(() => log.commit(transaction))
              : log.commit(transaction),
        }),
    },
  },
  {
    name: 'a page counts as newer than everything published',
    kind: 'restarts',
    finds: 'older after newer',
    mistake: { hub: (hub) => withPages(hub, (page) => ({ ...page, readVersion: Number.POSITIVE_INFINITY })) },
  },
  {
    name: 'the watermark runs ahead of the hub',
    kind: 'restarts',
    finds: 'the incremental sync missed a change',
    mistake: {
      hub: (hub) =>
        withPages(hub, (page) => ({
          ...page,
          hubTimeMs: page.hubTimeMs === null ? null : page.hubTimeMs + 60,
        })),
    },
  },
  {
    name: 'a row that the hub has counts as gone',
    kind: 'restarts',
    finds: 'removed, but it never left',
    mistake: { hub: (hub) => hiding('k05', hub) },
  },
  {
    name: 'a page is recognised by its cursor alone',
    kind: 'restarts',
    finds: 'left over',
    mistake: { hub: (hub) => recognising(hub, ({ cursor, pages }) => pages.at(cursor)) },
  },
  {
    name: 'a page is recognised by its cursor and its number of rows',
    kind: 'take-overs',
    finds: 'differs from the hub',
    mistake: {
      hub: (hub) =>
        recognising(hub, ({ cursor, text, pages }) => {
          const page = pages.at(cursor);
          return page?.rows === text.toString().split('sourcedId').length - 1 ? page : null;
        }),
    },
  },
];

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

function writeTooEarly(index: SimulatedIndex, { records }: Transaction): void {
  for (const { topic, key, headers } of records) {
    const hash = headers['content-hash'];
    const area = topic === 'rejects' ? 'rejects' : 'rows';
    const indexKey = area === 'rejects' ? (splitCompositeKey(key)?.[1] ?? key) : key;
    if (hash === undefined) index.contents[area].delete(indexKey);
    else index.contents[area].set(indexKey, Buffer.from(hash, 'hex'));
  }
}

/** An index that claims to be at its last position, wherever it is. */
function trustedBlindly(index: CollectionIndex): CollectionIndex {
  let last: IndexPosition | null = null;
  const here = async (): Promise<string | null> => (await index.position())?.transactionId ?? null;
  return withOther(index, {
    position: async () => last ?? index.position(),
    lookup: async (area, keys) => index.lookup(area, keys, await here()),
    apply: async (_previous, position, changes) => {
      await index.apply(await here(), position, changes);
      last = position;
    },
  });
}

function withPages(hub: Hub, change: (page: HubPage) => HubPage): Hub {
  return withOther(hub, {
    async *readPages(options): AsyncGenerator<HubPage, ScanEnd> {
      const pages = hub.readPages(options);
      for (;;) {
        const step = await pages.next();
        if (step.done === true) return step.value;
        yield change(step.value);
      }
    },
  });
}

function hiding(id: string, hub: Hub): Hub {
  const isOther = (row: unknown): boolean => (row as { sourcedId: string }).sourcedId !== id;
  const fewer = (total: number | null): number | null => (total === null ? null : total - 1);
  return withOther(hub, {
    async *readPages(options): AsyncGenerator<HubPage, ScanEnd> {
      const pages = hub.readPages(options);
      // The row is hidden only later; otherwise it would never have been published.
      const isHidden = options.readVersion() > 40;
      for (;;) {
        const step = await pages.next();
        if (step.done === true) {
          const { value: end } = step;
          return isHidden
            ? { ...end, totalAtStart: fewer(end.totalAtStart), totalAtEnd: fewer(end.totalAtEnd) }
            : end;
        }
        const page = step.value;
        yield isHidden ? { ...page, rows: page.rows.filter(isOther), total: fewer(page.total) } : page;
      }
    },
    findRows: async (options) => {
      const rows = await hub.findRows(options);
      return rows.filter(({ row }) => isOther(row));
    },
  });
}

async function* reversed(pages: AsyncGenerator<HubPage, ScanEnd>): AsyncGenerator<HubPage, ScanEnd> {
  for (;;) {
    const step = await pages.next();
    if (step.done === true) return step.value;
    yield { ...step.value, rows: step.value.rows.toReversed() };
  }
}
