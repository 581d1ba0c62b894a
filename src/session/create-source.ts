import { absentStudents } from '../absences/absent-students.ts';
import { createZoneClock } from '../core/lessons/zone-clock.ts';
import { lessonSource } from '../lessons/lesson-source.ts';
import { collectionNamed, type CollectionName } from '../model/collections.ts';
import {
  classStudentsSource,
  nestedSource,
  parentsWithoutRows,
  plainSource,
  type Source,
} from '../source/source.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import type { TenantCollection, Tenant } from './tenant.ts';

/** Reads the index of a collection while nothing writes to it. */
export type ReadUndisturbed = <T>(
  collection: CollectionName,
  read: (index: CollectionIndex) => Promise<T>,
) => Promise<T>;

/** The source of a collection's rows. */
export function createSource(
  { hub, schedules, runtime }: Pick<Tenant, 'hub' | 'schedules' | 'runtime'>,
  { name, reader, parentIds = [] }: TenantCollection,
  undisturbed: ReadUndisturbed,
): Source {
  const collection = collectionNamed(name);
  switch (name) {
    case 'class-students': {
      const classIds = (): Promise<string[]> => undisturbed('classes', allKeys);
      return classStudentsSource({ hub, collection, classes: 'classes', classIds });
    }
    case 'afterschool-users': {
      const newParents = (): Promise<ReadonlySet<string>> =>
        undisturbed(name, (index) => parentsWithoutRows(parentIds, index));
      return nestedSource({ hub, collection, reader, parentIds, newParents });
    }
    case 'schedules': {
      if (schedules === undefined) throw new Error('there are no settings of schedules');
      const clock = createZoneClock(schedules.timeZone);
      return lessonSource({
        ...schedules,
        now: runtime.now,
        absentIn: (window) =>
          undisturbed('absence-versions', (index) => absentStudents(index, window, (ms) => clock.dateAt(ms))),
        allStudents: () => undisturbed('students', allKeys),
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
