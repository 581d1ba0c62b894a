import type { AbsenceChangeValue } from '../../../src/core/absences/event-encoder.ts';
import { decodeEntry, encodeEntry } from '../../../src/core/absences/entry-codec.ts';
import {
  isDerivedCollection,
  type CollectionName,
  type TopicSuffix,
} from '../../../src/model/collections.ts';
import type { Progress } from '../../../src/model/progress.ts';
import type { OutgoingRecord, TenantLog, Transaction } from '../../../src/log/log.ts';
import type { CollectionIndex } from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';
import { changeCodec } from './chain-codecs.ts';
import { withChanges } from '../tenants/misused-parts.ts';

/* Faulty parts of a simulated world: for chain-mistakes.ts. */

export function isOfRows(area: string): boolean {
  return area === 'rows' || area === 'rejects';
}

export async function eventsFirst(log: TenantLog, transaction: Transaction): ReturnType<TenantLog['commit']> {
  const events = transaction.records.filter(({ topic }) => isDerivedCollection(topic));
  const others = transaction.records.filter(({ topic }) => !isDerivedCollection(topic));
  if (events.length === 0 || others.length === 0) return log.commit(transaction);
  const first = await log.commit({ ...transaction, records: events });
  return log.commit({ ...transaction, ...first, records: others });
}

/** An absence whose key was nulled looks as if it was never published. */
export function remembering(index: CollectionIndex): CollectionIndex {
  return withChanges(index, (changes) =>
    changes.flatMap((change) => {
      const { area, key, value } = change;
      if (area !== 'absences' || value === null) return [change];
      const entry = decodeEntry(key, value);
      if (entry.published?.step !== 0) return [change];
      const unpublished = encodeEntry(key, { ...entry, published: null, isOpen: true });
      return [
        { area, key, value: unpublished },
        { area: 'open' as const, key, value: Buffer.alloc(0) },
      ];
    }),
  );
}

/** The index without its pointers from versions to absences. */
export function withoutPointers(index: CollectionIndex): CollectionIndex {
  return withChanges(index, (changes) => changes.filter(({ area }) => area !== 'pointers'));
}

/** All students look the same. */
export function withoutStudents(index: CollectionIndex): CollectionIndex {
  return withChanges(index, (changes) =>
    changes.map((change) => {
      const { area, key, value } = change;
      if (area !== 'absences' || value === null) return change;
      return { area, key, value: encodeEntry(key, { ...decodeEntry(key, value), student: null }) };
    }),
  );
}

/** A log that skips a topic when it is read from a point that `isMissed`. */
export function withoutTopic(
  log: TenantLog,
  skipped: TopicSuffix,
  isMissed: (after: Readonly<Record<string, number>>) => boolean,
): TenantLog {
  return withOther(log, {
    read: (options) =>
      log.read({
        ...options,
        from: options.from.filter(({ topic, after }) => topic !== skipped || !isMissed(after)),
      }),
  });
}

export function withProgress(
  log: TenantLog,
  change: (name: CollectionName, progress: Progress | null, main: Progress) => Progress | null,
  changeMain: (main: Progress) => Progress = (main) => main,
): TenantLog {
  return withOther(log, {
    own: async (signal) => {
      const ownership = await log.own(signal);
      const main = ownership.progress.get('absence-versions');
      if (main === undefined) return ownership;
      const progress = new Map(ownership.progress).set('absence-versions', changeMain(main));
      for (const name of ['absences', 'absence-changes'] as const) {
        const changed = change(name, progress.get(name) ?? null, main);
        if (changed !== null) progress.set(name, { ...changed, collection: name });
      }
      return { ...ownership, progress };
    },
  });
}

export function withRecords(
  log: TenantLog,
  change: (record: OutgoingRecord) => readonly OutgoingRecord[],
): TenantLog {
  return withOther(log, {
    commit: (transaction) =>
      log.commit({ ...transaction, records: transaction.records.flatMap((record) => change(record)) }),
  });
}

export function withEvents(
  log: TenantLog,
  change: (value: AbsenceChangeValue) => AbsenceChangeValue,
): TenantLog {
  return withRecords(log, (record) =>
    record.topic === 'absence-changes' && record.body !== null
      ? [{ ...record, body: changeCodec.toBuffer(change(changeCodec.fromBuffer(record.body))) }]
      : [record],
  );
}

export async function* noKeys(): AsyncGenerator<readonly string[]> {
  yield [];
}

/** A log that counts the versions that the sync has seen as rows of the derived topics. */
export function countingVersions(log: TenantLog): TenantLog {
  return withOther(log, {
    commit: (transaction) => {
      const { progress, derived = [] } = transaction;
      const miscounted = derived.map((each): Progress => {
        const { lastCompleteFull: full } = each;
        const lastCompleteFull = full === null ? null : { ...full, rows: progress.rowsSeen };
        return Object.assign({}, each, { lastCompleteFull });
      });
      return log.commit({ ...transaction, derived: miscounted });
    },
  });
}
