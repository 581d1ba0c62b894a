import type { Completeness } from '../core/completeness.ts';
import { isNotable } from '../core/deletion-guard.ts';
import { triageCandidates } from '../core/missing-rows.ts';
import type { MissingKey } from '../state/index-store.ts';
import type { KeyedRow } from '../core/row-changes.ts';
import { MAX_UNSEEN_KEYS, type FoundKeys } from './table.ts';
import { hasSeen, type ActiveSync } from './active-sync.ts';
import { findApproved, releaseApproved, type Release } from './approved-deletions.ts';
import { RECHECK_AT_MOST, recheck } from './recheck.ts';
import type { DeletionResult, JudgedSync } from './judged-sync.ts';
import {
  countWithheld,
  withholdAll,
  reconcileList,
  withhold,
  type DeletionParts,
  type Withheld,
} from './withheld-deletions.ts';

const NONE_UNSEEN: FoundKeys = { keys: [], count: 0 };
const NONE_APPROVED: ReadonlySet<string> = new Set();
const NONE_ASKED: Asked = { gone: [], unanswered: [] };

/**
 * Resolves the rows that a full sync did not see: removes them, rechecks them, leaves them to a second sync, or withholds
 * them for a decision. This is the only place where a missing row leads to a removal (invariant 3).
 */
export async function resolveMissing(
  parts: DeletionParts,
  sync: ActiveSync,
  judged: JudgedSync,
): Promise<DeletionResult> {
  const { collection, memory } = parts;
  const { known } = parts.writer;
  const { completeness } = judged;
  if (sync.seen === null) return nothingResolved(0, () => Promise.resolve());
  // The hub properly returns no rows. Lost rights look the same.
  const whyEmpty = completeness.kind === 'unproven' && completeness.isEmpty ? completeness.why : null;
  const approved = approvedFor(parts, judged, whyEmpty !== null);
  const isDecided = (key: string): boolean => approved.has(key) || !known.isWanted(key);
  const waited = withoutKeys(await memory.missing(collection), isDecided);
  const keysThatBecameEmpty = new Set(keysOf(judged.becameEmpty));
  // A row that this sync has read was not missed by two syncs in a row.
  const missedBefore = new Map(
    [...waited].filter(
      ([key, { becameEmpty, isAllEmpty = false }]) =>
        !hasSeen(sync, 'rows', key) && !becameEmpty && isAllEmpty === (whyEmpty !== null),
    ),
  );
  const stillWaiting = new Map(
    [...waited].filter(([key]) => !hasSeen(sync, 'rows', key) || keysThatBecameEmpty.has(key)),
  );
  if (completeness.kind === 'unproven') parts.emit({ kind: 'unproven', collection, why: completeness.why });
  if (completeness.kind === 'unproven' && whyEmpty === null) {
    const withheldBefore = await countWithheld(memory, collection, parts.writer.progress);
    return nothingResolved(withheldBefore, () => memory.setMissing(collection, stillWaiting));
  }
  const listed = withoutKeys(await memory.withheld(collection), isDecided);
  const release = await findApproved(parts, sync, { ...judged, approved });
  const unseen = known.areAllSeen(sync) ? NONE_UNSEEN : await known.unseen('rows', sync, approved);
  const candidates = unseen.keys;
  // One answer without content proves as little as one without rows: the next sync must confirm it.
  const late = judged.becameEmpty.filter(({ key }) => key !== null && !approved.has(key));
  const isConfirmed = ({ key }: KeyedRow): boolean => waited.get(key ?? '')?.becameEmpty === true;
  const becameEmpty = late.filter(isConfirmed);
  const becameEmptyOnce = keysOf(late.filter((row) => !isConfirmed(row)));
  const needsSecondSync = completeness.kind !== 'proven';
  const countable = needsSecondSync ? candidates.filter((key) => missedBefore.has(key)) : candidates;
  const losses = [...countable, ...keysOf(becameEmpty)];
  const knownRows = judged.knownRowsBefore - release.gone.filter((key) => known.isWanted(key)).length;
  const isMany = isNotable({ deletions: losses.length, knownRows }, parts.limits);
  const lossesToWithhold = (): Promise<Withheld | null> =>
    withholdAll({
      parts,
      unseen,
      losses,
      keysThatBecameEmpty: new Set(keysOf(late)),
      listed,
      knownRowsBefore: knownRows,
      whyEmpty,
    });
  const first = await lossesToWithhold();
  const asked =
    first === null
      ? await askAgain(parts, sync, { candidates, missedBefore, needsSecondSync: needsSecondSync || isMany })
      : NONE_ASKED;
  // While the hub was asked, another collection may have tripped the guard.
  const withheld = first ?? (losses.length > 0 ? await lossesToWithhold() : null);
  if (withheld !== null) {
    const waiting = { missed: candidates, becameEmpty: [] };
    const missing = whyEmpty === null ? stillWaiting : missingKeys(sync.stats, waiting, true);
    return withholdLosses(parts, sync, { withheld, release, approved, missing });
  }
  const approvedGone = await releaseApproved(parts, sync, release, approved);
  const lost = {
    gone: asked.gone,
    becameEmpty,
    waiting: { missed: asked.unanswered, becameEmpty: becameEmptyOnce },
  };
  return { ...(await publishLosses(parts, sync, { ...lost, completeness })), isMany, approvedGone };
}

/** An empty answer releases an approved list only if that is the entire collection: the person saw all of it on the list. */
function approvedFor(
  { writer }: DeletionParts,
  { approved = NONE_APPROVED }: JudgedSync,
  isEmpty: boolean,
): ReadonlySet<string> {
  const isAll = approved.size >= Math.min(writer.known.wantedRows, MAX_UNSEEN_KEYS);
  return isEmpty && !isAll ? NONE_APPROVED : approved;
}

function keysOf(rows: readonly KeyedRow[]): string[] {
  return rows.flatMap(({ key }) => key ?? []);
}

/** Publishes the certain losses; the next full sync decides on waiting ones. */
async function publishLosses(
  parts: DeletionParts,
  sync: ActiveSync,
  losses: {
    readonly gone: readonly string[];
    readonly becameEmpty: readonly KeyedRow[];
    readonly waiting: Waiting;
    readonly completeness: Completeness;
  },
): Promise<Omit<DeletionResult, 'approvedGone'>> {
  const { collection, writer, memory } = parts;
  const { gone, becameEmpty, waiting, completeness } = losses;
  await writer.publish(sync, becameEmpty);
  const recount = await countRemovals(parts, gone.length + becameEmpty.length);
  await writer.remove(sync, 'rows', gone);
  const isShort = completeness.kind === 'needs-second-sync' && completeness.isShort;
  if (isShort) parts.emit({ kind: 'short', collection, why: completeness.why });
  const rowsWaiting = waiting.missed.length + waiting.becameEmpty.length;
  emitWaiting(parts, rowsWaiting, completeness);
  return {
    withheld: 0,
    wantsSecondSync: rowsWaiting > 0 || isShort,
    remember: async () => {
      await recount();
      await reconcileList(parts, null);
      await memory.setMissing(collection, missingKeys(sync.stats, waiting, completeness.kind === 'unproven'));
    },
  };
}

/**
 * Counts removals before their commit, so that the guard knows them even if the process ends. Returns a function that
 * counts them again after the commit: if Redis fell back to an earlier state in between, it has lost the number, and
 * its index does not show that.
 */
async function countRemovals(
  { memory, today, collection }: DeletionParts,
  count: number,
): Promise<() => Promise<void>> {
  if (count === 0) return () => Promise.resolve();
  const day = today();
  const counted = async (): Promise<number> => (await memory.removedOn(day)).get(collection) ?? 0;
  const expected = (await counted()) + count;
  await memory.addRemoved(day, collection, count);
  return async () => {
    const missing = expected - (await counted());
    if (missing > 0) await memory.addRemoved(day, collection, missing);
  };
}

function emitWaiting({ emit, collection }: DeletionParts, rows: number, completeness: Completeness): void {
  if (rows === 0) return;
  const why =
    completeness.kind === 'proven' ? 'they are too many to remove after a single sync' : completeness.why;
  emit({ kind: 'second-sync', collection, rows, why });
}

/** Keys that a full sync missed, or found without content, and that the next one checks. */
interface Waiting {
  readonly missed: readonly string[];
  readonly becameEmpty: readonly string[];
}

function missingKeys(
  { passId }: ActiveSync['stats'],
  by: Waiting,
  isAllEmpty: boolean,
): ReadonlyMap<string, MissingKey> {
  const missed: MissingKey = { passId, becameEmpty: false, isAllEmpty };
  const becameEmpty: MissingKey = { passId, becameEmpty: true };
  return new Map([
    ...by.missed.map((key) => [key, missed] as const),
    ...by.becameEmpty.map((key) => [key, becameEmpty] as const),
  ]);
}

/** Withholds the losses for a decision, and publishes the approved ones. */
async function withholdLosses(
  parts: DeletionParts,
  sync: ActiveSync,
  losses: {
    readonly withheld: Withheld;
    readonly release: Release;
    readonly approved: ReadonlySet<string>;
    readonly missing: ReadonlyMap<string, MissingKey>;
  },
): Promise<DeletionResult> {
  const { withheld, release, approved, missing } = losses;
  const { collection, memory } = parts;
  await withhold(parts, withheld, release.keys);
  parts.emit({ kind: 'withheld', collection, rows: withheld.count, why: withheld.why });
  const approvedGone = await releaseApproved(parts, sync, release, approved);
  return {
    withheld: withheld.count,
    wantsSecondSync: false,
    approvedGone,
    remember: async () => {
      await reconcileList(parts, withheld, release.keys);
      await memory.setMissing(collection, missing);
    },
  };
}

function nothingResolved(withheld: number, remember: () => Promise<void>): DeletionResult {
  return { withheld, wantsSecondSync: false, approvedGone: null, remember };
}

/** `isDecided`: a person has approved the key, or the configuration no longer wants it. */
function withoutKeys<T>(
  keys: ReadonlyMap<string, T>,
  isDecided: (key: string) => boolean,
): ReadonlyMap<string, T> {
  return new Map([...keys].filter(([key]) => !isDecided(key)));
}

interface Asked {
  readonly gone: readonly string[];
  readonly unanswered: readonly string[];
}

/** `gone`: certainly missing keys. `unanswered`: keys that another sync must miss: too many to request, or unanswered. */
async function askAgain(
  parts: DeletionParts,
  sync: ActiveSync,
  losses: {
    readonly candidates: readonly string[];
    readonly missedBefore: ReadonlyMap<string, unknown>;
    readonly needsSecondSync: boolean;
  },
): Promise<Asked> {
  const { missedBefore } = losses;
  const triage = triageCandidates({ ...losses, recheckAtMost: RECHECK_AT_MOST });
  const [controlRow] =
    triage.confirm.length === 0
      ? []
      : await parts.writer.known.someKeys(1, (key) => hasSeen(sync, 'rows', key));
  const asked = await recheck(parts, triage.confirm, controlRow);
  const unaskedTwice = asked.unanswered.filter((key) => missedBefore.has(key));
  const unansweredOnce = asked.unanswered.filter((key) => !missedBefore.has(key));
  return {
    gone: [...triage.remove, ...asked.gone, ...unaskedTwice],
    unanswered: [...triage.wait, ...unansweredOnce],
  };
}
