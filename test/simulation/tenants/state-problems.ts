import type { ClassStudents } from '../../../src/core/class-students.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { Progress } from '../../../src/model/progress.ts';
import { compositeKey, splitCompositeKey } from '../../../src/model/keys.ts';
import type { OutgoingRecord } from '../../../src/log/log.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { isNamedNow, isReadWhole, shownNow } from './afterschools.ts';
import type { TenantWorld } from './tenant-world.ts';
import { ROW_COLLECTIONS, type RowCollection } from './tenant-hub.ts';
import { hashTextOf } from './tenant-row.ts';

/* Checks the final state of a history: invariants 1, 2, 5, and withheld deletions. */

/** Invariant 2: once an incremental sync has read everything that changed, no change is missing. */
export function problemsAfterDelta(world: TenantWorld): string[] {
  // The rows of a lost topic are no changes: the full sync publishes them again.
  if (!world.canTrustDeltas || world.losses.length > 0) return [];
  return rowCollections(world).flatMap((collection) => {
    const view = world.broker.viewOf(collection);
    return [...shownNow(world, collection)]
      .filter(([key]) => world.hub.isAnnounced(collection, key) && isReadWhole(world, collection, key))
      .filter(([key, row]) => row.isReadable && hashIn(view.get(key)) !== hashTextOf(row))
      .map(([key]) => `the incremental sync missed a change: ${collection} ${key}`);
  });
}

/** Invariant 3: rows whose removal is withheld are still there. */
export async function problemsOfWithheld(world: TenantWorld): Promise<string[]> {
  const problems: string[] = [];
  const { collections } = await waitingIn(world);
  for (const { collection, keys } of collections) {
    const view = world.broker.viewOf(collection);
    for (const key of keys)
      if (!view.has(key) && world.losses.length === 0)
        problems.push(`withheld, but gone from the topic: ${collection} ${key}`);
  }
  // While something is withheld, other vanished rows wait as well, and may not be listed yet.
  const isHeld = collections.length > 0;
  const listed = new Set(
    collections.flatMap(({ collection, keys }) => keys.map((key) => `${collection} ${key}`)),
  );
  const mayWait = (each: string): boolean => each.startsWith('left over') || each.includes('class-students');
  return [...problems, ...differencesFromHub(world, listed).filter((each) => !isHeld || !mayWait(each))];
}

function waitingIn({ broker, redis, collections }: TenantWorld): ReturnType<typeof readWaiting> {
  const last = (name: CollectionName): Progress | null =>
    broker.transactions.findLast(({ progress }) => progress.collection === name)?.progress ?? null;
  return readWaiting(redis.memory, new Map(collections.map((name) => [name, last(name)])));
}

/** Invariants 1 and 5. */
export async function problemsOfEnd(world: TenantWorld): Promise<string[]> {
  const waiting = (await waitingIn(world)).collections.flatMap(({ collection, keys }) => {
    // The list of a class that exists, but could not be read since the topics were lost, can neither be read nor removed.
    const canGo = keys.filter((key) => collection !== 'class-students' || world.hub.studentsOf(key) === null);
    const what = `still withheld although everything was approved: ${collection}, ${canGo.length}`;
    return canGo.length > 0 ? [what] : [];
  });
  return [...waiting, ...differencesFromHub(world, new Set()), ...differencesFromIndex(world)];
}

/** Invariant 5; `withheld`: `<collection> <key>` of rows that may be left over, or empty at the hub. */
function differencesFromHub(world: TenantWorld, withheld: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const { hub, broker } = world;
  const rejects = broker.viewOf('rejects');
  for (const collection of rowCollections(world)) {
    const view = broker.viewOf(collection);
    const rows = shownNow(world, collection);
    for (const [key, row] of rows) {
      const rejectKey = compositeKey(collection, key);
      const published = row.isReadable ? view.get(key) : rejects.get(rejectKey);
      if (hashIn(published) !== hashTextOf(row)) problems.push(`differs from the hub: ${collection} ${key}`);
      if (row.isReadable && rejects.has(rejectKey))
        problems.push(`still among the rejects: ${collection} ${key}`);
    }
    for (const key of view.keys()) {
      if (!rows.has(key) && !withheld.has(`${collection} ${key}`))
        problems.push(`left over: ${collection} ${key}`);
    }
  }
  // If a scan can skip rows and has no total, a reject whose row it did not read may still be there.
  const canClearRejects = world.manner.paging === 'keyset' || world.manner.hasTotals;
  for (const key of canClearRejects && world.absences === null ? rejects.keys() : []) {
    if (!isNamedNow(world, 'rejects', key)) continue;
    const [collection = '', row = ''] = splitCompositeKey(key) ?? [];
    const isThere =
      rowCollections(world).some((name) => name === collection) &&
      hub.shown(collection as RowCollection).has(row);
    if (!isThere) problems.push(`left over among the rejects: ${key}`);
  }
  return [...problems, ...differencesOfClasses(world, withheld)];
}

function differencesOfClasses(world: TenantWorld, withheld: ReadonlySet<string>): string[] {
  if (!world.collections.includes('class-students')) return [];
  const problems: string[] = [];
  const view = world.broker.viewOf('class-students');
  const known = world.broker.viewOf('classes');
  for (const id of world.hub.shown('classes').keys()) {
    // A class that was never readable is not known, and Rollcall does not ask for its students.
    if (!known.has(id)) continue;
    const body = view.get(id)?.body ?? null;
    const published = body === null ? null : (JSON.parse(body.toString()) as ClassStudents).students;
    const students = [...new Set(world.hub.studentsOf(id))].sort();
    if (JSON.stringify(published) !== JSON.stringify(students) && !withheld.has(`class-students ${id}`))
      problems.push(`differs from the hub: class-students ${id}`);
  }
  for (const id of view.keys()) {
    if (!world.hub.shown('classes').has(id) && !withheld.has(`class-students ${id}`))
      problems.push(`left over: class-students ${id}`);
  }
  return problems;
}

/** Invariant 1. */
export function differencesFromIndex(world: TenantWorld): string[] {
  const problems: string[] = [];
  const rejects = world.broker.viewOf('rejects');
  for (const collection of world.collections) {
    const own = [...rejects].flatMap(([key, record]) => {
      const parts = splitCompositeKey(key);
      return parts?.[0] === collection ? [[parts[1], record] as const] : [];
    });
    const areas = { rows: world.broker.viewOf(collection), rejects: new Map(own) };
    for (const area of ['rows', 'rejects'] as const) {
      const indexed = world.redis.contents(collection)[area];
      const logged = areas[area];
      if (indexed.size !== logged.size)
        problems.push(
          `the index differs from the log: ${collection} has ${indexed.size} ${area}, the topic ${logged.size}`,
        );
      for (const [key, hash] of indexed) {
        if (hashIn(logged.get(key)) !== hash.toString('hex'))
          problems.push(`the index differs from the log: ${collection} ${area} ${key}`);
      }
    }
  }
  return problems;
}

function rowCollections({ collections }: TenantWorld): RowCollection[] {
  return ROW_COLLECTIONS.filter((name) => collections.includes(name));
}

function hashIn(record: OutgoingRecord | undefined): string | null {
  return record?.headers['content-hash'] ?? null;
}
