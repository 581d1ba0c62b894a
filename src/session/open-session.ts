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
  const session = new Session(tenant, signal);
  for (const settings of collections) {
    const start = starts.get(settings.name);
    if (start === undefined) throw new Error(`${settings.name} was not caught up`);
    await session.add(settings, start);
  }
  for (const writer of session.writers.values()) await writer.importChangelog();
  return session;
}

class Session implements TenantSession {
  readonly runners = new Map<CollectionName, CollectionRunner>();
  readonly writers = new Map<CollectionName, CollectionWriter>();
  readonly #all = new Map<CollectionName, MirroredCollection>();
  readonly #tenant: Tenant;
  readonly #signal: AbortSignal;

  constructor(tenant: Tenant, signal: AbortSignal) {
    this.#tenant = tenant;
    this.#signal = signal;
  }

  async add(settings: TenantCollection, start: WriterStart): Promise<void> {
    const tenant = this.#tenant;
    const { name } = settings;
    const source = this.#sourceOf(settings);
    const pages =
      source.hasPlainKeys === true
        ? new PageMemory(Math.trunc(tenant.runtime.random() * 2 ** 32))
        : undefined;
    const deletions = await Deletions.open(tenant.state.deletions, name, start.progress);
    const view = this.#viewOf(name, source);
    const writer = new CollectionWriter(tenant, settings, { pages, deletions, view }, start);
    this.writers.set(name, writer);
    const own: MirroredCollection = {
      tenant,
      settings,
      writer,
      source,
      deletions,
      pages: pages ?? null,
      findings: new HubFindings(),
      requireRecords: () => requireRecords(tenant, new Map([[name, writer]]), this.#signal),
      all: this.#all,
    };
    this.#all.set(name, own);
    this.runners.set(name, new CollectionRunner(own));
  }

  #viewOf(name: CollectionName, source: Source): AbsenceView | undefined {
    const { absences } = this.#tenant;
    if (name !== 'absence-versions' || absences === undefined) return undefined;
    return new AbsenceView({ ...this.#tenant, absences }, source, this.#signal);
  }

  #sourceOf({ name, reader, unmet, parentIds = [] }: TenantCollection): Source {
    const { hub, schedules, runtime } = this.#tenant;
    const collection = collectionNamed(name);
    switch (name) {
      case 'class-students': {
        const classIds = (): Promise<string[]> => this.#read('classes', allKeys);
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
          absentIn: (window) =>
            this.#read('absence-versions', (index) => absentStudents(index, window, dateAt)),
          allStudents: () => this.#read('students', allKeys),
        });
      }
      default:
        return plainSource(hub, collection, reader);
    }
  }

  /** Reads the index of a collection while nothing writes to it. */
  #read<T>(name: CollectionName, read: (index: CollectionIndex) => Promise<T>): Promise<T> {
    const index = this.#tenant.state.collection(name);
    return this.writers.get(name)?.read(() => read(index)) ?? read(index);
  }
}

async function allKeys(index: Pick<CollectionIndex, 'keys'>): Promise<string[]> {
  const all: string[] = [];
  for await (const keys of index.keys('rows')) all.push(...keys);
  return all;
}
