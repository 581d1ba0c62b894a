import {
  hasGrownAnew,
  hasLostRecords,
  planCatchUp,
  STAMPS_DIFFER_MS,
  type CatchUpPlan,
} from '../core/catch-up-plan.ts';
import {
  CHAIN_COLLECTIONS,
  type ChainCollection,
  type CollectionName,
  type TopicSuffix,
} from '../model/collections.ts';
import { splitCompositeKey } from '../model/keys.ts';
import { allOffsets, offsetsOf, offsetsWithout, type Offsets, type Progress } from '../model/progress.ts';
import { partitionName, topicName } from '../model/topics.ts';
import type { LoggedRecord, Ownership, TenantLog } from '../publisher/log.ts';
import type { IndexPosition, IndexReplay, TenantState } from '../state/index-store.ts';
import { ChainReplay, type ChainReplayParts } from './chains/chain-replay.ts';
import type { WriterStart } from './collection-writer.ts';
import { readEnds, type TopicEnds } from './topic-ends.ts';
import { TodaysRemovals } from './todays-removals.ts';
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
  /** Undefined where absences and their changes are not mirrored. */
  readonly chains?: Pick<ChainReplayParts, 'decode' | 'absentSinceMs'> | undefined;
}

type DerivedProgress = ReadonlyMap<ChainCollection, Progress | null>;

interface Behind {
  readonly collection: CollectionName;
  readonly derived: DerivedProgress;
  /** Beside the rows: what follows from them. */
  readonly chains: ChainReplay | null;
  readonly how: 'resumed' | 'rebuilt';
  readonly why: string;
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
  const ends = await readEnds(parts, topicsOf(parts, parts.collections));
  const starts = new Map<CollectionName, WriterStart>();
  const behind: Behind[] = [];
  for (const collection of parts.collections) {
    const logged = ownership.progress.get(collection) ?? null;
    const derivedLogged = derivedOf(parts, collection, ownership);
    const index = parts.state.collection(collection);
    const position = await index.position();
    const { progress, derived, hasLost } = await tellLosses(parts, {
      progress: logged,
      derived: derivedLogged,
      ends,
      position,
      toldAtMs: ownership.toldAtMs.get(collection) ?? null,
      signal,
    });
    const isApart = [...derived.values()].some((each) => each?.transactionId !== progress?.transactionId);
    const plan = hasLost
      ? rebuildBecause('a topic was deleted, recreated or cut off')
      : isApart
        ? rebuildBecause('absences were not mirrored for some time')
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
      starts.set(collection, await writerStart(parts, collection, { progress, derived, position }));
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
      chains: chainReplay(parts, { progress, derived, replay, isResumed }),
    });
  }
  const readUpTo = await replayLog(parts, behind, signal);
  for (const { collection, progress, derived, replay, how, why, chains } of behind) {
    await chains?.finish();
    // A log that lost its progress, or was told to have lost records, still shows how far its data goes.
    const topics = [collection, ...derived.keys()];
    const read = [...topics, 'rejects' as const].map((topic) => ({ offsets: readUpTo.get(topic) ?? {} }));
    const offsets = allOffsets([...read, progress, ...derived.values()]);
    const position = positionOf(parts, progress, { offsets, firstOffsets: startsOf(parts, topics, ends) });
    await replay.finish(position);
    const start = await writerStart(parts, collection, { progress, derived, position });
    starts.set(collection, { ...start, lastSequence: chains?.lastFirstSequence });
    await report(parts, { collection, how, why }, starts);
  }
  return starts;
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

function chainReplay(
  parts: CatchUpParts,
  options: { progress: Progress | null; derived: DerivedProgress; replay: IndexReplay; isResumed: boolean },
): ChainReplay | null {
  const { progress, derived, replay, isResumed } = options;
  if (parts.chains === undefined || derived.size === 0) return null;
  const wasWhole = (derived.get('absence-changes')?.lastCompleteFull ?? null) !== null;
  const whole = progress?.lastCompleteFull ?? null;
  const isOfBoth = whole?.passId === derived.get('absence-changes')?.lastCompleteFull?.passId;
  const topic = topicName(parts, 'absence-versions');
  const wholeUpTo =
    whole === null || !isOfBoth
      ? null
      : (partition: number): number => whole.offsets[partitionName(topic, partition)] ?? -1;
  return new ChainReplay({ ...parts.chains, replay, isResumed, wasWhole, wholeUpTo });
}

/**
 * Topics that lost records: what was said of their completeness and of how far they are no longer holds. Committed
 * before anything else is written there, which would make a topic look whole again.
 */
async function tellLosses(
  parts: CatchUpParts,
  options: {
    progress: Progress | null;
    derived: DerivedProgress;
    ends: TopicEnds;
    position: IndexPosition | null;
    toldAtMs: number | null;
    signal: AbortSignal;
  },
): Promise<{ progress: Progress | null; derived: DerivedProgress; hasLost: boolean }> {
  const { progress, derived } = options;
  if (progress === null) return { progress, derived, hasLost: false };
  const { ends, position, toldAtMs } = options;
  const knownFirstOffsets = position?.firstOffsets;
  // Of a topic whose loss was told, only the index made from what was left knows how far that went.
  const indexed = position?.transactionId === progress.transactionId ? position : null;
  const offsets = allOffsets([indexed, progress, ...derived.values()]);
  const lost: TopicSuffix[] = [];
  for (const suffix of [progress.collection, 'rejects' as const, ...derived.keys()]) {
    // What other collections rejected may be newer than this one's progress, and yet is as it should be.
    const told = offsetsOf(allOffsets([progress, ...derived.values()]), suffix);
    const isLost =
      hasLostRecords({ ...ends, offsets: offsetsOf(offsets, suffix), knownFirstOffsets }) ||
      (await isAnotherTopic(parts, suffix, { offsets: told, toldAtMs, signal: options.signal }));
    if (isLost) lost.push(suffix);
  }
  if (lost.length === 0) return { progress, derived, hasLost: false };
  const transaction = { sequence: progress.sequence + 1, transactionId: parts.randomId(), complete: false };
  const isOwnLost = lost.includes(progress.collection) || lost.includes('rejects');
  const told = await parts.log.commit({
    records: [],
    tellsLossOf: lost,
    progress: {
      ...progress,
      ...transaction,
      offsets: offsetsWithout(progress.offsets, lost),
      ...(isOwnLost ? { watermarkMs: null, lastCompleteFull: null } : {}),
    },
    derived: [...derived].map(([name, each]) => {
      const isWhole = each !== null && !lost.includes(name);
      return Object.assign({}, each ?? progress, transaction, {
        collection: name,
        offsets: isWhole ? each.offsets : {},
        lastCompleteFull: isWhole ? each.lastCompleteFull : null,
      });
    }),
  });
  const derivedTold = new Map(told.derived.map((each) => [each.collection as ChainCollection, each]));
  return { progress: told.progress, derived: derivedTold, hasLost: true };
}

/** Whether a topic of that name was made anew and has grown beyond its old length since. */
async function isAnotherTopic(
  parts: CatchUpParts,
  suffix: TopicSuffix,
  known: { offsets: Offsets; toldAtMs: number | null; signal: AbortSignal },
): Promise<boolean> {
  const { offsets, toldAtMs, signal } = known;
  if (toldAtMs === null || Object.keys(offsets).length === 0) return false;
  const sinceMs = toldAtMs + STAMPS_DIFFER_MS;
  const sinceOffsets = await parts.log.offsetsSince(suffix, sinceMs);
  if (!hasGrownAnew({ offsets, sinceOffsets })) return false;
  // Markers of transactions are stamped by the brokers, whose clock may be ahead of ours: only a record is proof.
  let isProven = false;
  const after = Object.fromEntries(
    Object.entries(offsets).map(([name, last]) => [name, Math.min(last, (sinceOffsets[name] ?? last) - 1)]),
  );
  await parts.log.read({
    from: [{ topic: suffix, after }],
    onBatch: (records) => {
      isProven ||= records.some(({ partition, offset, publishedAtMs }) => {
        const last = offsets[partitionName(topicName(parts, suffix), partition)] ?? -1;
        return offset <= last && publishedAtMs >= sinceMs;
      });
      return Promise.resolve();
    },
    signal,
  });
  return isProven;
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
  at: { offsets: Offsets; firstOffsets: Offsets },
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

/** One reading for all: joining a consumer group costs more than the records of most collections. */
async function replayLog(
  parts: CatchUpParts,
  behind: readonly Behind[],
  signal: AbortSignal,
): Promise<ReadonlyMap<TopicSuffix, Offsets>> {
  const readUpTo = new Map<TopicSuffix, Record<string, number>>();
  if (behind.length === 0) return readUpTo;
  const removals = new TodaysRemovals(parts);
  const replays = new Map(behind.map((each) => [each.collection, each]));
  const own = behind.map(async ({ collection, after }) => ({
    topic: collection,
    after: await removals.since(collection, after),
  }));
  await parts.log.read({
    from: [
      ...(await Promise.all(own)),
      ...behind.flatMap(({ after, chains }) =>
        (chains === null ? [] : CHAIN_COLLECTIONS).map((topic) => ({ topic, after })),
      ),
      // Shared by all collections, and small: read whole; replaying it again changes nothing.
      { topic: 'rejects' as const, after: {} },
    ],
    onBatch: (records) => {
      noteOffsets(parts, records, readUpTo);
      removals.note(records);
      return writeToReplays(parts, records, replays);
    },
    signal,
  });
  await removals.remember();
  return readUpTo;
}

function noteOffsets(
  parts: CatchUpParts,
  records: readonly LoggedRecord[],
  readUpTo: Map<TopicSuffix, Record<string, number>>,
): void {
  const last = records.at(-1);
  if (last === undefined) return;
  const offsets = readUpTo.get(last.topic) ?? {};
  offsets[partitionName(topicName(parts, last.topic), last.partition)] = last.offset;
  readUpTo.set(last.topic, offsets);
}

async function writeToReplays(
  parts: CatchUpParts,
  all: readonly LoggedRecord[],
  replays: ReadonlyMap<CollectionName, Behind>,
): Promise<void> {
  const records = notYetIndexed(parts, all, replays);
  const first = records[0];
  if (first === undefined) return;
  if (first.topic === 'absences' || first.topic === 'absence-changes') {
    const chains = replays.get('absence-versions')?.chains;
    await (first.topic === 'absences' ? chains?.currents(records) : chains?.steps(records));
    return;
  }
  if (first.topic !== 'rejects') {
    const collection = first.topic as CollectionName;
    const behind = replays.get(collection);
    await behind?.replay.write(
      records.map(({ key, value, hash }) => ({ area: 'rows', key, value: hashOf(value, hash) })),
    );
    await behind?.chains?.versions(records);
    return;
  }
  for (const [collection, { replay }] of replays) {
    const changes = records.flatMap(({ key, value, hash }) => {
      const parts = splitCompositeKey(key);
      if (parts === null || parts[0] !== collection) return [];
      return [{ area: 'rejects' as const, key: parts[1], value: hashOf(value, hash) }];
    });
    if (changes.length > 0) await replay.write(changes);
  }
}

/** A batch is of one partition. Of a collection that is read on, records before its index were only to be counted. */
function notYetIndexed(
  parts: CatchUpParts,
  records: readonly LoggedRecord[],
  replays: ReadonlyMap<CollectionName, Behind>,
): readonly LoggedRecord[] {
  const [first] = records;
  if (first === undefined) return records;
  const { after = {} } = replays.get(first.topic as CollectionName) ?? {};
  const indexed = after[partitionName(topicName(parts, first.topic), first.partition)] ?? -1;
  return first.offset > indexed ? records : records.filter(({ offset }) => offset > indexed);
}

/** A record without a hash was not written by Rollcall: a hash that no row has lets it be published again. */
function hashOf(value: Buffer | null, hash: Buffer | null): Buffer | null {
  if (value === null) return null;
  return hash?.length === HASH_BYTES ? hash : Buffer.alloc(HASH_BYTES);
}

const HASH_BYTES = 16;
