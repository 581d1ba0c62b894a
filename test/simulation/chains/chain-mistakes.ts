import { isDerivedCollection, STATE_TOPIC } from '../../../src/model/collections.ts';
import { withOther } from '../parts/with-other.ts';
import { alwaysCurrent, withChanges, withPages } from '../tenants/misused-parts.ts';
import type { SeededTenantMistake } from '../tenants/seeded-mistake.ts';
import {
  countingVersions,
  eventsFirst,
  isOfRows,
  noKeys,
  remembering,
  withEvents,
  withProgress,
  withRecords,
  withoutPointers,
  withoutStudents,
  withoutTopic,
} from './misused-parts.ts';

export const CHAIN_MISTAKES: readonly SeededTenantMistake[] = [
  {
    name: 'values read back from the log are not mapped again under the mapping in force',
    kind: 'sound-chains-restarts',
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
    kind: 'sound-chains-restarts',
    finds: 'published before the version itself',
    log: (log) => withOther(log, { commit: (transaction) => eventsFirst(log, transaction) }),
  },
  {
    name: 'the index gets no entries of absences',
    kind: 'sound-chains-restarts',
    finds: 'cannot follow',
    index: (index) => withChanges(index, (changes) => changes.filter(({ area }) => isOfRows(area))),
  },
  {
    name: 'a resume reads no changelog',
    kind: 'sound-chains-restarts',
    finds: 'cannot follow',
    log: (log) => withoutTopic(log, STATE_TOPIC, (after) => Object.keys(after).length > 0),
  },
  {
    name: 'a rebuild reads no changelog',
    kind: 'sound-chains-restarts',
    finds: 'cannot follow',
    log: (log) => withoutTopic(log, STATE_TOPIC, (after) => Object.keys(after).length === 0),
  },
  {
    name: 'removals do not reach the changelog',
    kind: 'sound-chains-restarts',
    finds: 'the rebuilt index is not the index',
    log: (log) =>
      withRecords(log, (record) => (record.topic === STATE_TOPIC && record.body === null ? [] : [record])),
  },
  {
    name: 'a full sync of the versions alone ends the snapshot',
    kind: 'sound-chains-restarts',
    finds: 'snapshot false',
    log: (log) =>
      withProgress(log, (name, progress, main) =>
        isDerivedCollection(name)
          ? { ...(progress ?? { ...main, offsets: {} }), lastCompleteFull: main.lastCompleteFull }
          : progress,
      ),
  },
  {
    name: 'a restart begins the snapshot again',
    kind: 'sound-chains-restarts',
    finds: 'snapshot true',
    log: (log) =>
      withProgress(log, (name, progress) =>
        isDerivedCollection(name) && progress !== null
          ? { ...progress, lastCompleteFull: null, firstLoad: undefined }
          : progress,
      ),
  },
  {
    name: 'the index counts as current after a commit whose answer was lost',
    kind: 'sound-chains-restarts',
    finds: 'cannot follow',
    index: alwaysCurrent,
  },
  {
    name: 'an event leaves out the previous version',
    kind: 'sound-chains-restarts',
    finds: 'previousVersion is null',
    log: (log) => withEvents(log, (change) => ({ ...change, previousVersion: null })),
  },
  {
    name: 'a vanished absence is published as deleted at the hub',
    kind: 'sound-chains-restarts',
    finds: 'deleted at the hub without a deletedTime',
    log: (log) =>
      withEvents(log, (change) =>
        change.cause === 'VANISHED' ? { ...change, cause: 'HUB' as const } : change,
      ),
  },
  {
    name: 'a merged absence is published as deleted at the hub',
    kind: 'contradictory-chains-restarts',
    finds: 'mergedInto does not fit the cause',
    log: (log) =>
      withEvents(log, (change) =>
        change.cause === 'MERGED' ? { ...change, cause: 'HUB' as const } : change,
      ),
  },
  {
    name: "a record stands under another student's absence id",
    kind: 'contradictory-chains-restarts',
    finds: 'records of two students under one absence id',
    index: withoutStudents,
  },
  {
    name: 'a version does not point to its absence',
    kind: 'sound-chains-restarts',
    finds: 'in the topics',
    index: withoutPointers,
  },
  {
    name: 'records that wait are not kept',
    kind: 'sound-chains-restarts',
    finds: 'a bare id',
    index: (index) => withChanges(index, (changes) => changes.filter(({ area }) => area !== 'bodies')),
    log: (log) => withoutTopic(log, 'absence-versions', () => true),
  },
  {
    name: 'a forgotten absence is published again',
    kind: 'sound-chains-restarts',
    finds: 'not published in order, each once',
    index: (index) => remembering(index),
  },
  {
    name: 'open absences are never settled',
    kind: 'sound-chains-restarts',
    finds: 'the index: open:',
    index: (index) => withOther(index, { keys: (area) => (area === 'open' ? noKeys() : index.keys(area)) }),
  },
  {
    name: 'absences keeps an absence that is over',
    kind: 'sound-chains-restarts',
    finds: 'the events say nothing',
    log: (log) =>
      withRecords(log, (record) => (record.topic === 'absences' && record.body === null ? [] : [record])),
  },
  {
    name: 'absences keeps a version that was replaced',
    kind: 'sound-chains-restarts',
    finds: "does not show the version's record",
    log: (log) =>
      withRecords(log, (record) =>
        record.headers['ce_type'] === 'rollcall.absences.updated' ? [] : [record],
      ),
  },
  {
    name: 'every unknown ancestor counts as not found',
    kind: 'sound-chains-restarts',
    finds: 'restored or merged',
    hub: (hub) => withOther(hub, { findRows: async () => [] }),
  },
  {
    name: 'a re-stamp counts as a change',
    kind: 'sound-chains-restarts',
    finds: 'nothing had changed',
    hub: (hub) =>
      withPages(hub, (page) => ({
        ...page,
        rows: page.rows.map((row) => ({
          ...(row as object),
          seenAt: (row as Readonly<Record<string, unknown>>)['dateLastModified'],
        })),
      })),
  },
  {
    name: 'the progress of derived topics counts the versions',
    kind: 'sound-chains-restarts',
    finds: 'rows, it has',
    log: (log) => countingVersions(log),
  },
  {
    name: 'days of an absence that is over stay with its student',
    kind: 'sound-chains-restarts',
    finds: 'absent ',
    index: (index) =>
      withChanges(index, (changes) =>
        changes.filter(({ area, value }) => area !== 'absent' || value !== null),
      ),
  },
];
