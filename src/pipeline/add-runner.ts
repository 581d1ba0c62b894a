import { localDate } from '../core/full-pull-time.ts';
import { LateRowWatch } from '../core/late-rows.ts';
import { PageMemory } from '../core/pages/page-memory.ts';
import { TransactionSize } from '../core/transaction-size.ts';
import type { TenantLog } from '../log/log.ts';
import { collectionNamed, type CollectionName } from '../model/collections.ts';
import { createAbsenceView } from './create-absence-view.ts';
import { CollectionRunner } from './collection-runner.ts';
import { CollectionWriter } from './collection-writer.ts';
import { createSource } from './create-source.ts';
import type { FullSyncs } from './full-syncs.ts';
import { HubFindings } from './hub-findings.ts';
import { parentState, type Offer, type ParentState } from './offer.ts';
import { createScheduleRunner } from './schedules/create-schedule-runner.ts';
import type { Source } from './source.ts';
import type { SyncParts } from './sync-parts.ts';
import type { SyncRunner } from './sync-runner.ts';
import type { IdentityCheck } from './identity-check.ts';
import type { TenantCollection, TenantParts } from './tenant-parts.ts';
import { requireRecords } from './topic-ends.ts';
import type { DeletionParts } from './withheld-deletions.ts';
import type { WriterStart } from './recovery/writer-start.ts';

/** Kept for all sessions of a tenant. */
export type TransactionSizes = Map<CollectionName, TransactionSize>;

/** The parts that the runners of a session share. */
export interface SessionParts {
  readonly parts: TenantParts;
  readonly commit: TenantLog['commit'];
  readonly signal: AbortSignal;
  readonly sizes: TransactionSizes;
  /** The writers of the collections added so far. */
  readonly writers: Map<CollectionName, CollectionWriter>;
  readonly runners: Map<CollectionName, SyncRunner>;
  readonly identity: IdentityCheck;
  readonly fullSyncs: FullSyncs;
}

interface OwnParts {
  readonly collection: TenantCollection;
  readonly start: WriterStart;
  readonly offer: Offer;
}

/** Creates the runner, the source and the writer of a collection, and adds them to the session. */
export function addRunner(session: SessionParts, own: OwnParts): void {
  const { parts, commit, signal, sizes, writers, runners } = session;
  const { collection, start } = own;
  const { name, reader } = collection;
  const source = createSource(parts, collection, writers);
  const newSeed = (): number => Math.trunc(parts.runtime.random() * 2 ** 32);
  const pages = source.hasPlainKeys === true ? new PageMemory(newSeed) : null;
  const size = sizes.get(name) ?? new TransactionSize();
  sizes.set(name, size);
  const writer = new CollectionWriter(
    {
      size,
      pages: pages ?? undefined,
      tenantId: parts.tenantId,
      collection: name,
      reader,
      encodeReject: collection.encodeReject,
      index: parts.state.collection(name),
      commit,
      ...parts.runtime,
      viewed:
        name === 'absence-versions' ? createAbsenceView({ parts, collection, source, signal }) : undefined,
      isWanted: source.isWanted,
    },
    start,
  );
  writers.set(name, writer);
  const runner =
    name === 'schedules'
      ? createScheduleRunner({ ...session, ...own, writer })
      : createCollectionRunner(session, own, { source, writer, pages });
  runners.set(name, runner);
}

interface Ends {
  readonly source: Source;
  readonly writer: CollectionWriter;
  readonly pages: PageMemory | null;
}

function createCollectionRunner(session: SessionParts, own: OwnParts, ends: Ends): CollectionRunner {
  const { parts } = session;
  const { source } = ends;
  const { name, fullPull, deltaEveryMs } = own.collection;
  return new CollectionRunner({
    collection: name,
    sync: syncParts(session, own, ends),
    fullSyncs: session.fullSyncs,
    hasIncremental: collectionNamed(name).keyset,
    parent: source.parents ?? null,
    parents: () => parentsOf(source, session),
    hasNewParents: async () => ((await source.newParents?.())?.size ?? 0) > 0,
    offer: own.offer,
    fullPull,
    deltaEveryMs,
    ...parts.runtime,
    emit: parts.emit,
  });
}

function syncParts(session: SessionParts, own: OwnParts, { source, writer, pages }: Ends): SyncParts {
  const { parts, signal } = session;
  const { name } = own.collection;
  const findExisting = (keys: readonly string[]): Promise<ReadonlySet<string>> =>
    source.findExisting(keys, signal);
  // Requests by the keys of other rows cannot return another tenant's rows.
  const identity = source.parents === undefined ? session.identity : null;
  identity?.add({
    collection: name,
    knownRows: () => writer.known.wantedRows,
    someKeys: async (count) => {
      // A row that is missing at this tenant's own hub would prove nothing.
      const { deletions } = parts.state;
      const [withheld, missing] = [await deletions.withheld(name), await deletions.missing(name)];
      const isThere = (key: string): boolean => !withheld.has(key) && !missing.has(key);
      return writer.known.someKeys(count, (key) => writer.known.isWanted(key) && isThere(key));
    },
    findExisting,
  });
  return {
    writer,
    pages,
    scans: () => source.scans(),
    requireRecords: () => requireRecords(parts, new Map([[name, writer]]), signal),
    identity,
    deletions: deletionParts(session, own.collection, { writer, findExisting }),
    overlapMs: own.collection.deltaOverlapMs,
    inheritedWatermarkMs: own.start.progress?.watermarkMs ?? null,
    late: new LateRowWatch(() => Math.trunc(parts.runtime.random() * 2 ** 32)),
    findings: new HubFindings(),
    ...parts.runtime,
    onPage: (stats, tally) => parts.emit({ type: 'pass-page', collection: name, stats, tally }),
  };
}

function parentsOf({ parents }: Source, { writers, runners }: SessionParts): ParentState {
  if (parents === undefined) return 'ready';
  const writer = writers.get(parents);
  const isComplete = writer === undefined || writer.progress?.lastCompleteFull != null;
  return parentState(isComplete, runners.get(parents));
}

function deletionParts(
  { parts, writers }: SessionParts,
  { name, fullPull }: TenantCollection,
  own: Pick<DeletionParts, 'writer' | 'findExisting'>,
): DeletionParts {
  return {
    ...own,
    collection: name,
    memory: parts.state.deletions,
    limits: parts.guard,
    mirrored: parts.collections.map((each) => each.name),
    today: () => localDate(parts.runtime.now(), fullPull.timeZone),
    now: parts.runtime.now,
    emit: (event) => parts.emit({ type: 'deletion', event }),
    others: () =>
      [...writers]
        .filter(([other]) => other !== name && other !== 'schedules')
        .map(([other, { known }]) => ({ collection: other, knownRows: known.wantedRows })),
  };
}
