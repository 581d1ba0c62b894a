import { planCatchUp, type CatchUpPlan } from '../core/catch-up-plan.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import type { Offsets, Progress } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topics.ts';
import type { LoggedRecord, Ownership, TenantLog } from '../publisher/log.ts';
import type { IndexPosition, IndexReplay, TenantState } from '../state/index-store.ts';
import type { WriterStart } from './collection-writer.ts';
import type { Emit } from './events.ts';

export interface CatchUpParts {
  readonly topicPrefix: string;
  readonly tenantId: string;
  readonly collections: readonly CollectionName[];
  readonly log: TenantLog;
  readonly state: TenantState;
  /** `YYYY-MM-DD` of an instant, as the collection counts its days. */
  readonly dayOf: (collection: CollectionName, atMs: number) => string;
  readonly now: () => number;
  readonly randomId: () => string;
  readonly emit: Emit;
}

interface Behind {
  readonly collection: CollectionName;
  readonly plan: Exclude<CatchUpPlan, { kind: 'current' }>;
  /** What the log says, less what it has lost. */
  readonly progress: Progress | null;
  readonly after: Offsets;
  readonly replay: IndexReplay;
}

/** Makes every collection's index equal to the log (design, steps 2 and 3), and says where writing begins. */
export async function catchUp(
  parts: CatchUpParts,
  ownership: Ownership,
  signal: AbortSignal,
): Promise<ReadonlyMap<CollectionName, WriterStart>> {
  const { nextOffsets, firstOffsets } = await readEnds(parts);
  const starts = new Map<CollectionName, WriterStart>();
  const behind: Behind[] = [];
  for (const collection of parts.collections) {
    const progress = ownership.progress.get(collection) ?? null;
    const index = parts.state.collection(collection);
    const position = await index.position();
    const plan = planCatchUp({
      progress,
      index: position,
      transactionIds: ownership.transactionIds,
      nextOffsets,
      firstOffsets,
      nowMs: parts.now(),
    });
    if (plan.kind === 'current' && position !== null) {
      starts.set(collection, await writerStart(parts, collection, { progress, position }));
      report(parts, { collection, how: 'current', why: '' }, starts);
    } else if (plan.kind === 'resume' && position !== null) {
      behind.push({
        collection,
        plan,
        progress,
        after: position.offsets,
        replay: await index.resume(position),
      });
    } else if (plan.kind === 'rebuild') {
      const kept = plan.dataLost && progress !== null ? await tellLoss(parts, progress) : progress;
      behind.push({ collection, plan, progress: kept, after: {}, replay: await index.rebuild() });
    }
  }
  const readUpTo = await replayLog(parts, behind, signal);
  for (const { collection, plan, progress, replay } of behind) {
    // A log whose progress was lost still tells how far its data goes.
    const offsets = progress?.offsets ?? readUpTo.get(collection) ?? {};
    const position = positionOf(parts, progress, offsets);
    await replay.finish(position);
    starts.set(collection, await writerStart(parts, collection, { progress, position }));
    const how = plan.kind === 'resume' ? 'resumed' : 'rebuilt';
    report(parts, { collection, how, why: plan.kind === 'rebuild' ? plan.why : '' }, starts);
  }
  return starts;
}

/**
 * A topic that lost records: what was said of completeness and of how far it is no longer holds. Committed before
 * anything else is written there, which would make the topic look whole again.
 */
async function tellLoss(parts: CatchUpParts, progress: Progress): Promise<Progress> {
  const { progress: told } = await parts.log.commit({
    records: [],
    progress: {
      ...progress,
      sequence: progress.sequence + 1,
      transactionId: parts.randomId(),
      complete: false,
      offsets: {},
      watermarkMs: null,
      lastCompleteFull: null,
    },
  });
  return told;
}

function positionOf(parts: CatchUpParts, progress: Progress | null, offsets: Offsets): IndexPosition {
  return {
    sequence: progress?.sequence ?? 0,
    // Without any transaction yet: an id of its own, so that every read can still be checked.
    transactionId: progress?.transactionId ?? parts.randomId(),
    committedAtMs: parts.now(),
    offsets,
  };
}

async function writerStart(
  parts: CatchUpParts,
  collection: CollectionName,
  at: { progress: Progress | null; position: IndexPosition },
): Promise<WriterStart> {
  const index = parts.state.collection(collection);
  return {
    progress: at.progress,
    indexed: at.position.transactionId,
    offsets: at.position.offsets,
    knownRows: await index.count('rows'),
    knownRejects: await index.count('rejects'),
  };
}

function report(
  parts: CatchUpParts,
  done: { collection: CollectionName; how: 'current' | 'resumed' | 'rebuilt'; why: string },
  starts: ReadonlyMap<CollectionName, WriterStart>,
): void {
  const start = starts.get(done.collection);
  parts.emit({
    type: 'caught-up',
    ...done,
    rows: start?.knownRows ?? 0,
    rejects: start?.knownRejects ?? 0,
    progress: start?.progress ?? null,
  });
}

async function readEnds(parts: CatchUpParts): Promise<{ nextOffsets: Offsets; firstOffsets: Offsets }> {
  const topics: TopicSuffix[] = [...parts.collections, 'rejects'];
  const nextOffsets: Record<string, number> = {};
  const firstOffsets: Record<string, number> = {};
  for (const { topic, partitions } of await parts.log.ranges(topics)) {
    for (const [partition, { low, high }] of partitions.entries()) {
      const name = partitionName(topicName(parts, topic), partition);
      nextOffsets[name] = high;
      firstOffsets[name] = low;
    }
  }
  return { nextOffsets, firstOffsets };
}

/** One reading for all: joining a consumer group costs more than the records of most collections. */
async function replayLog(
  parts: CatchUpParts,
  behind: readonly Behind[],
  signal: AbortSignal,
): Promise<ReadonlyMap<CollectionName, Offsets>> {
  const readUpTo = new Map<CollectionName, Record<string, number>>();
  if (behind.length === 0) return readUpTo;
  const removals = new TodaysRemovals(parts);
  const replays = new Map(behind.map(({ collection, replay }) => [collection, replay]));
  await parts.log.read({
    from: [
      ...behind.map(({ collection, after }) => ({ topic: collection, after })),
      // Shared by all collections, and small: read whole; replaying it again changes nothing.
      { topic: 'rejects' as const, after: {} },
    ],
    onBatch: (records) => {
      noteOffsets(parts, records, readUpTo);
      return writeToReplays(records, replays, removals);
    },
    signal,
  });
  await removals.remember();
  return readUpTo;
}

function noteOffsets(
  parts: CatchUpParts,
  records: readonly LoggedRecord[],
  readUpTo: Map<CollectionName, Record<string, number>>,
): void {
  const last = records.at(-1);
  if (last === undefined || last.topic === 'rejects') return;
  const offsets = readUpTo.get(last.topic as CollectionName) ?? {};
  offsets[partitionName(topicName(parts, last.topic), last.partition)] = last.offset;
  readUpTo.set(last.topic as CollectionName, offsets);
}

/**
 * Counts the removals of the day that a replay meets. What the guard has let out today must be known however the
 * memory of it was lost.
 */
class TodaysRemovals {
  readonly #parts: CatchUpParts;
  readonly #counts = new Map<CollectionName, number>();

  constructor(parts: CatchUpParts) {
    this.#parts = parts;
  }

  note(collection: CollectionName, records: readonly LoggedRecord[]): void {
    // Its tombstones are our own decision, and what the guard counts there are no tombstones.
    if (collection === 'schedules') return;
    const { dayOf, now } = this.#parts;
    const today = dayOf(collection, now());
    for (const { value, publishedAtMs } of records) {
      if (value !== null || dayOf(collection, publishedAtMs) !== today) continue;
      this.#counts.set(collection, (this.#counts.get(collection) ?? 0) + 1);
    }
  }

  async remember(): Promise<void> {
    const { dayOf, now, state } = this.#parts;
    for (const [collection, count] of this.#counts) {
      const today = dayOf(collection, now());
      const known = (await state.deletions.removedOn(today)).get(collection) ?? 0;
      if (count > known) await state.deletions.addRemoved(today, collection, count - known);
    }
  }
}

async function writeToReplays(
  records: readonly LoggedRecord[],
  replays: ReadonlyMap<CollectionName, IndexReplay>,
  removals: TodaysRemovals,
): Promise<void> {
  const first = records[0];
  if (first === undefined) return;
  if (first.topic !== 'rejects') {
    const collection = first.topic as CollectionName;
    removals.note(collection, records);
    await replays
      .get(collection)
      ?.write(records.map(({ key, value, hash }) => ({ area: 'rows', key, hash: hashOf(value, hash) })));
    return;
  }
  for (const [collection, replay] of replays) {
    const changes = records.flatMap(({ key, value, hash }) => {
      const parts = splitCompositeKey(key);
      if (parts === null || parts[0] !== collection) return [];
      return [{ area: 'rejects' as const, key: parts[1], hash: hashOf(value, hash) }];
    });
    if (changes.length > 0) await replay.write(changes);
  }
}

/** A record without a hash was not written by Rollcall: a hash that no row has lets it be published again. */
function hashOf(value: Buffer | null, hash: Buffer | null): Buffer | null {
  if (value === null) return null;
  return hash?.length === HASH_BYTES ? hash : Buffer.alloc(HASH_BYTES);
}

const HASH_BYTES = 16;
