import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { whyWithhold } from '../../../src/core/deletion-guard.ts';
import type { ClassStudents } from '../../../src/core/class-students.ts';
import { isNamed } from './afterschools.ts';
import type { CommittedRecord } from './broker.ts';
import type { TenantWorld } from './tenant-world.ts';
import { GUARD } from './tenant-parts.ts';
import { MARKER } from './tenant-row.ts';

/* Checks every record ever committed, in order: invariants 3, 4 and 8. */

const DAY_MS = 24 * 3_600_000;
const FOREIGN = `${MARKER}f`;

export function problemsOfRows(world: TenantWorld): string[] {
  const problems = problemsOfOrder(world, 'rejects');
  for (const collection of world.collections) {
    problems.push(...problemsOfOrder(world, collection));
    problems.push(...problemsOfRemovals(world, collection), ...problemsOfEmptied(world, collection));
  }
  return problems;
}

/** Invariants 4 and 8: versions of a row only rise at the hub, and none is published twice in succession. */
function problemsOfOrder(world: TenantWorld, topic: TopicSuffix): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  let newest = new Map<string, { hash: string; version: number }>();
  let known = new Map<string, string>();
  const losses = world.losses.filter(
    (loss) => loss.topic === topic || (topic !== 'rejects' && loss.topic === 'rejects'),
  );
  let lossesPast = 0;
  for (const { key, body, headers, transaction } of world.broker.history.get(topic) ?? []) {
    // Any record that was lost may have to be published again.
    for (; (losses[lossesPast]?.transactions ?? Infinity) <= transaction; lossesPast += 1) {
      newest = new Map();
      known = new Map();
    }
    const what = `${topic} ${key}`;
    const id = headers['ce_id'] ?? '';
    if (ids.has(id)) problems.push(`ce_id twice: ${what}`);
    ids.add(id);
    if (key.includes(FOREIGN)) problems.push(`another tenant's row: ${what}`);
    if (body === null) {
      if (!known.delete(key) && losses.length === 0) problems.push(`removed twice: ${what}`);
      continue;
    }
    const hash = headers['content-hash'] ?? '';
    if (known.get(key) === hash) problems.push(`published twice: ${what}`);
    known.set(key, hash);
    const version = Number.parseInt(hash.slice(0, 8), 16);
    const before = newest.get(key)?.version ?? 0;
    if (topic !== 'class-students' && version < before) problems.push(`older after newer: ${what}`);
    newest.set(key, { hash, version: Math.max(version, before) });
  }
  return problems;
}

/** Invariant 3: the hub said that the row was gone, and removals without an approval stay within the limits of the day. */
function problemsOfRemovals(world: TenantWorld, collection: CollectionName): string[] {
  const problems: string[] = [];
  /** Present rows, with the time when each came. */
  const present = new Map<string, number>();
  const removed = new Map<string, number>();
  let today = new Set<string>();
  let day = 0;
  for (const group of groupBy(world.broker.history.get(collection) ?? [], ({ transaction }) => transaction)) {
    const dayNow = Math.floor((group[0]?.committedAtMs ?? 0) / DAY_MS);
    if (dayNow !== day) today = new Set();
    day = dayNow;
    // Rows that came since the sync began may be its own or not: both numbers must be too high.
    const atMs = group[0]?.committedAtMs ?? 0;
    const beganMs = (world.fullStarts.get(collection) ?? []).findLast((each) => each <= atMs) ?? atMs;
    const by = world.broker.transactions[group[0]?.transaction ?? 0]?.by ?? 0;
    const isWanted = (key: string): boolean => isNamed(world, by, { topic: collection, key });
    const wanted = [...present].filter(([key]) => isWanted(key));
    const knownAtLeast = wanted.filter(([, sinceMs]) => sinceMs < beganMs).length;
    const known = wanted.length + group.filter(({ key, body }) => body !== null && !present.has(key)).length;
    const earlier = today.size;
    let count = 0;
    for (const { key, body, committedAtMs } of group) {
      if (body !== null) {
        if (!present.has(key)) present.set(key, committedAtMs);
        today.delete(key);
        continue;
      }
      present.delete(key);
      // The hub is not asked for unwanted rows: see afterschool-problems.ts.
      if (!isWanted(key)) continue;
      const departures = world.hub.departuresOf(collection, key);
      if ((departures[0] ?? Infinity) > committedAtMs || departures.length <= (removed.get(key) ?? 0))
        problems.push(`removed, but it never left: ${collection} ${key}`);
      removed.set(key, (removed.get(key) ?? 0) + 1);
      if (isApproved(world, collection, { key, atMs: committedAtMs })) continue;
      problems.push(...problemsOfWaiting(world, collection, { key, atMs: committedAtMs }));
      count += 1;
      today.add(key);
    }
    const whyOf = (knownRows: number): string | null =>
      whyWithhold({ deletions: count, deletedEarlierToday: earlier, knownRows }, GUARD);
    const why = whyOf(knownAtLeast) === null ? null : whyOf(known);
    if (why !== null && world.losses.length === 0)
      problems.push(`removed beyond the limits without an approval: ${collection}: ${why}`);
  }
  return problems;
}

/** The longest time between a decision of a sync and its commit. */
const DECIDED_BEFORE_MS = 400;

/** No listed row is removed without an approval, nor any row while another collection has withheld deletions. */
function problemsOfWaiting(
  { redis }: TenantWorld,
  collection: CollectionName,
  { key, atMs }: { key: string; atMs: number },
): string[] {
  const before = redis.waiting.findLast(({ sinceMs }) => sinceMs <= atMs - DECIDED_BEFORE_MS);
  if (before === undefined) return [];
  const all = [before, ...redis.waiting.filter(({ sinceMs }) => sinceMs > before.sinceMs && sinceMs <= atMs)];
  // A removal that waits only because of another collection is published together with that one's.
  const isListed = all.every(
    ({ tripped, withheld }) => tripped.has(collection) && withheld.get(collection)?.has(key) === true,
  );
  const other = [...before.tripped].find(
    (each) => each !== collection && all.every(({ tripped }) => tripped.has(each)),
  );
  return [
    ...(isListed ? [`removed while it was withheld: ${collection} ${key}`] : []),
    ...(other === undefined ? [] : [`removed while ${other} was withheld: ${collection} ${key}`]),
  ];
}

function isApproved(
  { approvals }: TenantWorld,
  collection: CollectionName,
  removal: { key: string; atMs: number },
): boolean {
  return approvals.some(
    (approval) =>
      approval.collection === collection && approval.atMs <= removal.atMs && approval.keys.has(removal.key),
  );
}

/** Invariant 3: a class is published without students only after two answers that say so, or as new after its removal. */
function problemsOfEmptied({ broker, client, losses }: TenantWorld, collection: CollectionName): string[] {
  if (collection !== 'class-students' || losses.length > 0) return [];
  const full = new Set<string>();
  return (broker.history.get(collection) ?? []).flatMap(({ key, body }) => {
    if (body === null) {
      full.delete(key);
      return [];
    }
    const { students } = JSON.parse(body.toString()) as ClassStudents;
    if (students.length > 0) {
      full.add(key);
      return [];
    }
    const isBelieved = !full.has(key) || (client.saidEmpty.get(key) ?? 0) >= 2;
    return isBelieved ? [] : [`emptied after a single answer: ${key}`];
  });
}

function groupBy(
  records: readonly CommittedRecord[],
  by: (record: CommittedRecord) => number,
): readonly CommittedRecord[][] {
  return [...Map.groupBy(records, by).values()];
}
