import type { JsonObject, JsonValue } from '../json.ts';
import { valuesAt } from '../json.ts';
import { uuidFrom } from '../random.ts';
import type { CollectionName } from './collections.ts';
import { COLLECTION_NAMES } from './collections.ts';
import type { District } from './district.ts';
import { storedName } from './district.ts';
import { addMember, dropMember } from './membership.ts';
import type { Row } from './row.ts';
import type { Listing } from './row-store.ts';
import { contentOf, findRow, insertRow, objectOf, removeRow, restampStore, setContent } from './row-store.ts';

export interface PutOptions {
  /** Where the row is stored and sorted, if its `sourcedId` is to be missing or unreadable. */
  id?: string | undefined;
  /** false: `dateLastModified` stays as it was, as with hubs that change content without stamping. */
  stamp?: boolean | undefined;
}

/** Adds a row or replaces the row of that id. A `dateLastModified` in the row counts. Returns the id. */
export function putRow(
  district: District,
  name: CollectionName,
  options: PutOptions & { row: JsonObject },
): string {
  const { row: given, stamp } = options;
  const ownId = given['sourcedId'];
  const id = options.id ?? (typeof ownId === 'string' ? ownId : nextId(district));
  const { content, stampMs } = storable(given, id);
  const stored = district.listings[storedName(name)];
  const existing = findRow(stored, id);
  const now = district.clock.now();
  if (existing === undefined) {
    const row: Row = {
      id,
      stampMs: stampMs ?? now,
      epoch: stored.store.epoch,
      content,
      bytes: undefined,
      stampOffset: -1,
      renderedMs: 0,
    };
    insertRow(stored, row);
    afterChange(district, name, row);
    return id;
  }
  if (stored === district.listings.enrollments && district.membership !== undefined) {
    dropMember(district.membership, stored, existing);
  }
  setContent(stored.store, existing, { content, stampMs: stampMs ?? (stamp === false ? undefined : now) });
  stored.version += 1;
  afterChange(district, name, existing);
  return id;
}

/** Changes single fields of a row; null is a value, undefined takes the field away. False if there is no such row. */
export function patchRow(
  district: District,
  name: CollectionName,
  options: { id: string; fields: JsonObject; stamp?: boolean | undefined },
): boolean {
  const stored = district.listings[storedName(name)];
  const existing = findRow(stored, options.id);
  if (existing === undefined) return false;
  const row = { ...contentOf(stored.store, existing), ...options.fields };
  putRow(district, name, { row, id: options.id, stamp: options.stamp });
  return true;
}

/** Takes a row away without a trace, as the hub does with all rows except absences. False if there is no such row. */
export function removeRowFrom(district: District, name: CollectionName, id: string): boolean {
  const stored = district.listings[storedName(name)];
  const existing = findRow(stored, id);
  if (existing === undefined) return false;
  if (stored === district.listings.enrollments && district.membership !== undefined) {
    dropMember(district.membership, stored, existing);
  }
  removeRow(stored, id);
  if (stored === district.listings.users) {
    for (const part of userParts(district)) removeRow(part, id);
  }
  return true;
}

export function getRow(district: District, name: CollectionName, id: string): JsonObject | undefined {
  const listing = district.listings[name];
  const row = findRow(listing, id);
  return row === undefined ? undefined : objectOf(listing.store, row);
}

/** Spec section 1 rule 3: the nightly synchronisation stamps every entity with its time. */
export function restampEverything(district: District): number {
  const atMs = district.clock.now();
  const stores = new Set(COLLECTION_NAMES.map((name) => district.listings[name].store));
  for (const store of stores) restampStore(store, atMs);
  for (const name of COLLECTION_NAMES) district.listings[name].version += 1;
  for (const listing of district.afterschools.values()) listing.version += 1;
  return atMs;
}

export function countRows(district: District): Record<CollectionName, number> {
  return Object.fromEntries(
    COLLECTION_NAMES.map((name) => [name, district.listings[name].rows.length]),
  ) as Record<CollectionName, number>;
}

/** False if there is no such programme or user. */
export function joinAfterschool(district: District, afterschool: string, user: string): boolean {
  const listing = district.afterschools.get(afterschool);
  const row = findRow(district.listings.users, user);
  if (listing === undefined || row === undefined) return false;
  insertRow(listing, row);
  return true;
}

export function leaveAfterschool(district: District, afterschool: string, user: string): boolean {
  const listing = district.afterschools.get(afterschool);
  return listing !== undefined && removeRow(listing, user);
}

/** A new id that follows from the seed and from how many were given before. */
export function nextId(district: District): string {
  district.idsGiven += 1;
  return uuidFrom(district.plan.seed, 1000, district.idsGiven);
}

function userParts(district: District): Listing[] {
  return [district.listings.students, district.listings.teachers, ...district.afterschools.values()];
}

/** Keeps the parts of users, and the class index, in step with the stored row. */
function afterChange(district: District, name: CollectionName, row: Row): void {
  if (storedName(name) === 'enrollments' && district.membership !== undefined) {
    addMember(district.membership, district.listings.enrollments, row);
  }
  if (storedName(name) !== 'users') return;
  const roles = valuesAt(contentOf(district.listings.users.store, row), ['roles', 'role']);
  sync(district.listings.students, { row, belongs: roles.includes('student') });
  sync(district.listings.teachers, { row, belongs: roles.includes('teacher') });
  for (const listing of district.afterschools.values()) listing.version += 1;
}

function sync(part: Listing, options: { row: Row; belongs: boolean }): void {
  if (options.belongs) insertRow(part, options.row);
  else removeRow(part, options.row.id);
}

/** Splits a row into what is stored and its stamp; what cannot be the stored id or a plain stamp stays in the content. */
function storable(given: JsonObject, id: string): { content: JsonObject; stampMs: number | undefined } {
  const { sourcedId, dateLastModified, ...content } = given;
  const stampMs = plainStamp(dateLastModified);
  if (Object.hasOwn(given, 'sourcedId') && sourcedId !== id) content['sourcedId'] = sourcedId;
  if (Object.hasOwn(given, 'dateLastModified') && stampMs === undefined)
    content['dateLastModified'] = dateLastModified;
  return { content, stampMs };
}

function plainStamp(value: JsonValue | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) || new Date(ms).toISOString() !== value ? undefined : ms;
}
