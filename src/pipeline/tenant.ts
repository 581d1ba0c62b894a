import { setTimeout as delay } from 'node:timers/promises';
import { localDate } from '../core/full-pull-time.ts';
import { LateRowWatch } from '../core/late-rows.ts';
import { SegmentRolls } from '../core/segment-rolls.ts';
import { RollcallError, isFromHub } from '../errors.ts';
import { collectionNamed, type CollectionName } from '../model/collections.ts';
import { jitteredPauseMs, type Backoff } from '../retry-policy.ts';
import type { TenantLog, Transaction } from '../log/log.ts';
import { catchUp } from './catch-up.ts';
import { AbsenceView } from './chains/absence-view.ts';
import type { ChainParts } from './chains/absence-emitter.ts';
import { readBack } from './chains/read-back.ts';
import { rollSegments } from './roll-segments.ts';
import { requireRecords, watchTopics } from './topic-ends.ts';
import { CollectionRunner } from './collection-runner.ts';
import { CollectionWriter } from './collection-writer.ts';
import type { WriterStart } from './writer-start.ts';
import { TenantIdentity } from './tenant-identity.ts';
import { HubFindings } from './hub-findings.ts';
import { FullSyncs } from './full-syncs.ts';
import { Mutex } from './mutex.ts';
import { Offer, parentState, type ParentState } from './offer.ts';
import type { OpeningQueue } from './opening-queue.ts';
import type { SyncParts } from './sync-parts.ts';
import type { TenantCollection, TenantParts } from './tenant-parts.ts';
import type { SyncRunner } from './sync-runner.ts';
import { createScheduleRunner } from './schedules/create-schedule-runner.ts';
import { countWithheld, restoreTrip, type DeletionParts } from './withholding.ts';
import { createSource } from './create-source.ts';
import type { Source } from './source.ts';

/** A tenant that this process owns, with its index equal to the log. Ends with the first error of the log or index. */
export interface TenantSession {
  readonly runners: ReadonlyMap<CollectionName, SyncRunner>;
  readonly writers: ReadonlyMap<CollectionName, CollectionWriter>;
}

/** Takes a tenant over: topics, schemas, fence, catch-up (design, "Kafka is the truth"). */
export async function openSession(parts: TenantParts, signal: AbortSignal): Promise<TenantSession> {
  await parts.prepare();
  const ownership = await parts.log.own(signal);
  parts.emit({ type: 'owned', owner: ownership.owner });
  const starts = await catchUp(
    { ...parts, collections: parts.collections.map(({ name }) => name), dayOf: dayCounter(parts) },
    ownership,
    signal,
  );
  await tellWaiting(parts, starts);
  const oneAtATime = new Mutex();
  const commit = (transaction: Transaction): ReturnType<TenantLog['commit']> =>
    oneAtATime.run(async () => {
      const startedAtMs = parts.now();
      const { collection } = transaction.progress;
      try {
        const committed = await parts.log.commit(transaction);
        const durationMs = parts.now() - startedAtMs;
        parts.emit({ type: 'committed', collection, records: transaction.records.length, durationMs });
        return committed;
      } catch (error) {
        parts.emit({ type: 'commit-failed', collection, durationMs: parts.now() - startedAtMs });
        throw error;
      }
    });
  const runners = new Map<CollectionName, SyncRunner>();
  const writers = new Map<CollectionName, CollectionWriter>();
  const identity = await TenantIdentity.open({
    memory: parts.state.deletions,
    collections: parts.collections.map(({ name }) => name),
    now: parts.now,
  });
  const fullSyncs = new FullSyncs();
  const notOffered = await parts.state.deletions.notOffered();
  for (const collection of parts.collections) {
    const start = starts.get(collection.name);
    if (start === undefined) throw new Error(`${collection.name} was not caught up`);
    runners.set(
      collection.name,
      createRunner({
        parts,
        collection,
        start,
        commit,
        signal,
        writers,
        runners,
        identity,
        fullSyncs,
        offer: new Offer(collection.name, parts.state.deletions, notOffered.has(collection.name)),
      }),
    );
  }
  return { runners, writers };
}

/** What waits for a person, as the memory knows it better than the log. */
async function tellWaiting(
  { state, emit }: TenantParts,
  starts: ReadonlyMap<CollectionName, WriterStart>,
): Promise<void> {
  for (const [collection, { progress }] of starts) {
    await restoreTrip(state.deletions, collection, progress);
    const rows = await countWithheld(state.deletions, collection, progress);
    emit({ type: 'deletion', event: { kind: 'waiting', collection, rows } });
  }
}

/** Days are counted in the time zone of a collection's daily pass. */
export function dayCounter({
  collections,
}: TenantParts): (collection: CollectionName, atMs: number) => string {
  const zones = new Map(collections.map(({ name, fullPull }) => [name, fullPull.timeZone]));
  return (collection, atMs) => localDate(atMs, zones.get(collection) ?? 'UTC');
}

function createRunner(options: {
  parts: TenantParts;
  collection: TenantCollection;
  start: WriterStart;
  commit: (transaction: Transaction) => ReturnType<TenantLog['commit']>;
  signal: AbortSignal;
  writers: Map<CollectionName, CollectionWriter>;
  runners: ReadonlyMap<CollectionName, SyncRunner>;
  identity: TenantIdentity;
  fullSyncs: FullSyncs;
  offer: Offer;
}): SyncRunner {
  const { parts, collection, signal } = options;
  const { name, reader, fullPull, deltaEveryMs } = collection;
  const source = createSource(parts, collection, options.writers);
  const writer = new CollectionWriter(
    {
      tenantId: parts.tenantId,
      collection: name,
      reader,
      encodeReject: parts.encodeReject,
      index: parts.state.collection(name),
      commit: options.commit,
      now: parts.now,
      randomId: parts.randomId,
      chains: name === 'absence-versions' ? chainParts(options, source) : undefined,
      isWanted: source.isWanted,
    },
    options.start,
  );
  options.writers.set(name, writer);
  if (name === 'schedules') {
    return createScheduleRunner({ ...options, writer });
  }
  const findExisting = (keys: readonly string[]): Promise<ReadonlySet<string>> =>
    source.findExisting(keys, signal);
  // Rows that are asked for by the keys of others are no other tenant's.
  const identity = source.parents === undefined ? options.identity : null;
  identity?.add({
    collection: name,
    knownRows: () => writer.wantedRows,
    someKeys: async (count) => {
      // What is gone from this tenant's own hub would say nothing.
      const { deletions } = parts.state;
      const [withheld, missing] = [await deletions.withheld(name), await deletions.missing(name)];
      const isThere = (key: string): boolean => !withheld.has(key) && !missing.has(key);
      return writer.someKeys(count, (key) => writer.isWanted(key) && isThere(key));
    },
    findExisting,
  });
  const sync: SyncParts = {
    writer,
    scans: (order) => source.scans(order),
    requireRecords: () => requireRecords(parts, new Map([[name, writer]]), signal),
    identity,
    deletions: deletionParts(options, { writer, findExisting }),
    overlapMs: parts.deltaOverlapMs,
    inheritedWatermarkMs: options.start.progress?.watermarkMs ?? null,
    late: new LateRowWatch(() => Math.trunc(parts.random() * 2 ** 32)),
    findings: new HubFindings(),
    now: parts.now,
    randomId: parts.randomId,
    onPage: (stats, tally) => parts.emit({ type: 'pass-page', collection: name, stats, tally }),
  };
  return new CollectionRunner({
    collection: name,
    sync,
    fullSyncs: options.fullSyncs,
    hasDelta: collectionNamed(name).keyset,
    parent: source.parents ?? null,
    parents: () => parentsOf(source, options),
    hasNewParents: async () => ((await source.newParents?.())?.size ?? 0) > 0,
    offer: options.offer,
    fullPull,
    deltaEveryMs,
    now: parts.now,
    random: parts.random,
    sleep: parts.sleep,
    emit: parts.emit,
  });
}

function parentsOf(
  { parents }: Source,
  options: {
    writers: ReadonlyMap<CollectionName, CollectionWriter>;
    runners: ReadonlyMap<CollectionName, SyncRunner>;
  },
): ParentState {
  if (parents === undefined) return 'ready';
  const writer = options.writers.get(parents);
  const isComplete = writer === undefined || writer.progress?.lastCompleteFull != null;
  return parentState(isComplete, options.runners.get(parents));
}

function deletionParts(
  options: {
    parts: TenantParts;
    collection: TenantCollection;
    writers: ReadonlyMap<CollectionName, CollectionWriter>;
  },
  own: Pick<DeletionParts, 'writer' | 'findExisting'>,
): DeletionParts {
  const { parts, collection, writers } = options;
  const { name, fullPull } = collection;
  return {
    ...own,
    collection: name,
    memory: parts.state.deletions,
    limits: parts.guard,
    mirrored: parts.collections.map((each) => each.name),
    today: () => localDate(parts.now(), fullPull.timeZone),
    now: parts.now,
    emit: (event) => parts.emit({ type: 'deletion', event }),
    others: () =>
      [...writers]
        .filter(([other]) => other !== name && other !== 'schedules')
        .map(([other, { wantedRows }]) => ({ collection: other, knownRows: wantedRows })),
  };
}

/** A hub that could not be asked for single rows is left alone with such questions for so long. */
const NO_SINGLE_ROWS_FOR_MS = 30_000;

function chainParts(
  options: { parts: TenantParts; collection: TenantCollection; signal: AbortSignal },
  source: Source,
): ChainParts | undefined {
  const { parts, collection, signal } = options;
  const { chains } = parts;
  if (chains === undefined) return undefined;
  let notBeforeMs = 0;
  const view = new AbsenceView({
    ...chains,
    tenantId: parts.tenantId,
    index: parts.state.collection('absence-versions'),
    encodeVersion: (value) => collection.reader.encode(value),
    mapping: collection.reader.mapping ?? null,
    readBack: readBack({
      log: parts.log,
      reader: collection.reader,
      decode: (framed) => chains.decode(framed),
      signal,
    }),
    now: parts.now,
  });
  return {
    view,
    fetch: async (ids, readVersion) => {
      if (parts.now() < notBeforeMs) return null;
      try {
        return (await source.fetchRows?.(ids, { readVersion: readVersion, signal })) ?? null;
      } catch (error) {
        // What cannot be had now is asked for again at the pass's end, or with the next change of its chain.
        if (!isFromHub(error)) throw error;
        notBeforeMs = parts.now() + NO_SINGLE_ROWS_FOR_MS;
        return null;
      }
    },
    onCommitted: ({ tally, toldOpen, contradictions, students }) => {
      parts.emit({ type: 'chains-told', tally, toldOpen, contradictions });
      chains.onStudents(students);
    },
  };
}

const BETWEEN_SESSIONS: Backoff = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Mirrors a tenant until the signal aborts. Whatever befalls log or index, the cure is the same: own again, catch
 * up, go on. Throws only what a person must see to: ownership lost, an incompatible topic or schema.
 */
export async function runTenant(
  parts: TenantParts,
  options: {
    signal: AbortSignal;
    onSession?: ((session: TenantSession | null) => void) | undefined;
    /** Shared by all tenants of a process; left out: the tenant is opened at once. */
    openings?: OpeningQueue | undefined;
  },
): Promise<void> {
  const { signal, openings } = options;
  // Kept over the sessions: one that opens again and again is not to append markers each time.
  const rolls = new SegmentRolls();
  for (let failures = 0; !signal.aborted;) {
    const ending = new AbortController();
    const both = AbortSignal.any([signal, ending.signal]);
    let startedAtMs = parts.now();
    const open = (): Promise<TenantSession> => {
      startedAtMs = parts.now();
      return openSession(parts, both);
    };
    try {
      const session = await (openings?.run(open, both) ?? open());
      parts.emit({ type: 'session-opened' });
      options.onSession?.(session);
      const loops = [...session.runners.values()].map(async (runner) => runner.loop(both));
      loops.push(watchTopics(parts, session.writers, both));
      loops.push(rollSegments(parts, { rolls, writers: session.writers, signal: both }));
      try {
        await Promise.all(loops);
      } finally {
        // From now on requests wait for the next session.
        options.onSession?.(null);
        ending.abort(
          new RollcallError('INTERNAL', 'the session is ending', { remedy: 'It is started anew.' }),
        );
        await Promise.allSettled(loops);
      }
    } catch (error) {
      if (signal.aborted) break;
      if (isFinal(error)) throw error;
      // One that opens and fails at once is no success: hub and Kafka are spared.
      failures = parts.now() - startedAtMs > BETWEEN_SESSIONS.longestMs ? 1 : failures + 1;
      const retryInMs = jitteredPauseMs(BETWEEN_SESSIONS, failures, parts.random);
      parts.emit({ type: 'session-failed', error, retryInMs });
      await parts.sleep(retryInMs, signal).catch(() => undefined);
    }
  }
}

/** Staying up would not help: another process is newer, or what stands in Kafka does not fit this program. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof RollcallError &&
    (error.code === 'OWNERSHIP_LOST' ||
      error.code === 'KAFKA_TOPIC_MISMATCH' ||
      error.code === 'SCHEMA_INCOMPATIBLE')
  );
}

/** Sleeps, and rejects when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return delay(Math.max(0, ms), undefined, { signal });
}
