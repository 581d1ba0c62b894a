import {
  CHAIN_COLLECTIONS,
  STATE_TOPIC,
  type CollectionName,
  type TopicSuffix,
} from '../../model/collections.ts';
import { allOffsets, type Offsets, type Progress } from '../../model/progress.ts';
import { partitionName, topicName } from '../../model/topic-names.ts';
import type { Ownership } from '../../log/log.ts';
import type { IndexPosition, TenantState } from '../../state/index-store.ts';
import { ChainImport } from '../chains/chain-import.ts';
import { presumeVersions } from '../chains/presume-versions.ts';
import { planRecovery, type Recovery, type RecoveryPlanParts } from './plan-recovery.ts';
import type { WriterStart } from './writer-start.ts';
import { readEnds, type TopicEnds } from '../topic-ends.ts';
import { applyLog, type Behind, type ApplyLogParts } from './apply-log.ts';
import type { Emit } from '../pipeline-events.ts';

export interface RecoveryParts extends ApplyLogParts, RecoveryPlanParts {
  readonly collections: readonly CollectionName[];
  readonly state: TenantState;
  readonly emit: Emit;
}

interface BehindWith extends Behind {
  readonly recovery: Recovery;
}

/** Makes every collection's index equal to the log (design, steps 2 and 3), and returns where each writer starts. */
export async function recoverCollections(
  parts: RecoveryParts,
  ownership: Ownership,
  signal: AbortSignal,
): Promise<ReadonlyMap<CollectionName, WriterStart>> {
  const ends = await readEnds(parts, topicsOf(parts));
  const starts = new Map<CollectionName, WriterStart>();
  const behind: BehindWith[] = [];
  for (const collection of parts.collections) {
    const recovery = await planRecovery(parts, { collection, ownership, ends, signal });
    if (recovery.plan.kind === 'current' && recovery.position !== null)
      starts.set(collection, await startOf(parts, recovery, currentPosition(parts, recovery, ends)));
    else behind.push(await beginReplay(parts, recovery));
  }
  const readUpTo = await applyLog(parts, behind, signal);
  for (const each of behind) starts.set(each.collection, await finishReplay(parts, each, { readUpTo, ends }));
  return starts;
}

async function beginReplay(parts: RecoveryParts, recovery: Recovery): Promise<BehindWith> {
  const { collection, plan, position, derived, isChangelogComplete } = recovery;
  const index = parts.state.collection(collection);
  const isResumed = plan.kind === 'resume' && position !== null;
  const replay = isResumed ? await index.resume(position) : await index.rebuild();
  const isImport = parts.chains !== undefined && derived.size > 0 && !isChangelogComplete;
  return {
    collection,
    recovery,
    after: isResumed ? position.offsets : {},
    replay,
    readsChangelog: isChangelogComplete,
    chains: isImport ? chainImport(parts, recovery, replay) : null,
  };
}

function chainImport(
  parts: RecoveryParts,
  { progress, derived, wasFirstLoadOver }: Recovery,
  replay: Behind['replay'],
): ChainImport | null {
  if (parts.chains === undefined) return null;
  const whole = progress?.lastCompleteFull ?? null;
  const isOfBoth = whole?.passId === derived.get('absence-changes')?.lastCompleteFull?.passId;
  const topic = topicName(parts, 'absence-versions');
  const completeUpTo =
    whole === null || !isOfBoth
      ? null
      : (partition: number): number => whole.offsets[partitionName(topic, partition)] ?? -1;
  return new ChainImport({ ...parts.chains, replay, completeUpTo, wasComplete: wasFirstLoadOver });
}

async function finishReplay(
  parts: RecoveryParts,
  { recovery, replay, chains, readsChangelog }: BehindWith,
  read: { readUpTo: ReadonlyMap<TopicSuffix, Offsets>; ends: TopicEnds },
): Promise<WriterStart> {
  const { progress, derived } = recovery;
  await chains?.finish();
  if (readsChangelog && progress?.lastCompleteFull == null) await presumeVersions(replay);
  // The data shows how far it goes, even if `progress` was lost or records that records were lost.
  const topics = topicsWith(recovery);
  const reached = topics.map((topic) => ({ offsets: read.readUpTo.get(topic) ?? {} }));
  const position: IndexPosition = {
    sequence: progress?.sequence ?? 0,
    // Before the first transaction the index gets an id of its own, so that every read can still be checked.
    transactionId: progress?.transactionId ?? parts.runtime.randomId(),
    committedAtMs: parts.runtime.now(),
    offsets: allOffsets([...reached, progress, ...derived.values()]),
    firstOffsets: startsIn(parts, topics, read.ends),
    absenceState: readsChangelog ? progress?.absenceState : undefined,
    mapping: derived.size > 0 ? (parts.chains?.reader.mapping ?? null) : undefined,
  };
  await replay.finish(position);
  const start = await startOf(parts, recovery, position);
  if (chains === null) return start;
  return { ...start, lastSequence: chains.lastFirstSequence, isFirstLoadOver: chains.isFirstLoadOver };
}

/**
 * The position of an index whose changelog is incomplete, with the changelog's first offsets: the changelog may have
 * been cut off, and the index does not know that.
 */
function currentPosition(parts: RecoveryParts, recovery: Recovery, ends: TopicEnds): IndexPosition | null {
  const { position, isChangelogComplete, derived } = recovery;
  if (position === null || isChangelogComplete || derived.size === 0) return position;
  const firstOffsets = { ...position.firstOffsets, ...startsIn(parts, [STATE_TOPIC], ends) };
  return { ...position, firstOffsets };
}

/** First offsets of the topics' partitions that do not begin at 0. */
function startsIn(
  parts: RecoveryParts,
  suffixes: readonly TopicSuffix[],
  { firstOffsets }: TopicEnds,
): Offsets {
  const topics = new Set(suffixes.map((suffix) => topicName(parts, suffix)));
  return Object.fromEntries(
    Object.entries(firstOffsets).filter(
      ([name, first]) => first > 0 && topics.has(name.slice(0, name.lastIndexOf('/'))),
    ),
  );
}

async function startOf(
  parts: RecoveryParts,
  recovery: Recovery,
  position: IndexPosition | null,
): Promise<WriterStart> {
  const { collection, progress, derived, isChangelogComplete, wasFirstLoadOver } = recovery;
  const index = parts.state.collection(collection);
  const start = {
    progress,
    derived,
    indexed: position?.transactionId ?? '',
    isChangelogComplete,
    isFirstLoadOver: wasFirstLoadOver === true,
    offsets: position?.offsets ?? {},
    firstOffsets: position?.firstOffsets,
    knownRows: await index.count('rows'),
    knownRejects: await index.count('rejects'),
  };
  await report(parts, recovery, start);
  return start;
}

async function report(
  parts: RecoveryParts,
  { collection, plan, derived }: Recovery,
  start: { progress: Progress | null; knownRows: number; knownRejects: number },
): Promise<void> {
  const how = { current: 'current', resume: 'resumed', rebuild: 'rebuilt' } as const;
  const index = parts.state.collection(collection);
  parts.emit({
    type: 'caught-up',
    collection,
    how: how[plan.kind],
    why: plan.kind === 'rebuild' ? plan.why : '',
    rows: start.knownRows,
    rejects: start.knownRejects,
    progress: start.progress,
    contradictions: derived.size > 0 ? await index.count('contradictions') : null,
    derived: [...derived.values()].filter((each) => each !== null),
  });
}

/** The topics that an index reflects. */
function topicsWith({ collection, derived }: Recovery): readonly TopicSuffix[] {
  const changelog = derived.size > 0 ? [STATE_TOPIC] : [];
  return [collection, ...derived.keys(), ...changelog, 'rejects'];
}

/** The topics that collections are written to. */
function topicsOf({ chains, collections }: RecoveryParts): readonly TopicSuffix[] {
  const hasChains = chains !== undefined && collections.includes('absence-versions');
  return [...collections, 'rejects', ...(hasChains ? [...CHAIN_COLLECTIONS, STATE_TOPIC] : [])];
}
