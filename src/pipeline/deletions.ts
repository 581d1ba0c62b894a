import type { Completeness } from '../core/completeness.ts';
import { isNotable, triageCandidates } from '../core/deletion-guard.ts';
import type { MissingKey } from '../state/index-store.ts';
import type { KeyedRow } from '../core/page-decision.ts';
import type { UnseenKeys } from './collection-writer.ts';
import { hasMet, type ActiveSync } from './active-sync.ts';
import { findApproved, releaseApproved, type Release } from './approved-deletions.ts';
import { CONFIRM_AT_MOST, confirmGone } from './confirm-gone.ts';
import { forgetEmpty, resolveEmpty } from './empty-collection.ts';
import type { DeletionResult, JudgedSync } from './judged-sync.ts';
import {
  countWithheld,
  withholdAll,
  reconcileList,
  withhold,
  type DeletionParts,
  type Withheld,
} from './withholding.ts';

const NONE_UNSEEN: UnseenKeys = { keys: [], count: 0 };
const NONE_APPROVED: ReadonlySet<string> = new Set();
const NONE_ASKED: Asked = { gone: [], unanswered: [] };

/**
 * Settles what a full pass did not see: removes it, asks again, waits for a second pass, or withholds it for a
 * person. The only place where the absence of a row leads to a removal (invariant 3).
 */
export async function resolveMissing(
  parts: DeletionParts,
  sync: ActiveSync,
  judged: JudgedSync,
): Promise<DeletionResult> {
  const { collection, writer, memory } = parts;
  const { completeness, approved = NONE_APPROVED } = judged;
  if (sync.seen === null) return nothingResolved(0, () => Promise.resolve());
  const isOver = (key: string): boolean => approved.has(key) || !writer.isWanted(key);
  const waited = withoutKeys(await memory.missing(collection), isOver);
  const keysThatBecameEmpty = new Set(keysOf(judged.becameEmpty));
  // What this pass met was not missed by two passes in a row.
  const missedBefore = new Map(
    [...waited].filter(([key, { becameEmpty }]) => !hasMet(sync, 'rows', key) && !becameEmpty),
  );
  const stillWaiting = new Map(
    [...waited].filter(([key]) => !hasMet(sync, 'rows', key) || keysThatBecameEmpty.has(key)),
  );
  const withheldBefore = await countWithheld(memory, collection, writer.progress);
  if (completeness.kind === 'unproven') {
    parts.emit({ kind: 'unproven', collection, why: completeness.why });
    if (completeness.isEmpty === true) return resolveEmpty(parts, sync, { ...judged, withheldBefore });
    return nothingResolved(withheldBefore, async () => {
      await forgetEmpty(parts);
      await memory.setMissing(collection, stillWaiting);
    });
  }
  const listed = withoutKeys(await memory.withheld(collection), isOver);
  const release = await findApproved(parts, sync, judged);
  const unseen = writer.hasMetAll(sync) ? NONE_UNSEEN : await writer.unseen('rows', sync, approved);
  const candidates = unseen.keys;
  // One answer without content is no more proof than one without rows: the next pass must say the same.
  const late = judged.becameEmpty.filter(({ key }) => key !== null && !approved.has(key));
  const isConfirmed = ({ key }: KeyedRow): boolean => waited.get(key ?? '')?.becameEmpty === true;
  const becameEmpty = late.filter(isConfirmed);
  const becameEmptyOnce = keysOf(late.filter((row) => !isConfirmed(row)));
  const needsSecondSync = completeness.kind === 'needs-second-pass';
  const countable = needsSecondSync ? candidates.filter((key) => missedBefore.has(key)) : candidates;
  const losses = [...countable, ...keysOf(becameEmpty)];
  const knownRows = judged.knownRowsBefore - release.gone.filter((key) => writer.isWanted(key)).length;
  const isMany = isNotable({ deletions: losses.length, knownRows }, parts.limits);
  const isHeld = (): Promise<Withheld | null> =>
    withholdAll({
      parts,
      unseen,
      losses,
      keysThatBecameEmpty: new Set(keysOf(late)),
      listed,
      knownRowsBefore: knownRows,
    });
  const first = await isHeld();
  const asked =
    first === null
      ? await askAgain(parts, sync, { candidates, missedBefore, needsSecondSync: needsSecondSync || isMany })
      : NONE_ASKED;
  // While the hub was asked, another collection may have tripped the guard.
  const held = first ?? (losses.length > 0 ? await isHeld() : null);
  if (held !== null) return withholdLosses(parts, sync, { held, release, approved, stillWaiting });
  const approvedGone = await releaseApproved(parts, sync, release, approved);
  const waiting = { missed: asked.unanswered, becameEmpty: becameEmptyOnce };
  const lost = { gone: asked.gone, becameEmpty, waiting };
  return { ...(await publishLosses(parts, sync, { ...lost, completeness })), isMany, approvedGone };
}

function keysOf(rows: readonly KeyedRow[]): string[] {
  return rows.flatMap(({ key }) => key ?? []);
}

/** Publishes what is lost for certain; what waits is left to the next full sync. */
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
  const lost = gone.length + becameEmpty.length;
  if (lost > 0) await memory.addRemoved(parts.today(), collection, lost);
  await writer.remove(sync, 'rows', gone);
  const isShort = completeness.kind === 'needs-second-pass' && completeness.isShort;
  if (isShort) parts.emit({ kind: 'short', collection, why: completeness.why });
  const rowsWaiting = waiting.missed.length + waiting.becameEmpty.length;
  emitWaiting(parts, rowsWaiting, completeness);
  return {
    withheld: 0,
    wantsSecondSync: rowsWaiting > 0 || isShort,
    remember: async () => {
      await reconcileList(parts, null);
      await memory.setMissing(collection, missingKeys(sync.stats, waiting));
    },
  };
}

function emitWaiting({ emit, collection }: DeletionParts, rows: number, completeness: Completeness): void {
  if (rows === 0) return;
  const isUnproven = completeness.kind === 'needs-second-pass';
  const why = isUnproven ? completeness.why : 'they are too many to be believed at once';
  emit({ kind: 'second-pass', collection, rows, why });
}

/** Keys that a full sync missed, or met without content, and that the next one checks. */
interface Waiting {
  readonly missed: readonly string[];
  readonly becameEmpty: readonly string[];
}

function missingKeys({ passId }: ActiveSync['stats'], by: Waiting): ReadonlyMap<string, MissingKey> {
  const missed: MissingKey = { passId, becameEmpty: false };
  const emptied: MissingKey = { passId, becameEmpty: true };
  return new Map([
    ...by.missed.map((key) => [key, missed] as const),
    ...by.becameEmpty.map((key) => [key, emptied] as const),
  ]);
}

/** What waits for a person; of it, only what a person has approved goes out. */
async function withholdLosses(
  parts: DeletionParts,
  sync: ActiveSync,
  losses: {
    readonly held: Withheld;
    readonly release: Release;
    readonly approved: ReadonlySet<string>;
    readonly stillWaiting: ReadonlyMap<string, MissingKey>;
  },
): Promise<DeletionResult> {
  const { held, release, approved, stillWaiting } = losses;
  const { collection, memory } = parts;
  await withhold(parts, held, release.keys);
  parts.emit({ kind: 'withheld', collection, rows: held.count, why: held.why });
  const approvedGone = await releaseApproved(parts, sync, release, approved);
  return {
    withheld: held.count,
    wantsSecondSync: false,
    approvedGone,
    remember: async () => {
      await reconcileList(parts, held, release.keys);
      await memory.setMissing(collection, stillWaiting);
    },
  };
}

function nothingResolved(withheld: number, remember: () => Promise<void>): DeletionResult {
  return { withheld, wantsSecondSync: false, approvedGone: null, remember };
}

/** `isOver`: a person has approved the key, or the configuration no longer wants it. */
function withoutKeys<T>(
  keys: ReadonlyMap<string, T>,
  isOver: (key: string) => boolean,
): ReadonlyMap<string, T> {
  return new Map([...keys].filter(([key]) => !isOver(key)));
}

interface Asked {
  readonly gone: readonly string[];
  readonly unanswered: readonly string[];
}

/** What is gone for certain, and what must be missed by another pass: one too many to ask for, or not answered. */
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
  const triage = triageCandidates({ ...losses, confirmAtMost: CONFIRM_AT_MOST });
  const [controlRow] =
    triage.confirm.length === 0 ? [] : await parts.writer.someKeys(1, (key) => hasMet(sync, 'rows', key));
  const asked = await confirmGone(parts, triage.confirm, controlRow);
  const unaskedTwice = asked.unanswered.filter((key) => missedBefore.has(key));
  const unansweredOnce = asked.unanswered.filter((key) => !missedBefore.has(key));
  return {
    gone: [...triage.remove, ...asked.gone, ...unaskedTwice],
    unanswered: [...triage.wait, ...unansweredOnce],
  };
}
