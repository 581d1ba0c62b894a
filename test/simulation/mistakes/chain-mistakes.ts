import { decodeEntry, encodeEntry } from '../../../src/core/absences/entry-codec.ts';
import type { AbsenceEntry } from '../../../src/core/absences/absence-entry.ts';
import { isDerivedCollection, STATE_TOPIC } from '../../../src/model/collections.ts';
import type { Progress } from '../../../src/model/progress.ts';
import type { Ownership } from '../../../src/log/log.ts';
import type { IndexChange } from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';
import { plantedIn } from './misuse.ts';

/* Mistakes with absences. */
export const CHAIN_MISTAKES = plantedIn('sound-chains-restarts', [
  {
    name: 'values read back from the log are not mapped again under the mapping in force',
    finds: 'the mapping in force shows no',
    log: (log, { absences }) => {
      const mapping = absences?.mappings.at(-1)?.reader.mapping ?? null;
      return withOther(log, {
        read: (options) =>
          log.read({
            ...options,
            onBatch: (records) => options.onBatch(records.map((record) => ({ ...record, mapping }))),
          }),
      });
    },
  },
  {
    name: 'events are committed before their versions',
    finds: 'published before the version itself',
    log: (log) =>
      withOther(log, {
        commit: async (transaction) => {
          const { records } = transaction;
          const events = records.filter(({ topic }) => isDerivedCollection(topic));
          const others = records.filter(({ topic }) => !isDerivedCollection(topic));
          if (events.length === 0 || others.length === 0) return log.commit(transaction);
          const first = await log.commit({ ...transaction, records: events });
          return log.commit({ ...transaction, ...first, records: others });
        },
      }),
  },
  {
    name: 'the index gets no entries of absences',
    finds: 'cannot follow',
    changes: (changes) => changes.filter(({ area }) => area === 'rows' || area === 'rejects'),
  },
  {
    name: 'a resume reads no changelog',
    finds: 'cannot follow',
    skips: (topic, after) => topic === STATE_TOPIC && Object.keys(after).length > 0,
  },
  {
    name: 'a rebuild reads no changelog',
    finds: 'cannot follow',
    skips: (topic, after) => topic === STATE_TOPIC && Object.keys(after).length === 0,
  },
  {
    name: 'removals do not reach the changelog',
    finds: 'the rebuilt index is not the index',
    record: (record) => (record.topic === STATE_TOPIC && record.body === null ? [] : [record]),
  },
  {
    name: 'a full sync of the versions alone ends the snapshot',
    finds: 'snapshot false',
    own: (ownership) =>
      withDerived(ownership, (progress, main) => ({
        ...(progress ?? { ...main, offsets: {} }),
        lastCompleteFull: main.lastCompleteFull,
      })),
  },
  {
    name: 'a restart begins the snapshot again',
    finds: 'snapshot true',
    own: (ownership) =>
      withDerived(
        ownership,
        (progress) => progress && { ...progress, lastCompleteFull: null, firstLoad: undefined },
      ),
  },
  {
    name: 'an event leaves out the previous version',
    finds: 'previousVersion is null',
    event: (change) => ({ ...change, previousVersion: null }),
  },
  {
    name: 'a vanished absence is published as deleted at the hub',
    finds: 'deleted at the hub without a deletedTime',
    event: (change) => (change.cause === 'VANISHED' ? { ...change, cause: 'HUB' } : change),
  },
  {
    name: 'a merged absence is published as deleted at the hub',
    kind: 'contradictory-chains-restarts',
    finds: 'mergedInto does not fit the cause',
    event: (change) => (change.cause === 'MERGED' ? { ...change, cause: 'HUB' } : change),
  },
  {
    name: "a record stands under another student's absence id",
    kind: 'contradictory-chains-restarts',
    finds: 'records of two students under one absence id',
    // All students look the same.
    changes: (changes) =>
      changes.flatMap((each) => withEntry(each, (entry) => ({ ...entry, student: null }))),
  },
  {
    name: 'a version does not point to its absence',
    finds: 'in the topics',
    changes: (changes) => changes.filter(({ area }) => area !== 'pointers'),
  },
  {
    name: 'records that wait are not kept',
    finds: 'a bare id',
    changes: (changes) => changes.filter(({ area }) => area !== 'bodies'),
    skips: (topic) => topic === 'absence-versions',
  },
  {
    name: 'a forgotten absence is published again',
    finds: 'not published in order, each once',
    // An absence whose key was nulled looks as if it was never published.
    changes: (changes) =>
      changes.flatMap((each) => [
        ...withEntry(each, (entry) =>
          entry.published?.step === 0 ? { ...entry, published: null, isOpen: true } : entry,
        ),
        ...(isForgotten(each) ? [{ area: 'open', key: each.key, value: Buffer.alloc(0) } as const] : []),
      ]),
  },
  {
    name: 'open absences are never settled',
    finds: 'the index: open',
    index: (index) => withOther(index, { keys: (area) => (area === 'open' ? noKeys() : index.keys(area)) }),
  },
  {
    name: 'absences keeps an absence that is over',
    finds: 'the events say nothing',
    record: (record) => (record.topic === 'absences' && record.body === null ? [] : [record]),
  },
  {
    name: 'absences keeps a version that was replaced',
    finds: "does not show the version's record",
    record: (record) => (record.sharedHeaders?.['ce_type'] === 'rollcall.absences.updated' ? [] : [record]),
  },
  {
    name: 'every unknown ancestor counts as not found',
    finds: 'restored or merged',
    hub: (hub) => withOther(hub, { findRows: async () => [] }),
  },
  {
    name: 'a re-stamp counts as a change',
    finds: 'nothing had changed',
    page: (page) => ({
      ...page,
      rows: page.rows.map((row) => {
        const fields = row as Readonly<Record<string, unknown>>;
        return { ...fields, seenAt: fields['dateLastModified'] };
      }),
    }),
  },
  {
    name: 'the progress of derived topics counts the versions',
    finds: ' rows, counted',
    commit: ({ derived = [], ...transaction }) => ({
      ...transaction,
      derived: derived.map((each) => {
        const { lastCompleteFull: full } = each;
        const rows = transaction.progress.rowsSeen;
        return { ...each, lastCompleteFull: full && { ...full, rows } };
      }),
    }),
  },
  {
    name: 'days of an absence that is over stay with its student',
    finds: 'absent ',
    changes: (changes) => changes.filter(({ area, value }) => area !== 'absent' || value !== null),
  },
]);

function withEntry(
  change: IndexChange,
  other: (entry: AbsenceEntry) => AbsenceEntry,
): readonly IndexChange[] {
  const { area, key, value } = change;
  if (area !== 'absences' || value === null) return [change];
  return [{ area, key, value: encodeEntry(key, other(decodeEntry(key, value))) }];
}

function isForgotten({ area, key, value }: IndexChange): boolean {
  return area === 'absences' && value !== null && decodeEntry(key, value).published?.step === 0;
}

/** A take-over that reads other progress of the derived topics. */
function withDerived(
  ownership: Ownership,
  change: (progress: Progress | null, main: Progress) => Progress | null,
): Ownership {
  const main = ownership.progress.get('absence-versions');
  if (main === undefined) return ownership;
  const progress = new Map(ownership.progress);
  for (const collection of ['absences', 'absence-changes'] as const) {
    const changed = change(progress.get(collection) ?? null, main);
    if (changed !== null) progress.set(collection, { ...changed, collection });
  }
  return { ...ownership, progress };
}

async function* noKeys(): AsyncGenerator<readonly string[]> {
  yield [];
}
