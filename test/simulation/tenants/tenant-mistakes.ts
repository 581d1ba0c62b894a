import { RollcallError } from '../../../src/errors.ts';
import type { Hub, HubPage, ScanEnd } from '../../../src/hub/hub.ts';
import type { RowReader } from '../../../src/core/decoded-row.ts';
import type { TenantParts } from '../../../src/pipeline/tenant-parts.ts';
import { withOther } from '../parts/with-other.ts';
import { AFTERSCHOOL_MISTAKES } from './afterschool-mistakes.ts';
import type { SeededTenantMistake } from './seeded-mistake.ts';
import type { TenantRow } from './tenant-row.ts';
import { TWIN_MISTAKES } from './twin-mistakes.ts';
import { withDeletions, withIndexes } from './with-state.ts';

export const TENANT_MISTAKES: readonly SeededTenantMistake[] = [
  ...TWIN_MISTAKES,
  ...AFTERSCHOOL_MISTAKES,
  {
    name: 'the watermark moves before the sync is complete',
    troubles: 'restarts',
    finds: 'the incremental sync missed a change',
    mistake: {
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
  },
  {
    name: 'a producer is used again after a send that failed',
    troubles: 'restarts',
    finds: 'published twice',
    mistake: { trouble: 1, reusesProducer: true },
  },
  {
    name: 'a scan that was cut short counts as complete, and missing rows are not rechecked',
    troubles: 'restarts',
    finds: 'removed, but it never left',
    mistake: {
      manner: { liesOften: 1, lies: ['cut short'] },
      hub: (hub) => alwaysWhole(askingInVain(hub)),
    },
  },
  {
    name: 'missing rows are not rechecked',
    troubles: 'restarts',
    finds: 'removed, but it never left',
    mistake: {
      manner: { liesOften: 1, lies: ['cut short'], hasTotals: false },
      hub: (hub) => askingInVain(hub),
    },
  },
  {
    name: 'the guard is switched off',
    troubles: 'restarts',
    finds: 'removed beyond the limits without an approval',
    mistake: { parts: (parts) => ({ ...parts, guard: { rows: 1_000_000, ratio: 1, perDay: false } }) },
  },
  {
    name: 'the guard forgets the earlier removals of the day',
    troubles: 'restarts',
    finds: 'removed beyond the limits without an approval',
    mistake: { state: (state) => withDeletions(state, { removedOn: async () => new Map() }) },
  },
  {
    name: 'withheld deletions are forgotten at a restart',
    troubles: 'restarts',
    finds: 'while it was withheld',
    mistake: {
      state: (state) =>
        withDeletions(state, {
          withheld: async () => new Map(),
          tripped: async () => new Set(),
          note: async () => null,
        }),
      log: (log) =>
        withOther(log, {
          own: async (signal) => {
            const ownership = await log.own(signal);
            const progress = [...ownership.progress].map(([name, each]) => {
              const full = each.lastCompleteFull;
              return [name, { ...each, lastCompleteFull: full && { ...full, rowsWithheld: 0 } }] as const;
            });
            return { ...ownership, progress: new Map(progress) };
          },
        }),
    },
  },
  {
    name: 'withheld deletions of a collection do not withhold those of others',
    troubles: 'restarts',
    finds: 'was withheld',
    mistake: {
      parts: (parts) => ({ ...parts, state: withDeletions(parts.state, { tripped: async () => new Set() }) }),
    },
  },
  {
    name: 'an approval releases more than was listed',
    troubles: 'restarts',
    finds: 'removed beyond the limits without an approval',
    mistake: {
      approves: (_listed, { broker, collections }) =>
        new Set(collections.flatMap((collection) => [...broker.viewOf(collection).keys()])),
    },
  },
  {
    name: "another tenant's rows count as known",
    troubles: 'restarts',
    finds: "another tenant's row",
    mistake: {
      state: (state) =>
        withIndexes(state, (index) =>
          withOther(index, {
            lookup: async (area, keys, expected) => {
              const values = await index.lookup(area, keys, expected);
              return area === 'rows' ? values.map((value) => value ?? Buffer.alloc(16)) : values;
            },
          }),
        ),
    },
  },
  {
    name: 'a single answer empties a class',
    troubles: 'restarts',
    finds: 'emptied after a single answer',
    mistake: {
      // An earlier sync seems to have had an answer without content for each class.
      state: (state, { broker }) =>
        withDeletions(state, {
          missing: async (collection) =>
            collection === 'class-students'
              ? new Map(
                  [...broker.viewOf(collection).keys()].map((key) => [
                    key,
                    { passId: 'some-pass', becameEmpty: true },
                  ]),
                )
              : state.deletions.missing(collection),
        }),
    },
  },
  {
    name: 'an index older than the tombstones in the log is resumed',
    troubles: 'restarts',
    finds: 'removed twice',
    mistake: {
      state: (state, { at }) =>
        withIndexes(state, (index) =>
          withOther(index, {
            position: async () => {
              const position = await index.position();
              return position && { ...position, committedAtMs: at.time.now() };
            },
          }),
        ),
    },
  },
  {
    name: 'a lost topic counts as up to date',
    troubles: 'lost-topics',
    finds: 'differs from the hub',
    mistake: {
      log: (log) =>
        withOther(log, {
          ranges: async (topics) =>
            topics.map((topic) => ({
              topic,
              partitions: Array.from({ length: 3 }, () => ({ low: 0, high: Number.MAX_SAFE_INTEGER })),
            })),
          offsetsSince: async () => ({}),
        }),
    },
  },
  {
    name: 'an index that fell back is read and written nevertheless',
    troubles: 'restarts',
    finds: 'published twice',
    mistake: {
      state: (state) =>
        withIndexes(state, (index) => {
          const here = async (): Promise<string | null> => (await index.position())?.transactionId ?? null;
          return withOther(index, {
            lookup: async (area, keys) => index.lookup(area, keys, await here()),
            apply: async (_previous, position, changes) => index.apply(await here(), position, changes),
          });
        }),
    },
  },
  {
    name: 'an error quotes an id',
    troubles: 'restarts',
    finds: 'an event names a row',
    mistake: {
      hub: (hub) =>
        withOther(hub, {
          findExisting: async ({ ids }) => {
            throw new RollcallError('HUB_TIMEOUT', `no answer for ${ids[0]}`, { remedy: 'None.' });
          },
        }),
    },
  },
  {
    name: 'a failed attempt is repeated at once',
    troubles: 'restarts',
    finds: 'tried again in',
    mistake: { parts: (parts) => ({ ...parts, runtime: { ...parts.runtime, random: () => -1 } }) },
  },
  {
    name: 'a re-stamp counts as a change of a row',
    troubles: 'restarts',
    finds: 'nothing had changed',
    mistake: { parts: (parts) => withReaders(parts, stampedReader) },
  },
];

/** A hub that finds only the last of several requested rows, which is the control row that shows whether it answers at all. */
function askingInVain(hub: Hub): Hub {
  return withOther(hub, {
    findExisting: async (options) => hub.findExisting({ ...options, ids: options.ids.slice(-1) }),
  });
}

function alwaysWhole(hub: Hub): Hub {
  return withOther(hub, {
    async *readPages(options): AsyncGenerator<HubPage, ScanEnd> {
      const pages = hub.readPages(options);
      for (;;) {
        const step = await pages.next();
        if (step.done === true) {
          const { rows } = step.value;
          return { ...step.value, paging: 'keyset', totalAtStart: rows, totalAtEnd: rows };
        }
        yield { ...step.value, total: null };
      }
    },
  });
}

function withReaders(parts: TenantParts, misuse: (reader: RowReader) => RowReader): TenantParts {
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
