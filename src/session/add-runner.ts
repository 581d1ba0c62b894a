import { localDate } from '../core/full-pull-time.ts';
import { LateRowWatch } from '../core/late-rows.ts';
import { PageMemory } from '../core/pages/page-memory.ts';
import { TransactionSize } from '../core/transaction-size.ts';
import { LargeAnswer } from '../hub/hub-error.ts';
import type { TenantLog } from '../log/log.ts';
import { collectionNamed, type CollectionName } from '../model/collections.ts';
import { CollectionRunner } from '../timetable/collection-runner.ts';
import { CollectionWriter, type ViewParts } from '../table/collection-writer.ts';
import { HubFindings } from '../sync/hub-findings.ts';
import { parentState, type Offer, type ParentState } from '../timetable/sync-timetable.ts';
import {
  type Source,
  classStudentsSource,
  nestedSource,
  parentsWithoutRows,
  plainSource,
} from '../source/source.ts';
import { isOtherHeld } from '../core/deletions/waiting-list.ts';
import { overlapsEnough } from '../core/tenant-identity.ts';
import { MissingRows } from '../table/missing-rows.ts';
import type { Settling } from '../sync/settle-missing.ts';
import type { MirroredCollection } from '../sync/mirrored-collection.ts';
import type { IdentityCheck } from '../sync/identity.ts';
import type { TenantCollection, Tenant } from './tenant.ts';
import { requireRecords } from './watch-topics.ts';
import type { WriterStart } from '../table/collection-progress.ts';
import { absentStudents } from '../absences/absent-students.ts';
import { createZoneClock } from '../core/lessons/zone-clock.ts';
import { lessonSource } from '../lessons/lesson-source.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import { AbsenceView } from '../absences/absence-view.ts';
import { changelogOf } from '../absences/changelog-of-index.ts';
import { readRecords } from '../absences/read-records.ts';
import { isFromHub } from '../errors.ts';

/** Kept for all sessions of a tenant. */
export type TransactionSizes = Map<CollectionName, TransactionSize>;

/** The parts that the runners of a session share. */
export interface OpeningSession {
  readonly parts: Tenant;
  readonly commit: TenantLog['commit'];
  readonly signal: AbortSignal;
  readonly sizes: TransactionSizes;
  /** The writers of the collections added so far. */
  readonly writers: Map<CollectionName, CollectionWriter>;
  readonly runners: Map<CollectionName, CollectionRunner>;
  readonly identity: IdentityCheck;
}

interface CollectionStart {
  readonly collection: TenantCollection;
  readonly start: WriterStart;
  readonly offer: Offer;
}

/** Creates the runner, the source and the writer of a collection, and adds them to the session. */
export async function addRunner(session: OpeningSession, own: CollectionStart): Promise<void> {
  const { parts, commit, signal, sizes, writers, runners } = session;
  const { collection, start } = own;
  const { name, reader } = collection;
  const source = createSource(parts, collection, (each, read) => {
    const index = parts.state.collection(each);
    return writers.get(each)?.undisturbed(() => read(index)) ?? read(index);
  });
  const newSeed = (): number => Math.trunc(parts.runtime.random() * 2 ** 32);
  const pages = source.hasPlainKeys === true ? new PageMemory(newSeed) : null;
  const size = sizes.get(name) ?? new TransactionSize();
  sizes.set(name, size);
  const settledBy = start.progress?.deletions?.settledBy ?? null;
  const missing = await MissingRows.open(parts.state.deletions, name, settledBy);
  const writer = new CollectionWriter(
    {
      size,
      pages: pages ?? undefined,
      missing,
      tenantId: parts.tenantId,
      collection: name,
      reader,
      encodeReject: collection.encodeReject,
      index: parts.state.collection(name),
      commit,
      ...parts.runtime,
      viewed: name === 'absence-versions' ? createAbsenceView({ parts, source, signal }) : undefined,
    },
    start,
  );
  writers.set(name, writer);
  const settling = settleParts(session, own.collection, missing);
  runners.set(name, createCollectionRunner(session, own, { source, writer, pages, settling }));
}

interface Ends {
  readonly source: Source;
  readonly writer: CollectionWriter;
  readonly pages: PageMemory | null;
  readonly settling: Settling;
}

function createCollectionRunner(session: OpeningSession, own: CollectionStart, ends: Ends): CollectionRunner {
  const { parts } = session;
  const { source } = ends;
  const { name, fullPull, deltaEveryMs } = own.collection;
  return new CollectionRunner({
    collection: name,
    sync: syncParts(session, own, ends),
    hasIncremental: collectionNamed(name).keyset || source.changes !== undefined,
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

function syncParts(
  session: OpeningSession,
  own: CollectionStart,
  { source, writer, pages, settling }: Ends,
): MirroredCollection {
  const { parts, signal } = session;
  const { name } = own.collection;
  // Requests by the keys of other rows, or by student, cannot return another tenant's rows.
  const identity = source.parents === undefined && source.changes === undefined ? session.identity : null;
  identity?.add({
    collection: name,
    knownRows: () => writer.known.rows,
    // A row that is missing at this tenant's own hub would prove nothing.
    someKeys: (count) => writer.known.someKeys(count, (key) => !settling.missing.has(key)),
    async find(keys) {
      const options = { readVersion: writer.readVersion, signal };
      return (await source.fetchRows?.(keys, options))?.length ?? 0;
    },
    beginWithKnown: () => beginsWithKnown(source, writer, signal),
  });
  return {
    writer,
    pages,
    collection: name,
    memory: parts.state.deletions,
    settling,
    scopesAhead: parts.scopesAhead,
    source,
    requireRecords: () => requireRecords(parts, new Map([[name, writer]]), signal),
    identity,
    overlapMs: own.collection.deltaOverlapMs,
    inheritedWatermarkMs: own.start.progress?.watermarkMs ?? null,
    late: new LateRowWatch(() => Math.trunc(parts.runtime.random() * 2 ** 32)),
    findings: new HubFindings(),
    ...parts.runtime,
    onPage: (stats, tally) => parts.emit({ type: 'sync-page', collection: name, stats, tally }),
  };
}

/** Whether enough rows on the first page of a list are published ones. */
async function beginsWithKnown(
  source: Source,
  { known, readVersion }: CollectionWriter,
  signal: AbortSignal,
): Promise<boolean> {
  const { scopes, scans } = await source.begin();
  for (const scan of scans(scopes)) {
    const pages = scan.open({ modifiedAfterMs: undefined, readVersion, signal, refuseLarge: true });
    try {
      const first = await pages.next();
      if (first.done === true) continue;
      const keys = first.value.rows.flatMap(({ key }) => key ?? []);
      const knownAmongThem = (await known.among(keys)).length;
      if (keys.length > 0 && overlapsEnough({ rows: keys.length, knownAmongThem, knownRows: known.rows }))
        return true;
    } catch (error) {
      if (!(error instanceof LargeAnswer)) throw error;
    } finally {
      await pages.return(undefined as never).catch(() => undefined);
    }
  }
  return false;
}

function parentsOf({ parents }: Source, { writers, runners }: OpeningSession): ParentState {
  if (parents === undefined) return 'ready';
  const writer = writers.get(parents);
  const { lost, completeSinceMs = null } = writer?.committed ?? {};
  const isComplete = writer === undefined || (lost === undefined && completeSinceMs !== null);
  return parentState(isComplete, runners.get(parents));
}

function settleParts(
  { parts, writers }: OpeningSession,
  { name, fullPull }: TenantCollection,
  missing: MissingRows,
): Settling {
  return {
    collection: name,
    missing,
    limits: parts.guard,
    confirmAfterMs: parts.confirmAfterMs,
    today: () => localDate(parts.runtime.now(), fullPull.timeZone),
    now: parts.runtime.now,
    isOtherHeld: () => {
      const held = [...writers].map(([collection, { progress }]) => ({
        collection,
        heldSinceMs: progress?.deletions?.heldSinceMs ?? null,
      }));
      return isOtherHeld(name, held);
    },
    emit: (event) => parts.emit({ type: 'deletion', event }),
  };
}

/** Reads the index of a collection while nothing writes to it. */
type ReadUndisturbed = <T>(
  collection: CollectionName,
  read: (index: CollectionIndex) => Promise<T>,
) => Promise<T>;

/** The source of a collection's rows. */
function createSource(
  { hub, schedules, runtime }: Pick<Tenant, 'hub' | 'schedules' | 'runtime'>,
  { name, reader, parentIds = [] }: TenantCollection,
  undisturbed: ReadUndisturbed,
): Source {
  const collection = collectionNamed(name);
  switch (name) {
    case 'class-students': {
      const classIds = (): Promise<string[]> => undisturbed('classes', allKeys);
      return classStudentsSource({ hub, collection, classes: 'classes', classIds });
    }
    case 'afterschool-users': {
      const newParents = (): Promise<ReadonlySet<string>> =>
        undisturbed(name, (index) => parentsWithoutRows(parentIds, index));
      return nestedSource({ hub, collection, reader, parentIds, newParents });
    }
    case 'schedules': {
      if (schedules === undefined) throw new Error('there are no settings of schedules');
      const clock = createZoneClock(schedules.timeZone);
      return lessonSource({
        ...schedules,
        now: runtime.now,
        absentIn: (window) =>
          undisturbed('absence-versions', (index) => absentStudents(index, window, (ms) => clock.dateAt(ms))),
        allStudents: () => undisturbed('students', allKeys),
      });
    }
    default:
      return plainSource(hub, collection, reader);
  }
}

async function allKeys(index: Pick<CollectionIndex, 'keys'>): Promise<string[]> {
  const all: string[] = [];
  for await (const keys of index.keys('rows')) all.push(...keys);
  return all;
}

/** After the hub failed to answer for single rows, Rollcall does not ask for any for so long. */
const NO_SINGLE_ROWS_FOR_MS = 30_000;

/** Creates the absence view of the writer of `absence-versions`; undefined if absences are not mirrored. */
function createAbsenceView(options: {
  readonly parts: Tenant;
  readonly source: Source;
  readonly signal: AbortSignal;
}): ViewParts | undefined {
  const { parts, source, signal } = options;
  const { chains } = parts;
  if (chains === undefined) return undefined;
  let notBeforeMs = 0;
  const index = parts.state.collection('absence-versions');
  const view = new AbsenceView({
    ...chains,
    tenantId: parts.tenantId,
    index,
    readRecords: readRecords({ log: parts.log, decode: (framed) => chains.decode(framed), signal }),
    now: parts.runtime.now,
    onCommitted: ({ tally, publishedOpen, contradictions, students }) => {
      parts.emit({ type: 'chains-published', tally, publishedOpen, contradictions });
      chains.onStudents(students);
    },
  });
  return {
    view,
    fetchRows: async (ids, readVersion) => {
      if (parts.runtime.now() < notBeforeMs) return null;
      try {
        return (await source.fetchRows?.(ids, { readVersion, signal })) ?? null;
      } catch (error) {
        if (!isFromHub(error)) throw error;
        notBeforeMs = parts.runtime.now() + NO_SINGLE_ROWS_FOR_MS;
        return null;
      }
    },
    changelog: (at) => changelogOf({ log: parts.log, index, chains, signal }, at),
  };
}
