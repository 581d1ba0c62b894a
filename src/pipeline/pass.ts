import { countAgrees, judgeCompleteness, type Completeness, type FullWalk } from '../core/completeness.ts';
import type { KeyedReading, PageTally } from '../core/page-decision.ts';
import { SeenKeys } from '../core/seen-keys.ts';
import { RollcallError } from '../errors.ts';
import type { LateRowWatch } from '../core/late-rows.ts';
import type { WalkEnd } from '../hub/hub.ts';
import type { PassMode } from '../model/progress.ts';
import type { CollectionWriter } from './collection-writer.ts';
import type { PassOptions } from './pass-runner.ts';
import type { ActivePass } from './active-pass.ts';
import { settleDeletions } from './deletions.ts';
import type { ForeignWatch } from './foreign-watch.ts';
import { countWithheld, type DeletionParts } from './withholding.ts';
import { readWalks, type Walked } from './read-walks.ts';
import { newPassStats, type PassStats } from './pass-stats.ts';

/** A page of a source, already read into rows with keys. */
export interface SourcePage {
  readonly readings: readonly KeyedReading[];
  readonly hubTimeMs: number | null;
  readonly total: number | null;
  readonly stamp: number;
}

/** `isGone`: the parent itself is not there, which says nothing of its rows. */
export type SourceEnd = WalkEnd & { readonly isGone?: boolean | undefined };

/** One walk of a collection: most have one, nested ones have one for each parent. */
export interface SourceWalk {
  /** No row is known below its parent: its rows tell nothing of whose they are. */
  readonly isOfNewParent?: boolean | undefined;
  open(options: {
    modifiedAfterMs: number | undefined;
    stamp: () => number;
    signal: AbortSignal;
  }): AsyncGenerator<SourcePage, SourceEnd>;
}

export interface PassParts {
  readonly writer: CollectionWriter;
  readonly walks: (order?: 'known-first') => Promise<readonly SourceWalk[]>;
  /** Throws when the topics no longer hold what a full pass compares with. */
  readonly requireRecords: () => Promise<void>;
  readonly deletions: DeletionParts;
  /** Null where rows are asked for by the keys of others: those cannot be another tenant's. */
  readonly foreign: ForeignWatch | null;
  readonly overlapMs: number;
  /** The watermark that the session began with: another process, with another overlap, may have stored it. */
  readonly inheritedWatermarkMs: number | null;
  /** Finds rows that deltas have missed; lives as long as the session. */
  readonly late: LateRowWatch;
  /** Hub clock minus ours at the last pass; kept by the caller between passes. */
  readonly clock: { skewMs: number | null };
  /** Whether the last full pass proved nothing: until one does, changes come out, but the watermark stays. */
  readonly trust: { isSuspect: boolean };
  readonly now: () => number;
  readonly randomId: () => string;
  readonly onPage: (stats: PassStats, tally: PageTally) => void;
}

export type PassResult =
  | {
      readonly kind: 'complete';
      readonly stats: PassStats;
      readonly withheld: number;
      readonly wantsSecondPass: boolean;
      /** It lost so many rows that the other collections are to be looked at before that second pass. */
      readonly wantsOthersFirst?: boolean | undefined;
      /** Approved removals that are gone from the topics now; null or undefined: none were approved. */
      readonly approvedGone?: number | null | undefined;
    }
  /** The hub gave no proof that its list is whole, or none at all: nothing was removed, the watermark stays. */
  | {
      readonly kind: 'suspect';
      readonly stats: PassStats;
      readonly why: string;
      readonly withheld: number;
      /** What it says is listed for a person: only that person can believe it. */
      readonly isListed?: boolean | undefined;
      /** As above, where only some of what was approved could be listed. */
      readonly approvedGone?: number | null | undefined;
    }
  /** A delta that would bring most of the collection: a full pass does that better. */
  | { readonly kind: 'wholesale'; readonly stats: PassStats };

/** Reads a collection once, whole or since the watermark, and publishes what changed. Throws what the hub throws. */
export async function runPass(
  parts: PassParts,
  mode: PassMode,
  { signal, acceptNew = false, approved, again }: PassOptions & { readonly signal: AbortSignal },
): Promise<PassResult> {
  const { writer, foreign } = parts;
  const { collection } = parts.deletions;
  if (acceptNew) await foreign?.clear(collection);
  // One that came with other rows itself must be read to tell when its own are back.
  else if (foreign?.isFlagged(collection) === false) await foreign.requireOwn(collection);
  const localStartMs = parts.now();
  const stats = newPassStats({ passId: parts.randomId(), mode, startedAtMs: localStartMs });
  const isFull = mode === 'FULL';
  const pass: ActivePass = {
    stats,
    seen: isFull ? new SeenKeys(seedFrom(stats.passId)) : null,
    met: isFull ? undefined : new SeenKeys(seedFrom(stats.passId)),
    seenByOthers: isFull ? new SeenKeys(seedFrom(stats.passId)) : null,
    seenRejects: isFull ? new SeenKeys(seedFrom(stats.passId)) : null,
    stamp: writer.stamp(),
    again,
    // What is published again on request is not new.
    onNew: isFull && again === undefined ? (key, stampMs) => parts.late.noteNew(key, stampMs) : undefined,
  };
  if (isFull) parts.late.beginFull(writer.progress?.watermarkMs ?? null);
  writer.begin(pass);
  try {
    const knownRowsBefore = await writer.countWanted();
    if (isFull) await parts.requireRecords();
    const walked = await readWalks({ parts, pass, knownRowsBefore, acceptNew, localStartMs, signal });
    if (walked === 'wholesale') return { kind: 'wholesale', stats };
    return await complete({ parts, pass, knownRowsBefore, approved, ...walked });
  } catch (error) {
    // What was read before the hub failed is as good as ever, and should not wait for the next pass.
    if (error instanceof RollcallError && error.code.startsWith('HUB_')) {
      await writer.flush(pass, error.code === 'HUB_FOREIGN_DATA' ? 'incomplete' : null);
    }
    throw error;
  } finally {
    writer.end(pass);
  }
}

async function complete(
  options: {
    parts: PassParts;
    pass: ActivePass;
    knownRowsBefore: number;
    approved: ReadonlySet<string> | undefined;
  } & Walked,
): Promise<PassResult> {
  const { parts, pass, clock } = options;
  const { writer } = parts;
  const { stats } = pass;
  const doubt = whyDoubtful(options.ends);
  // A row passed over as the older one may have been the newer: it must be read again (invariant 2).
  const reached = writer.progress?.watermarkMs ?? clock.watermarkMs;
  const mayAdvance = stats.rowsOvertaken === 0 && (pass.seen !== null || !parts.trust.isSuspect);
  const watermarkMs = mayAdvance ? clock.watermarkMs : reached;
  if (pass.seen === null) {
    if (doubt !== null) {
      await writer.flush(pass);
      return { kind: 'suspect', stats, why: doubt, withheld: 0 };
    }
    const { memory, collection } = parts.deletions;
    stats.rowsWithheld = await countWithheld(memory, collection, writer.progress);
    await writer.flush(pass, { watermarkMs, lastCompleteFull: null });
    parts.late.endDelta(stats.startedAtMs);
    return { kind: 'complete', stats, withheld: stats.rowsWithheld, wantsSecondPass: false };
  }
  const completeness = judge(options, pass.seen);
  const settled = await settleDeletions(parts.deletions, pass, {
    completeness,
    knownRowsBefore: options.knownRowsBefore,
    emptied: options.emptied,
    approved: options.approved,
  });
  const { withheld, wantsSecondPass, approvedGone, empty, remember } = settled;
  stats.rowsWithheld = withheld;
  const isBelieved = empty === 'approved';
  const isSuspect = completeness.kind === 'unproven' && completeness.isSuspect && !isBelieved;
  const why = doubt ?? (isSuspect ? completeness.why : null);
  parts.trust.isSuspect = why !== null;
  if (why !== null) {
    await writer.flush(pass, 'incomplete');
    await remember();
    return { kind: 'suspect', stats, why, withheld, isListed: empty === 'listed', approvedGone };
  }
  // An offset walk may have skipped a row that is still there, unless the count says otherwise.
  const byOffset = options.ends.some(({ paging }) => paging === 'offset');
  if (!byOffset || countAgrees({ ...stats, distinctRows: pass.seen.size })) await clearRejects(writer, pass);
  await writer.flush(pass, {
    watermarkMs,
    isProven: completeness.kind === 'proven' || isBelieved,
    lastCompleteFull: {
      passId: stats.passId,
      startedAtMs: stats.startedAtMs,
      // Of the rows that could be read: those rejected are counted beside.
      rows: pass.seen.size - (pass.seenRejects?.size ?? 0) + stats.rowsWithoutId,
      rowsRejected: stats.rowsRejected,
      rowsWithheld: withheld,
    },
  });
  await remember();
  await noteLate(parts, stats);
  const wantsOthersFirst = settled.isMany === true;
  return { kind: 'complete', stats, withheld, wantsSecondPass, wantsOthersFirst, approvedGone };
}

/** What the full pass says of the overlap; remembered for `status` where it says anything. */
async function noteLate(
  { late, deletions, clock, now, overlapMs }: PassParts,
  stats: PassStats,
): Promise<void> {
  const { startedAtMs } = stats;
  stats.late = late.endFull({ startedAtMs, endedAtMs: now() + (clock.skewMs ?? 0) });
  if (stats.late !== null) await deletions.memory.setLate(deletions.collection, { ...stats.late, overlapMs });
}

function judge(
  options: { pass: ActivePass; knownRowsBefore: number } & Walked,
  seen: SeenKeys,
): Completeness {
  const { ends, pass } = options;
  return judgeCompleteness({
    ending: endingOf(ends),
    // An empty answer for one parent of several is as doubtful as a row skipped by an offset walk.
    byOffset: ends.some(({ paging, sign }) => paging === 'offset' || (sign === 'no-rows' && ends.length > 1)),
    distinctRows: seen.size,
    rowsWithoutId: pass.stats.rowsWithoutId,
    totalAtStart: pass.stats.totalAtStart,
    totalAtEnd: pass.stats.totalAtEnd,
    knownRows: options.knownRowsBefore,
  });
}

function endingOf(ends: readonly SourceEnd[]): FullWalk['ending'] {
  if (ends.some(({ sign }) => sign === 'missing-list')) return 'no-list';
  if (ends.some(({ sign }) => sign === 'repeated-page')) return 'repeated';
  if (!ends.every(({ sign }) => sign === 'no-rows')) return 'hub-sign';
  return ends.some(({ isGone }) => isGone === true) ? 'gone' : 'empty';
}

/** Why a walk that ended says nothing of what the hub holds; null when it does. */
function whyDoubtful(ends: readonly SourceEnd[]): string | null {
  const ending = endingOf(ends);
  if (ending === 'no-list') return 'a response had no list';
  return ending === 'repeated' ? 'the hub gives the same page for ever' : null;
}

/** Rows that could not be read and have left the hub, or read again under another content. */
async function clearRejects(writer: CollectionWriter, pass: ActivePass): Promise<void> {
  if (writer.knownRejects === 0 || pass.seenRejects === null) return;
  const gone = await writer.unseen('rejects', pass);
  await writer.remove(pass, 'rejects', gone.keys);
}

/** A 32-bit seed out of a random id's hexadecimal digits. */
function seedFrom(passId: string): number {
  return Number.parseInt(passId.replaceAll('-', '').slice(0, 8), 16) | 0;
}
