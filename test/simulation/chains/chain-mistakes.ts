import { isDerivedCollection, STATE_TOPIC } from '../../../src/model/collections.ts';
import { withOther } from '../parts/with-other.ts';
import { alwaysCurrent, withChanges, withPages } from '../tenants/misused-parts.ts';
import { plantedIn } from '../tenants/tenant-world.ts';
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
    log: (log) => withOther(log, { commit: (transaction) => eventsFirst(log, transaction) }),
  },
  {
    name: 'the index gets no entries of absences',
    finds: 'cannot follow',
    index: (index) => withChanges(index, (changes) => changes.filter(({ area }) => isOfRows(area))),
  },
  {
    name: 'a resume reads no changelog',
    finds: 'cannot follow',
    log: (log) => withoutTopic(log, STATE_TOPIC, (after) => Object.keys(after).length > 0),
  },
  {
    name: 'a rebuild reads no changelog',
    finds: 'cannot follow',
    log: (log) => withoutTopic(log, STATE_TOPIC, (after) => Object.keys(after).length === 0),
  },
  {
    name: 'removals do not reach the changelog',
    finds: 'the rebuilt index is not the index',
    log: (log) =>
      withRecords(log, (record) => (record.topic === STATE_TOPIC && record.body === null ? [] : [record])),
  },
  {
    name: 'a full sync of the versions alone ends the snapshot',
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
    finds: 'cannot follow',
    index: alwaysCurrent,
  },
  {
    name: 'an event leaves out the previous version',
    finds: 'previousVersion is null',
    log: (log) => withEvents(log, (change) => ({ ...change, previousVersion: null })),
  },
  {
    name: 'a vanished absence is published as deleted at the hub',
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
    finds: 'in the topics',
    index: withoutPointers,
  },
  {
    name: 'records that wait are not kept',
    finds: 'a bare id',
    index: (index) => withChanges(index, (changes) => changes.filter(({ area }) => area !== 'bodies')),
    log: (log) => withoutTopic(log, 'absence-versions', () => true),
  },
  {
    name: 'a forgotten absence is published again',
    finds: 'not published in order, each once',
    index: (index) => remembering(index),
  },
  {
    name: 'open absences are never settled',
    finds: 'the index: open:',
    index: (index) => withOther(index, { keys: (area) => (area === 'open' ? noKeys() : index.keys(area)) }),
  },
  {
    name: 'absences keeps an absence that is over',
    finds: 'the events say nothing',
    log: (log) =>
      withRecords(log, (record) => (record.topic === 'absences' && record.body === null ? [] : [record])),
  },
  {
    name: 'absences keeps a version that was replaced',
    finds: "does not show the version's record",
    log: (log) =>
      withRecords(log, (record) =>
        record.headers['ce_type'] === 'rollcall.absences.updated' ? [] : [record],
      ),
  },
  {
    name: 'every unknown ancestor counts as not found',
    finds: 'restored or merged',
    hub: (hub) => withOther(hub, { findRows: async () => [] }),
  },
  {
    name: 'a re-stamp counts as a change',
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
    finds: 'rows, it has',
    log: (log) => countingVersions(log),
  },
  {
    name: 'days of an absence that is over stay with its student',
    finds: 'absent ',
    index: (index) =>
      withChanges(index, (changes) =>
        changes.filter(({ area, value }) => area !== 'absent' || value !== null),
      ),
  },
]);
