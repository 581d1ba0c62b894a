import { hash } from 'node:crypto';
import type { CollectionName } from '../../../src/model/collections.ts';
import { compositeKey, splitCompositeKey } from '../../../src/model/keys.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { isGivenAway } from '../../oracle/absences.ts';
import type { Row } from '../../oracle/history.ts';
import { notAsTheHub, wronglyPublished, type Mirrored } from '../../oracle/oracle.ts';
import { problemsOfCounts, problemsOfHashes } from '../../oracle/progress.ts';
import { problemsOfEntries } from '../chains/index-problems.ts';
import { problemsOfMapping } from '../chains/mapping-problems.ts';
import { DROPPED } from '../chains/mirrored-absences.ts';
import { AFTERSCHOOL_USERS, afterschoolOf, canClearRejects, isNamed, isReadWhole } from './afterschools.ts';
import { evidenceOf } from './evidence.ts';
import { isApproved } from './removals.ts';
import { ROW_COLLECTIONS } from './tenant-hub.ts';
import type { TenantWorld } from './tenant-world.ts';

/* Asks the oracle about a history: invariants 1, 2, 4, 5, 6, 8, 11, 12, and rows on hold. */

const VERSIONS = 'absence-versions';

/** Rejects of a record that was given to another student are its own matter (invariant 11). */
function mirroredIn(world: TenantWorld, isAnswered = false): Mirrored {
  const { hub, absences, collections, losses } = world;
  const evidence = new Map(evidenceOf(world.broker, isAnswered || losses.length === 0 ? 'ever' : 'now'));
  const isOwn = ({ key }: { key: string }) =>
    !isGiven(world, splitCompositeKey(key) ?? []) && !isOfScope(key);
  evidence.set('rejects', (evidence.get('rejects') ?? []).filter(isOwn));
  const recorded = [...ROW_COLLECTIONS, VERSIONS, 'rejects'];
  return {
    evidence,
    history: {
      collections: recorded.filter((name) => name === 'rejects' || collections.some((each) => each === name)),
      of: (collection) => hub.history.of(collection),
    },
    chains: absences?.hub.soundChains(isAnswered),
  };
}

function isGiven({ hub }: TenantWorld, [collection, key = '']: readonly string[]): boolean {
  return collection === VERSIONS && isGivenAway(hub.history.of(VERSIONS).get(key));
}

/** Whether a reject stands for a class or an afterschool that could not be read, and for no row of the hub. */
export function isOfScope(key: string): boolean {
  const [collection, row = ''] = splitCompositeKey(key) ?? [];
  return collection === 'class-students' || (collection === AFTERSCHOOL_USERS && row.endsWith('|*'));
}

/** Checks every record ever committed. */
export function problemsOfLog(world: TenantWorld): string[] {
  const { manner, losses, absences } = world;
  const mirrored = mirroredIn(world, true);
  const { evidence } = mirrored;
  const changed = new Set(evidence.get(VERSIONS)?.map(({ key, transaction }) => `${transaction} ${key}`));
  const isHonest = manner.liesOften === 0 && manner.paging === 'keyset' && losses.length === 0;
  const problems = wronglyPublished(mirrored, {
    // An incremental sync that began before a full one, and ends after it, takes its watermark back: rows are read once more.
    clocksAgree: false,
    lost: losses.map(({ topic }) => topic),
    orderOf: (topic) => ({
      clocksAgree: true,
      without: absences === null ? [] : DROPPED,
      lostAt: losses
        .filter((loss) => loss.topic === topic || (topic !== 'rejects' && loss.topic === 'rejects'))
        .map(({ transactions }) => transactions),
      // A person may approve what another tenant's empty hub, or one with too few rights, does not show.
      isExcused: ({ key, publishedAtMs: atMs, transaction = 0 }) =>
        topic === 'rejects' ||
        !isHonest ||
        isApproved(world, { collection: topic as CollectionName, key, atMs }) ||
        !isNamed(world, { topic, key }, world.broker.transactions[transaction]?.by) ||
        isGiven(world, [topic, key]),
      // A version that is published under another mapping takes its absence along, which may show it so already.
      mayRepeat: ({ transaction, value }) =>
        topic === 'absences' && changed.has(`${transaction} ${String(value?.['sourcedId'])}`),
    }),
  });
  for (const collection of world.collections) {
    const first = evidence.get('progress')?.find(({ key }) => key === collection)?.value?.['sequence'] ?? 1;
    if (first !== 1) problems.push(`progress ${collection} does not begin with 1`);
  }
  if (absences === null) return problems;
  for (const { key, body, headers, transaction } of world.broker.recordsOf('absence-changes'))
    if (body !== null && headers['content-hash'] !== hash('sha256', body, 'hex').slice(0, 32))
      problems.push(`not the hash of the event: ${key} in transaction ${transaction}`);
  return [...problems, ...problemsOfMapping(absences), ...problemsOfCounts(evidenceOf(world.broker))];
}

interface Compared {
  /** Keys that must be as at the hub; default: all. */
  readonly isWanted?: (collection: string, key: string) => boolean;
  /** Keys that the topic may have although the hub does not. */
  readonly mayStay?: (collection: string, key: string) => boolean;
}

/** Invariant 5. */
export function differencesFromHub(world: TenantWorld, { isWanted, mayStay }: Compared = {}): string[] {
  const { hub, collections, broker } = world;
  const mirrored = mirroredIn(world);
  const wanted = new Map<string, Map<string, Row>>();
  const want = (topic: string, key: string, row: Row | null | undefined): void => {
    const rows = wanted.get(topic) ?? new Map<string, Row>();
    wanted.set(topic, rows);
    if (row != null && isWanted?.(topic, key) !== false) rows.set(key, row);
  };
  const isUnreadable = (topic: string, key: string): boolean =>
    hub.history.of('rejects').get(compositeKey(topic, key))?.at(-1)?.row != null;
  const rejected = broker.viewOf('rejects');
  for (const topic of mirrored.history.collections) {
    for (const [key, states] of hub.history.of(topic)) {
      const isOwn =
        topic === 'rejects'
          ? collections.some((name) => key.startsWith(`${name}|`)) &&
            !isGiven(world, splitCompositeKey(key) ?? [])
          : !isUnreadable(topic, key) &&
            !(isGiven(world, [topic, key]) && rejected.has(compositeKey(topic, key)));
      if (isOwn && isNamed(world, { topic, key })) want(topic, key, states.at(-1)?.row);
    }
  }
  // A class that was never readable is not known, and Rollcall does not ask for its students.
  if (collections.includes('class-students')) {
    const known = broker.viewOf('classes');
    for (const id of hub.rowsOf('classes').keys())
      want(
        'class-students',
        id,
        known.has(id) ? { classId: id, students: [...new Set(hub.studentsOf(id))] } : null,
      );
  }
  return notAsTheHub(mirrored, wanted, {
    without: world.absences === null ? [] : DROPPED,
    mayStay: (topic, key) =>
      mayStay?.(topic, key) === true ||
      isUnreadable(topic, key) ||
      (topic === 'class-students' && hub.studentsOf(key) !== null) ||
      (topic === 'rejects' && (!canClearRejects(world) || !isNamed(world, { topic, key }))),
  });
}

/** Invariant 2: once an incremental sync has read everything that changed, no change is missing. */
export function problemsAfterIncremental(world: TenantWorld): string[] {
  // The rows of a lost topic are no changes: the full sync publishes them again.
  if (!world.canTrustIncrementals || world.losses.length > 0 || world.absences !== null) return [];
  const isWanted = (topic: string, key: string): boolean =>
    ROW_COLLECTIONS.some((name) => name === topic) && isReadWhole(world, topic as CollectionName, key);
  return differencesFromHub(world, { isWanted, mayStay: () => true }).map(
    (why) => `the incremental sync missed a change: ${why}`,
  );
}

/** Rows of these afterschools that are not published as the hub has them. */
export function notLoaded(world: TenantWorld, afterschools: readonly string[]): readonly string[] {
  if (afterschools.length === 0) return [];
  const isWanted = (topic: string, key: string): boolean => {
    const isOf = topic === AFTERSCHOOL_USERS || topic === 'rejects';
    return isOf && afterschools.includes(afterschoolOf(topic, key) ?? '');
  };
  return differencesFromHub(world, { isWanted, mayStay: () => true });
}

/** Invariant 3: rows on hold are still there. */
export async function problemsOfRowsOnHold(world: TenantWorld): Promise<string[]> {
  const { collections } = await waitingIn(world);
  const listed = new Set(
    collections.flatMap(({ collection, keys }) => keys.map((key) => `${collection} ${key}`)),
  );
  const gone = collections.flatMap(({ collection, keys }) => {
    const view = world.broker.viewOf(collection);
    return keys.filter((key) => !view.has(key)).map((key) => `${collection} ${key}`);
  });
  const isListed = (topic: string, key: string): boolean => listed.has(`${topic} ${key}`);
  // While something is on hold, other vanished rows wait as well, and may not be listed yet.
  const mayWait = (each: string): boolean => each.startsWith('left over') || each.includes('class-students');
  return [
    ...(world.losses.length > 0 ? [] : gone.map((what) => `on hold, but gone from the topic: ${what}`)),
    ...differencesFromHub(world, {
      isWanted: (topic, key) => topic !== 'class-students' || !isListed(topic, key),
      mayStay: isListed,
    }).filter((each) => collections.length === 0 || !mayWait(each)),
  ];
}

function waitingIn({ broker, redis, collections }: TenantWorld): ReturnType<typeof readWaiting> {
  const last = (name: CollectionName) =>
    broker.transactions.findLast(({ progress }) => progress.collection === name)?.progress ?? null;
  return readWaiting(redis.memory.deletions, new Map(collections.map((name) => [name, last(name)])));
}

/** Invariants 1 and 5, when everything was approved. */
export async function problemsOfEnd(world: TenantWorld): Promise<string[]> {
  const waiting = (await waitingIn(world)).collections.flatMap(({ collection, keys }) => {
    // The list of a class that exists, but could not be read since the topics were lost, can neither be read nor removed.
    const canGo = keys.filter((key) => collection !== 'class-students' || world.hub.studentsOf(key) === null);
    const what = `still on hold although everything was approved: ${collection}, ${canGo.length}`;
    return canGo.length > 0 ? [what] : [];
  });
  const unread = [...world.broker.viewOf('rejects').keys()].filter(isOfScope);
  return [
    ...waiting,
    ...unread.map((key) => `rejected still, although it can be read: ${key}`),
    ...differencesFromHub(world),
    ...(await problemsOfIndexes(world)),
  ];
}

/** Invariant 1. */
async function problemsOfIndexes({ broker, redis, collections }: TenantWorld): Promise<string[]> {
  const evidence = evidenceOf(broker, 'now');
  const problems = collections.map((name) => problemsOfHashes(redis.memory.collection(name), name, evidence));
  return (await Promise.all(problems)).flat();
}

/** Invariants 1, 5 and 6 once absences are recovered from the topics alone. */
export async function problemsOfAbsences(world: TenantWorld): Promise<string[]> {
  const { absences } = world;
  if (absences === null) return [];
  const entries = await problemsOfEntries(absences, evidenceOf(world.broker));
  return [...differencesFromHub(world), ...(await problemsOfIndexes(world)), ...entries];
}
