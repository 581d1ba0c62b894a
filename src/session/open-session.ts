import { absentStudents } from '../absences/absence-index.ts';
import { AbsenceView } from '../absences/absence-view.ts';
import { zoneClock } from '../core/zone-clock.ts';
import { PageMemory } from '../core/pages/page-memory.ts';
import { lessonSource } from '../lessons/lesson-source.ts';
import { collectionNamed, type CollectionName } from '../model/collections.ts';
import { recoverCollections } from '../recovery/recover-collections.ts';
import { classStudentsSource, nestedSource, plainSource, type Source } from '../source/source.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import { HubFindings } from '../sync/hub-findings.ts';
import type { MirroredCollection } from '../sync/sync.ts';
import type { WriterStart } from '../table/collection-progress.ts';
import { CollectionWriter } from '../table/collection-writer.ts';
import { Deletions } from '../table/deletions.ts';
import type { Tenant, TenantCollection } from '../table/tenant.ts';
import { CollectionRunner } from '../timetable/collection-runner.ts';
import { requireRecords } from './watch-topics.ts';

/** A tenant that this process owns, and whose index is equal to the log. A session ends with the first error of the log or the index. */
export interface TenantSession {
  readonly runners: ReadonlyMap<CollectionName, CollectionRunner>;
  readonly writers: ReadonlyMap<CollectionName, CollectionWriter>;
}

/** Takes a tenant over and recovers it: topics, schemas, fence, index (design, "Kafka is the truth"). */
export async function openSession(tenant: Tenant, signal: AbortSignal): Promise<TenantSession> {
  const { emit, collections, log } = tenant;
  await tenant.prepare();
  const ownership = await log.own(signal);
  emit({ type: 'owned', owner: tenant.owner });
  const names = collections.map(({ name }) => name);
  const starts = await recoverCollections(tenant, names, { ownership, signal });
  const all = new Map<CollectionName, MirroredCollection>();
  for (const settings of collections) {
    const start = starts.get(settings.name);
    if (start === undefined) throw new Error(`${settings.name} was not caught up`);
    all.set(settings.name, await openCollection({ tenant, signal, all }, settings, start));
  }
  const writers = new Map([...all].map(([name, { writer }]) => [name, writer]));
  for (const writer of writers.values()) await writer.importChangelog();
  return { writers, runners: new Map([...all].map(([name, own]) => [name, new CollectionRunner(own)])) };
}

interface Opening {
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
  /** The collections that are open so far. */
  readonly all: ReadonlyMap<CollectionName, MirroredCollection>;
}

async function openCollection(
  opening: Opening,
  settings: TenantCollection,
  start: WriterStart,
): Promise<MirroredCollection> {
  const { tenant, signal, all } = opening;
  const { name } = settings;
  const { absences, runtime, state } = tenant;
  const source = sourceOf(opening, settings);
  const pages =
    source.hasPlainKeys === true ? new PageMemory(Math.trunc(runtime.random() * 2 ** 32)) : undefined;
  const deletions = await Deletions.open(state.deletions, name, start.progress);
  const view =
    name === 'absence-versions' && absences !== undefined
      ? new AbsenceView({ ...tenant, absences }, source, signal)
      : undefined;
  const writer = new CollectionWriter(tenant, settings, { pages, deletions, view }, start);
  const findings = new HubFindings();
  const own = { tenant, settings, writer, source, deletions, pages, findings, all };
  return { ...own, requireRecords: () => requireRecords(tenant, [writer], signal) };
}

function sourceOf(
  { tenant, all }: Opening,
  { name, reader, unmet, parentIds = [] }: TenantCollection,
): Source {
  const { hub, schedules, runtime, state } = tenant;
  const collection = collectionNamed(name);
  /** Reads the index of another collection while nothing writes to it. */
  const readFrom = <T>(other: CollectionName, read: (index: CollectionIndex) => Promise<T>): Promise<T> => {
    const index = state.collection(other);
    return all.get(other)?.writer.read(() => read(index)) ?? read(index);
  };
  switch (name) {
    case 'class-students': {
      const classIds = (): Promise<string[]> => readFrom('classes', allKeys);
      return classStudentsSource({ hub, collection, classes: 'classes', classIds });
    }
    case 'afterschool-users':
      return nestedSource({ hub, collection, reader, parentIds, unmet });
    case 'schedules': {
      if (schedules === undefined) throw new Error('there are no settings of schedules');
      const { dateAt } = zoneClock(schedules.timeZone);
      return lessonSource({
        ...schedules,
        now: runtime.now,
        absentIn: (window) => readFrom('absence-versions', (index) => absentStudents(index, window, dateAt)),
        allStudents: () => readFrom('students', allKeys),
      });
    }
    default:
      return plainSource(hub, collection, reader);
  }
}

async function allKeys(index: Pick<CollectionIndex, 'keys'>): Promise<string[]> {
  const all: string[] = [];
  for await (const keys of index.keys('rows')) all.push(...keys);
  return all;
}
