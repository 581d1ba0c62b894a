import type { CollectionName } from '../../../src/model/collections.ts';
import { whyHold } from '../../../src/core/deletions/guard.ts';
import type { ClassStudents } from '../../../src/core/rows/class-students.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import { DECIDED_BEFORE_MS } from '../../oracle/rows.ts';
import { AFTERSCHOOL_USERS, isNamed } from './afterschools.ts';
import type { CommittedRecord } from './broker.ts';
import type { Shown } from './hub-client.ts';
import { GUARD } from './tenant-parts.ts';
import type { TenantWorld } from './tenant-world.ts';

/* Invariant 3: every removal ever committed follows from what the syncs saw, or from a person's approval. */

const DAY_MS = 24 * 3_600_000;

interface Removal {
  readonly collection: CollectionName;
  readonly key: string;
  readonly atMs: number;
  readonly transaction: number;
}

export function problemsOfRemovals(world: TenantWorld): string[] {
  return world.collections.flatMap((collection) => [
    ...problemsOfLimits(world, collection),
    ...problemsOfEmptied(world, collection),
    ...problemsOfEndedHolds(world, collection),
  ]);
}

/** Full syncs have missed each row, and removals without an approval stay within the limits of the day. */
function problemsOfLimits(world: TenantWorld, collection: CollectionName): string[] {
  const problems: string[] = [];
  /** Present rows, with the time when each came. */
  const present = new Map<string, number>();
  let today = new Set<string>();
  let day = 0;
  for (const [transaction, group] of byTransaction(world, collection)) {
    const atMs = group[0]?.committedAtMs ?? 0;
    const dayNow = Math.floor(atMs / DAY_MS);
    if (dayNow !== day) today = new Set();
    day = dayNow;
    // Rows that came since the sync began may be its own or not: both numbers must be too high.
    const beganMs = (world.fullStarts.get(collection) ?? []).findLast((each) => each <= atMs) ?? atMs;
    const knownAtLeast = [...present].filter(([, sinceMs]) => sinceMs < beganMs).length;
    const known = present.size + group.filter(({ key, body }) => body !== null && !present.has(key)).length;
    const removedToday = today.size;
    let missing = 0;
    for (const { key, body } of group) {
      if (body !== null) {
        if (!present.has(key)) present.set(key, atMs);
        today.delete(key);
        continue;
      }
      present.delete(key);
      const removal = { collection, key, atMs, transaction };
      problems.push(...problemsOfMisses(world, removal));
      if (isApproved(world, removal)) continue;
      problems.push(...problemsOfHolds(world, removal));
      missing += 1;
      today.add(key);
    }
    const whyOf = (rows: number) => whyHold({ missing, removedToday, known: rows }, GUARD);
    const why = whyOf(knownAtLeast) === null ? null : whyOf(known);
    if (why !== null && world.losses.length === 0)
      problems.push(`removed beyond the limits without an approval: ${collection}: ${why}`);
  }
  return problems;
}

/** As many full scans in a row as the rule says did not find the row, and no page showed it since. */
function problemsOfMisses(world: TenantWorld, removal: Removal): string[] {
  const { broker } = world;
  const { collection, key, atMs, transaction } = removal;
  const by = broker.transactions[transaction]?.by ?? 0;
  // No scan speaks for a class that is gone, or for an afterschool that is not named.
  if (collection === 'class-students' || !isNamed(world, { topic: collection, key }, by)) return [];
  const [scope, id] = scopeOf(collection, key);
  // A page counts as taken in once the session that read it has committed twice: the first commit may have begun before.
  const isDecided = ({ atMs: shownMs, to }: Shown): boolean =>
    shownMs <= atMs - DECIDED_BEFORE_MS &&
    broker.transactions
      .slice(0, transaction)
      .filter(
        ({ progress, by: writer, committedAtMs }) =>
          progress.collection === collection &&
          committedAtMs > shownMs &&
          writer === to &&
          !(world.failures.get(writer) ?? []).some((each) => shownMs <= each && each < committedAtMs),
      ).length >= 2;
  const shownMs = shownAt(world, collection, key).findLast(isDecided)?.atMs ?? 0;
  const scans = scansOf(world, collection, scope, atMs).filter(
    ({ endedAtMs, ids }) => endedAtMs > shownMs && !ids.has(id),
  );
  // To a process that does not name its afterschool the row is missing too.
  const unnamed = broker.transactions
    .slice(0, transaction)
    .filter(
      ({ progress, by: writer, committedAtMs }) =>
        progress.collection === collection &&
        committedAtMs > shownMs &&
        progress.deletions?.settledBy === progress.syncId &&
        !isNamed(world, { topic: collection, key }, writer),
    );
  const needed = isApproved(world, removal) ? 1 : scans.at(-1)?.isDoubtful === true ? 3 : 2;
  return scans.length + unnamed.length < needed
    ? [`removed, but full syncs did not miss it: ${collection} ${key}`]
    : [];
}

/** Nothing is removed without an approval while the collection is on hold, or another one. */
function problemsOfHolds(
  { broker, losses }: TenantWorld,
  { collection, key, atMs, transaction }: Removal,
): string[] {
  if (losses.length > 0) return [];
  const onHoldIn = (name: CollectionName, from: number, to: number): boolean => {
    const all = broker.transactions.slice(0, to).filter(({ progress }) => progress.collection === name);
    const first = all.findLastIndex(({ committedAtMs }) => committedAtMs <= from);
    return first >= 0 && all.slice(first).every(({ progress }) => progress.deletions?.onHoldSinceMs != null);
  };
  const isOnHold = broker.transactions[transaction]?.progress.deletions?.onHoldSinceMs != null;
  const others = new Set(broker.transactions.map(({ progress }) => progress.collection));
  others.delete(collection);
  const onHold = [
    ...(isOnHold ? ['it'] : []),
    ...[...others].filter((name) => onHoldIn(name, atMs - DECIDED_BEFORE_MS, transaction)),
  ];
  return onHold.map((what) => `removed while ${what} was on hold: ${collection} ${key}`);
}

/** A hold ends only when each row that was missing at its begin was shown again, or a person has approved its removal. */
function problemsOfEndedHolds(world: TenantWorld, collection: CollectionName): string[] {
  const { broker, approvals, losses } = world;
  if (losses.length > 0 || collection === 'class-students') return [];
  const problems: string[] = [];
  const present = new Set<string>();
  let hold: { atMs: number; missing: readonly string[] } | null = null;
  const records = new Map(byTransaction(world, collection));
  for (const [at, { progress, committedAtMs }] of broker.transactions.entries()) {
    if (progress.collection !== collection) continue;
    for (const { key, body } of records.get(at) ?? []) present[body === null ? 'delete' : 'add'](key);
    const isOnHold = (progress.deletions?.onHoldSinceMs ?? null) !== null;
    if (isOnHold && hold === null) {
      // Published rows that the last scans of their scopes did not bring.
      const missing = [...present].filter((key) => {
        const [scope, id] = scopeOf(collection, key);
        return scansOf(world, collection, scope, committedAtMs).at(-1)?.ids.has(id) === false;
      });
      hold = { atMs: committedAtMs, missing };
    }
    if (isOnHold || hold === null) continue;
    const sinceMs = hold.atMs - DECIDED_BEFORE_MS;
    const given = approvals.filter(
      (each) => each.collection === collection && each.atMs >= sinceMs && each.atMs <= committedAtMs,
    );
    const gone = hold.missing.filter(
      (key) =>
        present.has(key) &&
        !given.some(({ keys }) => keys.has(key)) &&
        !shownAt(world, collection, key).some((each) => each.atMs >= sinceMs),
    );
    if (gone.length > 0) problems.push(`a hold ended although rows are missing still: ${collection}`);
    hold = null;
  }
  return problems;
}

/** A class is published without students only after two answers that say so, or as new after its removal. */
function problemsOfEmptied(world: TenantWorld, collection: CollectionName): string[] {
  const { broker, client, hub, losses } = world;
  if (collection !== 'class-students' || losses.length > 0) return [];
  const full = new Set<string>();
  return broker.recordsOf(collection).flatMap(({ key, body, committedAtMs: atMs }) => {
    const students = body === null ? null : (JSON.parse(body.toString()) as ClassStudents).students;
    if (students === null) full.delete(key);
    else if (students.length > 0) full.add(key);
    if (students?.length !== 0) return [];
    // That the class itself was gone is a miss too.
    const gone =
      hub.history
        .of('classes')
        .get(key)
        ?.filter(({ row }) => row === null) ?? [];
    const misses = (client.saidEmpty.get(key) ?? 0) + gone.length;
    const isBelieved = !full.has(key) || misses >= 2 || isApproved(world, { collection, key, atMs });
    return isBelieved ? [] : [`emptied after a single answer: ${key}`];
  });
}

export function isApproved(
  { approvals }: TenantWorld,
  { collection, key, atMs }: Omit<Removal, 'transaction'>,
): boolean {
  return approvals.some(
    (approval) => approval.collection === collection && approval.atMs <= atMs && approval.keys.has(key),
  );
}

function byTransaction({ broker }: TenantWorld, topic: CollectionName): [number, CommittedRecord[]][] {
  return [...Map.groupBy(broker.recordsOf(topic), ({ transaction }) => transaction)];
}

/** The scans of a scope that ended properly until then. */
function scansOf({ client }: TenantWorld, collection: CollectionName, scope: string, untilMs: number) {
  return client.scans.filter(
    (scan) =>
      scan.collection === collection &&
      scan.scope === scope &&
      scan.isConclusive &&
      scan.endedAtMs <= untilMs,
  );
}

function shownAt({ client }: TenantWorld, collection: CollectionName, key: string): readonly Shown[] {
  return client.shown.get([collection, ...scopeOf(collection, key)].join(' ')) ?? [];
}

/** The parent's id, or none, and the row's. */
function scopeOf(collection: CollectionName, key: string): readonly [string, string] {
  const [scope, id] = collection === AFTERSCHOOL_USERS ? (splitCompositeKey(key) ?? []) : [];
  return scope === undefined || id === undefined ? ['', key] : [scope, id];
}
