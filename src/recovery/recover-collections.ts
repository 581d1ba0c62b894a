import {
  DERIVED_COLLECTIONS,
  STATE_TOPIC,
  type CollectionName,
  type TopicSuffix,
} from '../model/collections.ts';
import { allOffsets, offsetsOf, type Offsets } from '../model/progress.ts';
import { topicName } from '../model/topic-names.ts';
import type { Ownership } from '../log/log.ts';
import type { IndexPosition, IndexReplay } from '../state/index-store.ts';
import { absencesLost, planRecovery, type Recovery } from './plan-recovery.ts';
import type { WriterStart } from '../table/collection-progress.ts';
import { readEnds, type TopicEnds } from './topic-ends.ts';
import { topicsWith } from './topic-losses.ts';
import { applyLog, type Behind } from './apply-log.ts';
import type { Tenant } from '../table/tenant.ts';
import { decodeEntry } from '../core/absences/entry-codec.ts';
import { HASH_OF_NO_ROW } from '../core/rows/content-hash.ts';

interface BehindWith extends Behind {
  readonly recovery: Recovery;
}

/** Makes every collection's index equal to the log (architecture, "Taking a tenant over"), and returns where each writer starts. */
export async function recoverCollections(
  tenant: Tenant,
  collections: readonly CollectionName[],
  { ownership, signal }: { ownership: Ownership; signal: AbortSignal },
): Promise<ReadonlyMap<CollectionName, WriterStart>> {
  const ends = await readEnds(tenant, topicsOf(tenant, collections));
  const starts = new Map<CollectionName, WriterStart>();
  const behind: BehindWith[] = [];
  for (const collection of collections) {
    const recovery = await planRecovery(tenant, { collection, ownership, ends, signal });
    if (recovery.absences === 'lost') starts.set(collection, await lostStart(tenant, recovery));
    else if (recovery.plan.kind === 'current' && recovery.position !== null && !recovery.lacksAbsences)
      starts.set(collection, await startOf(tenant, recovery, currentPosition(tenant, recovery, ends)));
    else behind.push(await beginReplay(tenant, recovery));
  }
  const readUpTo = await applyLog(tenant, behind, signal);
  for (const each of behind)
    starts.set(each.collection, await finishReplay(tenant, each, { readUpTo, ends }));
  return starts;
}

/** The index stays as it is, so that the next start finds the same index. */
async function lostStart(tenant: Tenant, recovery: Recovery): Promise<WriterStart> {
  const start = await startOf(tenant, { ...recovery, plan: { kind: 'current' } }, null);
  return { ...start, lost: absencesLost(tenant.tenantId), isChangelogComplete: true };
}

async function beginReplay(tenant: Tenant, recovery: Recovery): Promise<BehindWith> {
  const { collection, plan, position, absences } = recovery;
  const index = tenant.state.collection(collection);
  const isResumed = plan.kind !== 'rebuild' && position !== null;
  const replay = isResumed ? await index.resume(position) : await index.rebuild();
  return {
    collection,
    recovery,
    after: isResumed ? position.offsets : {},
    replay,
    absences: absences === 'changelog' ? tenant.absences : undefined,
  };
}

async function finishReplay(
  tenant: Tenant,
  { recovery, replay }: BehindWith,
  { readUpTo, ends }: { readUpTo: Offsets; ends: TopicEnds },
): Promise<WriterStart> {
  const { progress, derived, lacksAbsences, isRemapped } = recovery;
  const mayLackRows = lacksAbsences || progress?.lastCompleteFull == null;
  if (recovery.absences !== null && mayLackRows) await presumeVersions(replay);
  // The data itself shows how far it goes, even if `progress` was lost, or says that records were lost.
  const topics = topicsWith(recovery);
  const reached = topics.map((topic) => ({ offsets: offsetsOf(readUpTo, topic) }));
  const position: IndexPosition = {
    sequence: progress?.sequence ?? 0,
    // Before the first transaction, the index gets an id of its own, so that every read can still be checked. Under
    // another mapping it gets one, too: otherwise, if the configuration went back to the old mapping, the next start
    // would find the index current.
    transactionId: isRemapped
      ? tenant.runtime.randomId()
      : (progress?.transactionId ?? tenant.runtime.randomId()),
    committedAtMs: tenant.runtime.now(),
    offsets: allOffsets([...reached, progress, ...derived.values()]),
    firstOffsets: startsIn(tenant, topics, ends),
  };
  await replay.finish(position);
  return startOf(tenant, recovery, position);
}

/**
 * The position of an index whose changelog is incomplete, with the first offsets of the changelog: the changelog may
 * have been cut off, and the index does not know this.
 */
function currentPosition(tenant: Tenant, recovery: Recovery, ends: TopicEnds): IndexPosition | null {
  const { position, absences } = recovery;
  if (position === null || absences !== 'index') return position;
  const firstOffsets = { ...position.firstOffsets, ...startsIn(tenant, [STATE_TOPIC], ends) };
  return { ...position, firstOffsets };
}

/** First offsets of the topics' partitions that do not begin at 0. */
function startsIn(tenant: Tenant, suffixes: readonly TopicSuffix[], { firstOffsets }: TopicEnds): Offsets {
  const topics = new Set(suffixes.map((suffix) => topicName(tenant, suffix)));
  return Object.fromEntries(
    Object.entries(firstOffsets).filter(
      ([name, first]) => first > 0 && topics.has(name.slice(0, name.lastIndexOf('/'))),
    ),
  );
}

async function startOf(
  tenant: Tenant,
  recovery: Recovery,
  position: IndexPosition | null,
): Promise<WriterStart> {
  const { collection, plan, progress, derived, absences, lacksAbsences, isFirstLoadOver } = recovery;
  const index = tenant.state.collection(collection);
  const start = {
    progress,
    // What was published before absences were switched off is no longer complete.
    derived: lacksAbsences ? incomplete(derived) : derived,
    indexed: position?.transactionId ?? '',
    isChangelogComplete: absences === 'changelog',
    isFirstLoadOver,
    offsets: position?.offsets ?? {},
    firstOffsets: position?.firstOffsets,
    knownRows: await index.count('rows'),
    knownRejects: await index.count('rejects'),
  };
  // A count does not show whether Redis lost the index meanwhile. If no row is known, no look-up would show it
  // either.
  if (position !== null) await index.lookup('rows', [], position.transactionId);
  tenant.emit({
    type: 'caught-up',
    collection,
    how: HOW[plan.kind],
    why: plan.kind === 'rebuild' ? plan.why : '',
    rows: start.knownRows,
    rejects: start.knownRejects,
    progress,
    contradictions: derived.size > 0 ? await index.count('contradictions') : null,
    derived: [...derived.values()].filter((each) => each !== null),
  });
  return start;
}

const HOW = { current: 'current', resume: 'resumed', rebuild: 'rebuilt' } as const;

function incomplete(derived: Recovery['derived']): Recovery['derived'] {
  return new Map(
    [...derived].map(([name, each]) => [name, each === null ? null : { ...each, lastCompleteFull: null }]),
  );
}

/** The topics that collections are written to. */
function topicsOf({ absences }: Tenant, collections: readonly CollectionName[]): readonly TopicSuffix[] {
  const hasAbsences = absences !== undefined && collections.includes('absence-versions');
  return [...collections, 'rejects', ...(hasAbsences ? [...DERIVED_COLLECTIONS, STATE_TOPIC] : [])];
}

/**
 * Adds a row with unknown content for each version that an absence has as `present` and that the log does not hold,
 * because the log lost it. A full sync then finds the row, or treats it like any missing row (invariant 3).
 */
export async function presumeVersions(
  replay: Pick<IndexReplay, 'entries' | 'lookup' | 'write'>,
): Promise<void> {
  for await (const entries of replay.entries('absences')) {
    const present = entries.flatMap(([key, value]) =>
      decodeEntry(key, value).members.flatMap(({ id, state }) => (state === 'present' ? [id] : [])),
    );
    const rows = await replay.lookup('rows', present);
    const lost = present.filter((_id, at) => (rows[at] ?? null) === null);
    if (lost.length > 0)
      await replay.write(lost.map((key) => ({ area: 'rows', key, value: HASH_OF_NO_ROW })));
  }
}
