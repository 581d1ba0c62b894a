import { collectionOf } from '../../core/schedules/which-students.ts';
import { sourceOf, type CollectionName } from '../../model/collections.ts';
import type { CollectionWriter } from '../../table/collection-writer.ts';
import { parentState, type Offer } from '../../timetable/offer.ts';
import type { SettleParts } from '../../sync/settle-missing.ts';
import type { SyncRunner } from '../../timetable/sync-runner.ts';
import { ScheduleRunner } from './schedule-runner.ts';
import type { TenantCollection, TenantParts } from '../tenant-parts.ts';
import { wantedStudents } from './wanted-students.ts';

/** Creates the runner of `schedules`. A tenant has at most one. */
export function createScheduleRunner(options: {
  parts: TenantParts;
  collection: TenantCollection;
  writer: CollectionWriter;
  writers: ReadonlyMap<CollectionName, CollectionWriter>;
  runners: ReadonlyMap<CollectionName, SyncRunner>;
  offer: Offer;
  settling: SettleParts;
  signal: AbortSignal;
}): ScheduleRunner {
  const { parts, collection, writer, writers, runners, offer, settling, signal } = options;
  const { schedules: settings, runtime } = parts;
  if (settings === undefined) throw new Error('there are no settings of schedules');
  const { fullPull, deltaEveryMs } = collection;
  const { students: which, api, absent, reader, daysBack, daysAhead } = settings;
  const settingWith = collectionOf(which);
  const parent = settingWith === null ? null : sourceOf(settingWith);
  return new ScheduleRunner({
    api,
    reader,
    writer,
    settling,
    absent,
    wanted: (window) => {
      const allStudents = () => parts.state.collection('students').keys('rows');
      const read = (): Promise<Set<string>> => wantedStudents({ which, absent, allStudents }, window);
      return (parent === null ? undefined : writers.get(parent)?.undisturbed(read)) ?? read();
    },
    onlyWanted: which !== 'absent',
    parent,
    parents: () => {
      if (parent === null) return 'ready';
      return parentState(writers.get(parent)?.committed.completeSinceMs != null, runners.get(parent));
    },
    offer,
    size: { daysBack, daysAhead },
    fullPull,
    deltaEveryMs,
    ...runtime,
    emit: parts.emit,
    signal,
  });
}
