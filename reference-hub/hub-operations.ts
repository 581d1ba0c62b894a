import type { JsonObject } from './json.ts';
import type { AbsenceRegistration } from './district/absence-operations.ts';
import {
  deleteAbsence,
  purgeAbsence,
  registerAbsence,
  replaceAbsence,
} from './district/absence-operations.ts';
import type { CollectionName } from './district/collections.ts';
import { collectionNamed } from './district/collections.ts';
import type { District } from './district/district.ts';
import { membershipOf } from './district/district.ts';
import type { PutOptions } from './district/district-operations.ts';
import {
  countRows,
  getRow,
  joinAfterschool,
  leaveAfterschool,
  patchRow,
  putRow,
  removeRowFrom,
  restampEverything,
} from './district/district-operations.ts';
import type { LessonRange } from './district/lessons.ts';
import { lessonsOf } from './district/lessons.ts';
import { objectOf } from './district/row-store.ts';
import type { ActiveFaults } from './server/faults/active-faults.ts';
import type { MetFault } from './server/serve-collection.ts';
import { renderRows } from './server/serve-collection.ts';

export type DistrictOperations = ReturnType<typeof createDistrictOperations>;

/** Changes to a running district; the control API offers the same. Collections by any name `collectionNamed` knows. */
export function createDistrictOperations(district: District, faults: ActiveFaults) {
  /** All rows as the hub would serve them; with `faults: false` as they are. Also `afterschool-users/<id>`. */
  const snapshotJson = (collection: string, options: { faults?: boolean | undefined } = {}): string =>
    snapshotText(district, { collection, faults: options.faults === false ? undefined : faults });
  return {
    counts: () => countRows(district),
    ids: (collection: string) => district.listings[known(collection)].rows.map((row) => row.id),
    get: (collection: string, id: string) => getRow(district, known(collection), id),
    /** Adds or replaces; returns the id. `dateLastModified` is the hub's now, unless the row has one or `stamp` is false. */
    put: (collection: string, row: JsonObject, options?: PutOptions) =>
      putRow(district, known(collection), { ...options, row }),
    patch: (collection: string, id: string, fields: JsonObject, options?: Pick<PutOptions, 'stamp'>) =>
      patchRow(district, known(collection), { ...options, id, fields }),
    /** The row vanishes. */
    remove: (collection: string, id: string) => removeRowFrom(district, known(collection), id),
    registerAbsence: (absence: AbsenceRegistration) => registerAbsence(district, absence),
    /** Returns the id of the replacement. */
    replaceAbsence: (id: string, options?: Parameters<typeof replaceAbsence>[2]) =>
      replaceAbsence(district, id, options),
    deleteAbsence: (id: string) => deleteAbsence(district, id),
    purgeAbsence: (id: string) => purgeAbsence(district, id),
    joinAfterschool: (afterschool: string, user: string) => joinAfterschool(district, afterschool, user),
    leaveAfterschool: (afterschool: string, user: string) => leaveAfterschool(district, afterschool, user),
    afterschoolIds: () => [...district.afterschools.keys()],
    /** Sorted ids of a class's students. */
    studentsOfClass: (classId: string) =>
      [...new Set(membershipOf(district).studentsOfClass.get(classId)?.values() ?? [])].toSorted(),
    /** As `/api/core/schedules` has them, in its plainest shape and without faults. */
    lessons: (range: LessonRange) => lessonsOf(district, range),
    /** Changes, hides (null) or restores (undefined) a lesson, by its id. */
    changeLesson: (id: string, change: JsonObject | null | undefined): void => {
      if (change === undefined) district.lessonChanges.delete(id);
      else district.lessonChanges.set(id, change);
    },
    /** Stamps everything with the hub's now; returns it, ms. */
    restamp: () => restampEverything(district),
    snapshotJson,
    snapshot: (collection: string, options?: { faults?: boolean | undefined }) =>
      JSON.parse(snapshotJson(collection, options)) as JsonObject[],
  };
}

/** @throws RangeError for an unknown collection */
export function known(collection: string): CollectionName {
  const name = collectionNamed(collection);
  if (name === undefined) throw new RangeError(`There is no collection "${collection}".`);
  return name;
}

function snapshotText(
  district: District,
  options: { collection: string; faults: ActiveFaults | undefined },
): string {
  const [kind, afterschool] = options.collection.split('/');
  const programme = kind === 'afterschool-users' ? district.afterschools.get(afterschool ?? '') : undefined;
  const listing = programme ?? district.listings[known(options.collection)];
  const target = programme === undefined ? known(options.collection) : 'afterschool-users';
  if (options.faults === undefined) {
    return JSON.stringify(listing.rows.map((row) => objectOf(listing.store, row)));
  }
  const met = options.faults.concerning(target).map((active): MetFault => ({
    fault: active.fault,
    context: {
      target,
      url: new URL('http://snapshot/'),
      value: active.value,
      random: () => 0,
      sleep: () => Promise.resolve(),
    },
  }));
  const rows = renderRows(listing.rows, { listing, faults: met });
  return `[${rows.map((row) => row.toString('utf8', 1)).join(',')}]`;
}
