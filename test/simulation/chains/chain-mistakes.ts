import { isDerivedCollection, STATE_TOPIC } from '../../../src/model/collections.ts';
import { withOther } from '../parts/with-other.ts';
import type { ChainHistoryKind, ChainMistake } from './chain-history.ts';
import {
  alwaysCurrent,
  countingVersions,
  eventsFirst,
  isOfRows,
  noKeys,
  remembering,
  withChanges,
  withEvents,
  withProgress,
  withRecords,
  withRows,
  withoutPointers,
  withoutStudents,
  withoutTopic,
} from './misused-parts.ts';

/** A mistake that the code under test could make, the kind of history to plant it in, and the problem that must be found. */
export interface SeededChainMistake {
  readonly name: string;
  readonly kind: ChainHistoryKind;
  readonly finds: string;
  readonly mistake: ChainMistake;
}

const SOUND: ChainHistoryKind = { chains: 'sound', troubles: 'restarts' };
const CONTRADICTORY: ChainHistoryKind = { chains: 'contradictory', troubles: 'restarts' };

export const CHAIN_MISTAKES: readonly SeededChainMistake[] = [
  {
    name: 'values read back from the log are not mapped again under the mapping in force',
    kind: SOUND,
    finds: 'the mapping in force shows no',
    mistake: {
      log: (log, { mappings }) => {
        const mapping = mappings.at(-1)?.reader.mapping ?? null;
        return withOther(log, {
          read: (options) =>
            log.read({
              ...options,
              onBatch: (records) => options.onBatch(records.map((record) => ({ ...record, mapping }))),
            }),
        });
      },
    },
  },
  {
    name: 'events are committed before their versions',
    kind: SOUND,
    finds: 'published before the version itself',
    mistake: { log: (log) => withOther(log, { commit: (transaction) => eventsFirst(log, transaction) }) },
  },
  {
    name: 'the index gets no entries of absences',
    kind: SOUND,
    finds: 'cannot follow',
    mistake: {
      index: (index) => withChanges(index, (changes) => changes.filter(({ area }) => isOfRows(area))),
    },
  },
  {
    name: 'a resume reads no changelog',
    kind: SOUND,
    finds: 'cannot follow',
    mistake: {
      log: (log) => withoutTopic(log, STATE_TOPIC, (after) => Object.keys(after).length > 0),
    },
  },
  {
    name: 'a rebuild reads no changelog',
    kind: SOUND,
    finds: 'cannot follow',
    mistake: {
      log: (log) => withoutTopic(log, STATE_TOPIC, (after) => Object.keys(after).length === 0),
    },
  },
  {
    name: 'removals do not reach the changelog',
    kind: SOUND,
    finds: 'the rebuilt index is not the index',
    mistake: {
      log: (log) =>
        withRecords(log, (record) => (record.topic === STATE_TOPIC && record.body === null ? [] : [record])),
    },
  },
  {
    name: 'a full sync of the versions alone ends the snapshot',
    kind: SOUND,
    finds: 'snapshot false',
    mistake: {
      log: (log) =>
        withProgress(log, (name, progress, main) =>
          isDerivedCollection(name)
            ? { ...(progress ?? { ...main, offsets: {} }), lastCompleteFull: main.lastCompleteFull }
            : progress,
        ),
    },
  },
  {
    name: 'a restart begins the snapshot again',
    kind: SOUND,
    finds: 'snapshot true',
    mistake: {
      log: (log) =>
        withProgress(log, (name, progress) =>
          isDerivedCollection(name) && progress !== null
            ? { ...progress, lastCompleteFull: null, firstLoad: undefined }
            : progress,
        ),
    },
  },
  {
    name: 'the index counts as current after a commit whose answer was lost',
    kind: SOUND,
    finds: 'cannot follow',
    mistake: { index: alwaysCurrent },
  },
  {
    name: 'an event leaves out the previous version',
    kind: SOUND,
    finds: 'previousVersion is null',
    mistake: { log: (log) => withEvents(log, (change) => ({ ...change, previousVersion: null })) },
  },
  {
    name: 'a vanished absence is published as deleted at the hub',
    kind: SOUND,
    finds: 'deleted at the hub without a deletedTime',
    mistake: {
      log: (log) =>
        withEvents(log, (change) =>
          change.cause === 'VANISHED' ? { ...change, cause: 'HUB' as const } : change,
        ),
    },
  },
  {
    name: 'a merged absence is published as deleted at the hub',
    kind: CONTRADICTORY,
    finds: 'mergedInto does not fit the cause',
    mistake: {
      log: (log) =>
        withEvents(log, (change) =>
          change.cause === 'MERGED' ? { ...change, cause: 'HUB' as const } : change,
        ),
    },
  },
  {
    name: "a record stands under another student's absence id",
    kind: CONTRADICTORY,
    finds: 'records of two students under one absence id',
    mistake: { index: withoutStudents },
  },
  {
    name: 'a version does not point to its absence',
    kind: SOUND,
    finds: 'in the topics',
    mistake: { index: withoutPointers },
  },
  {
    name: 'records that wait are not kept',
    kind: SOUND,
    finds: 'a bare id',
    mistake: {
      index: (index) => withChanges(index, (changes) => changes.filter(({ area }) => area !== 'bodies')),
      log: (log) => withoutTopic(log, 'absence-versions', () => true),
    },
  },
  {
    name: 'a forgotten absence is published again',
    kind: SOUND,
    finds: 'not published in order, each once',
    mistake: { index: (index) => remembering(index) },
  },
  {
    name: 'open absences are never settled',
    kind: SOUND,
    finds: 'the index: open:',
    mistake: {
      index: (index) => withOther(index, { keys: (area) => (area === 'open' ? noKeys() : index.keys(area)) }),
    },
  },
  {
    name: 'absences keeps an absence that is over',
    kind: SOUND,
    finds: 'the events say nothing',
    mistake: {
      log: (log) =>
        withRecords(log, (record) => (record.topic === 'absences' && record.body === null ? [] : [record])),
    },
  },
  {
    name: 'absences keeps a version that was replaced',
    kind: SOUND,
    finds: "does not show the version's record",
    mistake: {
      log: (log) =>
        withRecords(log, (record) =>
          record.headers['ce_type'] === 'rollcall.absences.updated' ? [] : [record],
        ),
    },
  },
  {
    name: 'every unknown ancestor counts as not found',
    kind: SOUND,
    finds: 'restored or merged',
    mistake: {
      hub: (hub) => withOther(hub, { findRows: async () => [] }),
    },
  },
  {
    name: 'a re-stamp counts as a change',
    kind: SOUND,
    finds: 'nothing had changed',
    mistake: { hub: (hub) => withRows(hub, (row) => ({ ...row, seenAt: row['dateLastModified'] })) },
  },
  {
    name: 'the progress of derived topics counts the versions',
    kind: SOUND,
    finds: 'rows, it has',
    mistake: { log: (log) => countingVersions(log) },
  },
  {
    name: 'days of an absence that is over stay with its student',
    kind: SOUND,
    finds: 'absent ',
    mistake: {
      index: (index) =>
        withChanges(index, (changes) =>
          changes.filter(({ area, value }) => area !== 'absent' || value !== null),
        ),
    },
  },
];
