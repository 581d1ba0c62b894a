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

/** Changes to a running district; the control API offers the same. Collections by any name `collectionNamed` knows. */
export interface DistrictOperations {
  counts(): Record<CollectionName, number>;
  ids(collection: string): string[];
  get(collection: string, id: string): JsonObject | undefined;
  /** Adds or replaces; returns the id. `dateLastModified` is the hub's now, unless the row has one or `stamp` is false. */
  put(collection: string, row: JsonObject, options?: PutOptions): string;
  patch(
    collection: string,
    id: string,
    fields: JsonObject,
    options?: { stamp?: boolean | undefined },
  ): boolean;
  /** The row vanishes. */
  remove(collection: string, id: string): boolean;
  registerAbsence(absence: AbsenceRegistration): string;
  /** Returns the id of the replacement. */
  replaceAbsence(
    id: string,
    options?: { changes?: JsonObject | undefined; newId?: string | undefined },
  ): string;
  deleteAbsence(id: string): void;
  purgeAbsence(id: string): string[];
  joinAfterschool(afterschool: string, user: string): boolean;
  leaveAfterschool(afterschool: string, user: string): boolean;
  afterschoolIds(): string[];
  /** Sorted ids of a class's students. */
  studentsOfClass(classId: string): string[];
  /** As `/api/core/schedules` has them, in its plainest shape and without faults. */
  lessons(range: LessonRange): JsonObject[];
  /** Changes, hides (null) or restores (undefined) a lesson, by its id. */
  changeLesson(id: string, change: JsonObject | null | undefined): void;
  /** Stamps everything with the hub's now; returns it, ms. */
  restamp(): number;
  /** All rows as the hub would serve them; with `faults: false` as they are. Also `afterschool-users/<id>`. */
  snapshotJson(collection: string, options?: { faults?: boolean | undefined }): string;
  snapshot(collection: string, options?: { faults?: boolean | undefined }): JsonObject[];
}

export function createDistrictOperations(district: District, faults: ActiveFaults): DistrictOperations {
  const snapshotJson = (collection: string, options: { faults?: boolean | undefined } = {}): string =>
    snapshotText(district, { collection, faults: options.faults === false ? undefined : faults });
  return {
    counts: () => countRows(district),
    ids: (collection) => district.listings[known(collection)].rows.map((row) => row.id),
    get: (collection, id) => getRow(district, known(collection), id),
    put: (collection, row, options) => putRow(district, known(collection), { ...options, row }),
    patch: (collection, id, fields, options) =>
      patchRow(district, known(collection), { ...options, id, fields }),
    remove: (collection, id) => removeRowFrom(district, known(collection), id),
    registerAbsence: (absence) => registerAbsence(district, absence),
    replaceAbsence: (id, options) => replaceAbsence(district, id, options),
    deleteAbsence: (id) => {
      deleteAbsence(district, id);
    },
    purgeAbsence: (id) => purgeAbsence(district, id),
    joinAfterschool: (afterschool, user) => joinAfterschool(district, afterschool, user),
    leaveAfterschool: (afterschool, user) => leaveAfterschool(district, afterschool, user),
    afterschoolIds: () => [...district.afterschools.keys()],
    studentsOfClass: (classId) =>
      [...new Set(membershipOf(district).studentsOfClass.get(classId)?.values() ?? [])].toSorted(),
    lessons: (range) => lessonsOf(district, range),
    changeLesson: (id, change) => {
      if (change === undefined) district.lessonChanges.delete(id);
      else district.lessonChanges.set(id, change);
    },
    restamp: () => restampEverything(district),
    snapshotJson,
    snapshot: (collection, options) => JSON.parse(snapshotJson(collection, options)) as JsonObject[],
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
