import { planCatchUp, type CatchUpPlan } from '../core/catch-up-plan.ts';
import {
  CHAIN_COLLECTIONS,
  type ChainCollection,
  type CollectionName,
  type TopicSuffix,
} from '../model/collections.ts';
import { allOffsets, isFirstLoadOver, type Offsets, type Progress } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topics.ts';
import type { Ownership, TenantLog } from '../log/log.ts';
import type { IndexPosition, TenantState } from '../state/index-store.ts';
import { ChainReplay, type ChainReplayParts } from './chains/chain-replay.ts';
import type { WriterStart } from './writer-start.ts';
import { readEnds, type TopicEnds } from './topic-ends.ts';
import { replayLog, type Behind, type ReplayLogParts } from './replay-log.ts';
import { recordTopicLosses, type DerivedProgress, type TopicLossParts } from './topic-losses.ts';
import type { Emit } from './events.ts';

export interface CatchUpParts extends ReplayLogParts, TopicLossParts {
  readonly collections: readonly CollectionName[];
  readonly log: TenantLog;
  readonly state: TenantState;
  readonly emit: Emit;
  /** Undefined where absences and their changes are not mirrored. */
  readonly chains?: Pick<ChainReplayParts, 'decode' | 'reader' | 'absentSinceMs'> | undefined;
}

interface BehindWith extends Behind {
  readonly derived: DerivedProgress;
  readonly how: 'resumed' | 'rebuilt';
  readonly why: string;
  /** What the log says, less what it has lost. */
  readonly progress: Progress | null;
}

/** Makes every collection's index equal to the log (design, steps 2 and 3), and says where writing begins. */
export async function catchUp(
  parts: CatchUpParts,
  ownership: Ownership,
  signal: AbortSignal,
): Promise<ReadonlyMap<CollectionName, WriterStart>> {
  const ends = await readEnds(parts, topicsOf(parts, parts.collections));
  const starts = new Map<CollectionName, WriterStart>();
  const behind: BehindWith[] = [];
  for (const collection of parts.collections) {
    const logged = ownership.progress.get(collection) ?? null;
    const derivedLogged = derivedOf(parts, collection, ownership);
    const index = parts.state.collection(collection);
    const position = await index.position();
    const { progress, derived, hasLost } = await recordTopicLosses(parts, {
      progress: logged,
      derived: derivedLogged,
      ends,
      position,
      recordedAtMs: ownership.recordedAtMs.get(collection) ?? null,
      signal,
    });
    const wasComplete = wasFirstLoadOver(ownership, { derived, hasLost });
    const isApart = [...derived.values()].some((each) => each?.transactionId !== progress?.transactionId);
    const plan = hasLost
      ? rebuildBecause('a topic was deleted, recreated or cut off')
      : ownership.unreadable?.has(collection) === true
        ? rebuildBecause('its newest record in progress cannot be decoded')
        : isApart
          ? rebuildBecause('absences were not mirrored for some time')
          : derived.size > 0 && isMappingNew(parts, progress, position)
            ? rebuildBecause('`drop` or `pseudonymise` was changed')
            : planCatchUp({
                // The index stands where all of its topics do.
                progress:
                  progress === null
                    ? null
                    : { ...progress, offsets: allOffsets([progress, ...derived.values()]) },
                index: position,
                transactionIds: commonIds(ownership, [collection, ...derived.keys()]),
                nowMs: parts.now(),
              });
    if (plan.kind === 'current' && position !== null) {
      const start = await writerStart(parts, collection, { progress, derived, position });
      starts.set(collection, { ...start, isFirstLoadOver: wasComplete === true });
      await report(parts, { collection, how: 'current', why: '' }, starts);
      continue;
    }
    const isResumed = plan.kind === 'resume' && position !== null;
    const replay = isResumed ? await index.resume(position) : await index.rebuild();
    behind.push({
      collection,
      derived,
      progress,
      how: isResumed ? 'resumed' : 'rebuilt',
      why: plan.kind === 'rebuild' ? plan.why : '',
      after: isResumed ? position.offsets : {},
      replay,
      chains: chainReplay(parts, { progress, derived, replay, isResumed, wasComplete }),
    });
  }
  const readUpTo = await replayLog(parts, behind, signal);
  for (const { collection, progress, derived, replay, how, why, chains } of behind) {
    await chains?.finish();
    // A log that lost its progress, or was told to have lost records, still shows how far its data goes.
    const topics = [collection, ...derived.keys()];
    const read = [...topics, 'rejects' as const].map((topic) => ({ offsets: readUpTo.get(topic) ?? {} }));
    const offsets = allOffsets([...read, progress, ...derived.values()]);
    const position = positionOf(parts, progress, {
      offsets,
      firstOffsets: startsOf(parts, topics, ends),
      mapping: chains === null ? undefined : (parts.chains?.reader.mapping ?? null),
    });
    await replay.finish(position);
    const start = await writerStart(parts, collection, { progress, derived, position });
    const { lastFirstSequence: lastSequence, isFirstLoadOver } = chains ?? {};
    starts.set(collection, { ...start, lastSequence, isFirstLoadOver });
    await report(parts, { collection, how, why }, starts);
  }
  return starts;
}

/**
 * The chain index knows students by what the mapping makes of them. A process with another mapping may have rebuilt it and
 * committed nothing, so the index says its mapping itself.
 */
function isMappingNew(
  { chains }: CatchUpParts,
  progress: Progress | null,
  index: IndexPosition | null,
): boolean {
  if (progress === null) return false;
  const published = progress.mapping ?? null;
  const inForce = chains?.reader.mapping ?? null;
  const indexed = index?.mapping === undefined ? published : index.mapping;
  return published !== inForce || indexed !== inForce;
}

function rebuildBecause(why: string): Extract<CatchUpPlan, { kind: 'rebuild' }> {
  return { kind: 'rebuild', why };
}

/** Transactions that told of all of these: an index from a time when one was not mirrored knows nothing of it. */
function commonIds({ transactionIds }: Ownership, collections: readonly CollectionName[]): Set<string> {
  const [first = new Set<string>(), ...others] = collections.map((name) => new Set(transactionIds.get(name)));
  return others.reduce((common, ids) => common.intersection(ids), first);
}

/** Where the collections derived from one stand; none for most. */
function derivedOf(parts: CatchUpParts, collection: CollectionName, ownership: Ownership): DerivedProgress {
  if (parts.chains === undefined || collection !== 'absence-versions') return new Map();
  return new Map(CHAIN_COLLECTIONS.map((name) => [name, ownership.progress.get(name) ?? null]));
}

/** Whether all absences were told at least once; null: as far as `progress` tells, nobody knows. */
function wasFirstLoadOver(
  { progress, loadedBefore }: Ownership,
  now: { derived: DerivedProgress; hasLost: boolean },
): boolean | null {
  const told = now.derived.get('absence-changes') ?? null;
  if (told !== null && progress.has('absence-changes')) return isFirstLoadOver(told);
  return !now.hasLost && loadedBefore?.has('absence-changes') === true ? true : null;
}

function chainReplay(
  parts: CatchUpParts,
  options: Pick<ChainReplayParts, 'replay' | 'isResumed' | 'wasComplete'> & {
    progress: Progress | null;
    derived: DerivedProgress;
  },
): ChainReplay | null {
  const { progress, derived, ...how } = options;
  if (parts.chains === undefined || derived.size === 0) return null;
  const whole = progress?.lastCompleteFull ?? null;
  const isOfBoth = whole?.passId === derived.get('absence-changes')?.lastCompleteFull?.passId;
  const topic = topicName(parts, 'absence-versions');
  const completeUpTo =
    whole === null || !isOfBoth
      ? null
      : (partition: number): number => whole.offsets[partitionName(topic, partition)] ?? -1;
  return new ChainReplay({ ...parts.chains, ...how, completeUpTo });
}

/** Where the partitions of a collection's topics begin, of those that do not begin at 0. */
function startsOf(
  parts: CatchUpParts,
  suffixes: readonly TopicSuffix[],
  { firstOffsets }: TopicEnds,
): Offsets {
  const topics = new Set([...suffixes, 'rejects' as const].map((suffix) => topicName(parts, suffix)));
  return Object.fromEntries(
    Object.entries(firstOffsets).filter(
      ([name, first]) => first > 0 && topics.has(name.slice(0, name.lastIndexOf('/'))),
    ),
  );
}

function positionOf(
  parts: CatchUpParts,
  progress: Progress | null,
  at: Pick<IndexPosition, 'offsets' | 'firstOffsets' | 'mapping'>,
): IndexPosition {
  return {
    sequence: progress?.sequence ?? 0,
    // Without any transaction yet: an id of its own, so that every read can still be checked.
    transactionId: progress?.transactionId ?? parts.randomId(),
    committedAtMs: parts.now(),
    ...at,
  };
}

async function writerStart(
  parts: CatchUpParts,
  collection: CollectionName,
  at: { progress: Progress | null; derived: DerivedProgress; position: IndexPosition },
): Promise<WriterStart> {
  const index = parts.state.collection(collection);
  return {
    progress: at.progress,
    derived: at.derived,
    indexed: at.position.transactionId,
    offsets: at.position.offsets,
    firstOffsets: at.position.firstOffsets,
    knownRows: await index.count('rows'),
    knownRejects: await index.count('rejects'),
  };
}

async function report(
  parts: CatchUpParts,
  done: { collection: CollectionName; how: 'current' | 'resumed' | 'rebuilt'; why: string },
  starts: ReadonlyMap<CollectionName, WriterStart>,
): Promise<void> {
  const start = starts.get(done.collection);
  const hasChains = parts.chains !== undefined && done.collection === 'absence-versions';
  const index = parts.state.collection(done.collection);
  const contradictions = hasChains ? await index.count('contradictions') : null;
  parts.emit({
    type: 'caught-up',
    ...done,
    rows: start?.knownRows ?? 0,
    rejects: start?.knownRejects ?? 0,
    progress: start?.progress ?? null,
    contradictions,
  });
}

/** The topics that collections are written to, and `rejects`. */
function topicsOf(parts: CatchUpParts, collections: readonly CollectionName[]): readonly TopicSuffix[] {
  return [...collections, 'rejects', ...chainTopics(parts)];
}

function chainTopics({ chains, collections }: CatchUpParts): readonly ChainCollection[] {
  return chains !== undefined && collections.includes('absence-versions') ? CHAIN_COLLECTIONS : [];
}
