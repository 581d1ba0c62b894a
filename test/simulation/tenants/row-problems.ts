import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { whyHeld } from '../../../src/core/deletions/guard.ts';
import type { ClassStudents } from '../../../src/core/class-students.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import { isNamed } from './afterschools.ts';
import type { CommittedRecord } from './broker.ts';
import type { HubClient } from './hub-client.ts';
import type { TenantWorld } from './tenant-world.ts';
import { GUARD } from './tenant-parts.ts';
import { MARKER } from './tenant-row.ts';

/* Checks every record ever committed, in order: invariants 3, 4 and 8. */

const DAY_MS = 24 * 3_600_000;
const FOREIGN = `${MARKER}f`;

export function problemsOfRows(world: TenantWorld): string[] {
  // Those of absences have other contents.
  if (world.absences !== null) return [];
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

/** Invariant 3: full syncs have missed the row, and removals without an approval stay within the limits of the day. */
function problemsOfRemovals(world: TenantWorld, collection: CollectionName): string[] {
  const problems: string[] = [];
  /** Present rows, with the time when each came. */
  const present = new Map<string, number>();
  let today = new Set<string>();
  const removals = new Map<string, number>();
  let day = 0;
  for (const group of groupBy(world.broker.history.get(collection) ?? [], ({ transaction }) => transaction)) {
    const dayNow = Math.floor((group[0]?.committedAtMs ?? 0) / DAY_MS);
    if (dayNow !== day) today = new Set();
    day = dayNow;
    // Rows that came since the sync began may be its own or not: both numbers must be too high.
    const atMs = group[0]?.committedAtMs ?? 0;
    const beganMs = (world.fullStarts.get(collection) ?? []).findLast((each) => each <= atMs) ?? atMs;
    const transaction = group[0]?.transaction ?? 0;
    const knownAtLeast = [...present].filter(([, sinceMs]) => sinceMs < beganMs).length;
    const known = present.size + group.filter(({ key, body }) => body !== null && !present.has(key)).length;
    const earlier = today.size;
    let count = 0;
    for (const { key, body, committedAtMs } of group) {
      if (body !== null) {
        if (!present.has(key)) present.set(key, committedAtMs);
        today.delete(key);
        continue;
      }
      present.delete(key);
      const times = removals.get(key) ?? 0;
      removals.set(key, times + 1);
      const removal = { key, atMs: committedAtMs, transaction, times };
      problems.push(...problemsOfMisses(world, collection, removal));
      if (isApproved(world, collection, removal)) continue;
      problems.push(...problemsOfHolds(world, collection, removal));
      count += 1;
      today.add(key);
    }
    const whyOf = (knownRows: number): string | null =>
      whyHeld({ missing: count, removedToday: earlier, known: knownRows }, GUARD);
    const why = whyOf(knownAtLeast) === null ? null : whyOf(known);
    if (why !== null && world.losses.length === 0)
      problems.push(`removed beyond the limits without an approval: ${collection}: ${why}`);
  }
  return problems;
}

/** The longest time between a decision of a sync and its commit. */
const DECIDED_BEFORE_MS = 400;

interface Removal {
  readonly key: string;
  readonly atMs: number;
  readonly transaction: number;
  /** How often it was removed before. */
  readonly times: number;
}

/** As many full scans in a row as the rule says ended properly without the row, and no page showed it since. */
function problemsOfMisses(world: TenantWorld, collection: CollectionName, removal: Removal): string[] {
  const { client, broker, hub, manner } = world;
  const { key, atMs, transaction, times } = removal;
  const by = broker.transactions[transaction]?.by ?? 0;
  // No scan speaks for a class that is gone, or for an afterschool that is not named.
  if (collection === 'class-students' || !isNamed(world, by, { topic: collection, key })) return [];
  const [scope, id] = collection === 'afterschool-users' ? (splitCompositeKey(key) ?? ['', key]) : ['', key];
  // A page after which its session committed nothing was not taken in.
  const isDecided = (shownMs: number): boolean =>
    shownMs <= atMs - DECIDED_BEFORE_MS &&
    broker.transactions
      .slice(0, transaction)
      .some(
        ({ progress, by: writer, committedAtMs }) =>
          progress.collection === collection &&
          committedAtMs > shownMs &&
          (world.processStarts[writer - 1] ?? Infinity) <= shownMs &&
          !(world.failures.get(writer) ?? []).some((each) => shownMs <= each && each < committedAtMs),
      );
  const shownMs = (client.shown.get(`${collection} ${scope} ${id}`) ?? []).findLast(isDecided) ?? 0;
  const scans = client.scans.filter(
    (scan) =>
      scan.collection === collection &&
      scan.scope === scope &&
      scan.isConclusive &&
      scan.endedAtMs <= atMs &&
      scan.endedAtMs > shownMs &&
      !scan.ids.has(id),
  );
  const isApprovedOnce = isApproved(world, collection, removal);
  const needed = isApprovedOnce ? 1 : scans.at(-1)?.isDoubtful === true ? 3 : 2;
  const problems =
    scans.length < needed ? [`removed, but full syncs did not miss it: ${collection} ${key}`] : [];
  // A person may approve what another tenant's empty hub, or one with too few rights, does not show.
  const isHonest =
    manner.liesOften === 0 && manner.paging === 'keyset' && !isApprovedOnce && world.losses.length === 0;
  if (isHonest && (hub.departuresOf(collection, key)[times] ?? Infinity) > atMs)
    problems.push(`removed, but it never left: ${collection} ${key}`);
  return problems;
}

/** Nothing is removed without an approval while the collection is held, or another one. */
function problemsOfHolds(
  { broker, losses }: TenantWorld,
  collection: CollectionName,
  { key, atMs, transaction }: Removal,
): string[] {
  if (losses.length > 0) return [];
  const heldIn = (name: CollectionName, from: number, to: number): boolean => {
    const all = broker.transactions.slice(0, to).filter(({ progress }) => progress.collection === name);
    const first = all.findLastIndex(({ committedAtMs }) => committedAtMs <= from);
    return first >= 0 && all.slice(first).every(({ progress }) => progress.deletions?.heldSinceMs != null);
  };
  const own = broker.transactions[transaction]?.progress.deletions?.heldSinceMs != null;
  const others = new Set(broker.transactions.map(({ progress }) => progress.collection));
  others.delete(collection);
  const other = [...others].find((name) => heldIn(name, atMs - DECIDED_BEFORE_MS, transaction));
  return [
    ...(own ? [`removed while it was held: ${collection} ${key}`] : []),
    ...(other === undefined ? [] : [`removed while ${other} was held: ${collection} ${key}`]),
  ];
}

/** A hold ends only when each row that was missing at its begin was shown again, or a person has approved. */
export function problemsOfEndedHolds({
  broker,
  client,
  approvals,
  losses,
  collections,
}: TenantWorld): string[] {
  if (losses.length > 0) return [];
  return collections.flatMap((collection) => {
    if (collection === 'class-students') return [];
    const problems: string[] = [];
    const present = new Set<string>();
    let held: { atMs: number; missing: readonly string[] } | null = null;
    const records = Map.groupBy(broker.history.get(collection) ?? [], ({ transaction }) => transaction);
    for (const [at, { progress, committedAtMs }] of broker.transactions.entries()) {
      if (progress.collection !== collection) continue;
      for (const { key, body } of records.get(at) ?? []) {
        if (body === null) present.delete(key);
        else present.add(key);
      }
      const since = progress.deletions?.heldSinceMs ?? null;
      if (since !== null && held === null)
        held = {
          atMs: committedAtMs,
          missing: missingAt(client, collection, { present, atMs: committedAtMs }),
        };
      if (since !== null || held === null) continue;
      const { atMs, missing } = held;
      const isGiven = approvals.some(
        (each) => each.atMs >= atMs - DECIDED_BEFORE_MS && each.atMs <= committedAtMs,
      );
      const gone = missing.filter(
        (key) => present.has(key) && !wasShown(client, collection, { key, sinceMs: atMs }),
      );
      if (!isGiven && gone.length > 0)
        problems.push(`a hold ended although rows are missing still: ${collection}`);
      held = null;
    }
    return problems;
  });
}

/** Published rows that the last scans of their scopes did not bring. */
function missingAt(
  { scans }: HubClient,
  collection: CollectionName,
  { present, atMs }: { present: ReadonlySet<string>; atMs: number },
): string[] {
  return [...present].filter((key) => {
    const [scope, id] =
      collection === 'afterschool-users' ? (splitCompositeKey(key) ?? ['', key]) : ['', key];
    const last = scans.findLast(
      (scan) =>
        scan.collection === collection && scan.scope === scope && scan.isConclusive && scan.endedAtMs <= atMs,
    );
    return last !== undefined && !last.ids.has(id);
  });
}

function wasShown(
  { shown }: HubClient,
  collection: CollectionName,
  { key, sinceMs }: { key: string; sinceMs: number },
): boolean {
  const [scope, id] = collection === 'afterschool-users' ? (splitCompositeKey(key) ?? ['', key]) : ['', key];
  return (shown.get(`${collection} ${scope} ${id}`) ?? []).some(
    (each) => each >= sinceMs - DECIDED_BEFORE_MS,
  );
}

function isApproved(
  { approvals }: TenantWorld,
  collection: CollectionName,
  removal: Pick<Removal, 'key' | 'atMs'>,
): boolean {
  return approvals.some(
    (approval) =>
      approval.collection === collection && approval.atMs <= removal.atMs && approval.keys.has(removal.key),
  );
}

/** Invariant 3: a class is published without students only after two answers that say so, or as new after its removal. */
function problemsOfEmptied(world: TenantWorld, collection: CollectionName): string[] {
  const { broker, client, hub, losses } = world;
  if (collection !== 'class-students' || losses.length > 0) return [];
  const full = new Set<string>();
  return (broker.history.get(collection) ?? []).flatMap(({ key, body, committedAtMs: atMs }) => {
    if (body === null) {
      full.delete(key);
      return [];
    }
    const { students } = JSON.parse(body.toString()) as ClassStudents;
    if (students.length > 0) {
      full.add(key);
      return [];
    }
    // That the class itself was gone is a miss too.
    const misses = (client.saidEmpty.get(key) ?? 0) + hub.departuresOf('classes', key).length;
    const isBelieved = !full.has(key) || misses >= 2 || isApproved(world, collection, { key, atMs });
    return isBelieved ? [] : [`emptied after a single answer: ${key}`];
  });
}

function groupBy(
  records: readonly CommittedRecord[],
  by: (record: CommittedRecord) => number,
): readonly CommittedRecord[][] {
  return [...Map.groupBy(records, by).values()];
}
