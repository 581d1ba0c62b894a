import { awaitedIn, forgotten, type AbsenceEntry } from '../core/absences/absence-entry.ts';
import { decodeAbsent } from '../core/absences/current-absence.ts';
import {
  OTHER_STUDENT,
  versionRowOf,
  type AbsenceVersionValue,
  studentFingerprint,
} from '../core/absences/absence-version.ts';
import {
  deriveAbsences,
  idsToLoad,
  type DeriveInput,
  type DerivedAbsences,
} from '../core/absences/derive-absences.ts';
import { encodeEntry } from '../core/absences/entry-codec.ts';
import type { ReadableRow } from '../core/rows/decoded-row.ts';
import type { DerivedCollection } from '../model/collections.ts';
import { ABSENCE_AREAS, type CollectionIndex, type IndexChange } from '../state/index-store.ts';
import { changelogRecords } from '../table/changelog.ts';
import type { Derived, StagedRows } from '../table/staged-batch.ts';
import type { LiveIds, LookUp, Table, View, ViewedSync } from '../table/table.ts';
import { noTally } from '../core/sync-stats.ts';
import { countRows, dayNumber, decodeDay, indexChanges, loadAbsences } from './absence-index.ts';
import { isFromHub } from '../errors.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { Source } from '../source/source.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import { absenceRemoval, renderAbsences, type AbsenceTenant } from './render-absences.ts';
import { copied, VersionRecords } from './version-records.ts';

const ASKED_AT_MOST = 2_000;
/**
 * If a hub serves lists, but has not answered requests for single rows for this long, it counts as not having these
 * rows.
 */
const UNANSWERED_FOR_AT_MOST_MS = 5 * 60_000;
const NO_ROWS: StagedRows = { rows: [], unchanged: new Set(), gone: [] };

interface Task {
  readonly mode: DeriveInput['mode'];
  readonly open: readonly string[];
  /** Whether the hub did not answer for ids that these absences await. */
  readonly isUnanswered: boolean;
}

const PAGE: Task = { mode: 'page', open: [], isUnanswered: false };

/**
 * Derives `absences` and `absence-changes` from changed versions (spec 3; contract, `absences` and `absence-changes`).
 * The decisions are in core/absences. The result joins the transaction of the versions; the index changes only after
 * the commit.
 */
export class AbsenceView implements View {
  readonly #tenant: AbsenceTenant;
  readonly #source: Pick<Source, 'fetchRows'>;
  readonly #signal: AbortSignal;
  readonly #versions: CollectionIndex;
  /**
   * Since when absences have stayed open at the end of each sync, because the hub did not answer (ms); null if the hub
   * answered last time.
   */
  #unansweredSinceMs: number | null = null;

  constructor(tenant: AbsenceTenant, source: Pick<Source, 'fetchRows'>, signal: AbortSignal) {
    this.#tenant = tenant;
    this.#source = source;
    this.#signal = signal;
    this.#versions = tenant.state.collection('absence-versions');
  }

  committed({ tally, publishedOpen, contradictions, students }: Derived): void {
    const { emit, absences } = this.#tenant;
    emit({ type: 'absences-published', tally, publishedOpen, contradictions });
    absences.onStudents(students);
  }

  /** Asks the hub for single rows, and stages the rows that it has. Returns whether the hub answered. */
  async #fetch(table: Table, sync: ActiveSync, ids: readonly string[]): Promise<boolean> {
    const options = { readVersion: () => table.syncs.readVersion, signal: this.#signal };
    try {
      // The scan may still read these rows, with newer content, so they do not count as seen.
      for (const page of (await this.#source.fetchRows?.(ids, options)) ?? []) {
        const asked = { ...page, isAskedFor: true };
        await table.decide(sync, asked, { seenBefore: new Set(), kept: page.rows });
      }
      return true;
    } catch (error) {
      if (!isFromHub(error)) throw error;
      return false;
    }
  }

  async *changelog(): AsyncGenerator<readonly OutgoingRecord[]> {
    for (const area of ABSENCE_AREAS) {
      for await (const entries of this.#versions.entries(area)) {
        const changes = entries.map(([key, value]) => copied(this.#tenant.absences, { area, key, value }));
        if (changes.length > 0) yield changelogRecords(changes);
      }
    }
  }

  async live(ids: readonly string[], lookUp: LookUp): Promise<LiveIds> {
    const entries = [...(await loadAbsences(this.#versions, lookUp, ids)).values()];
    const live = entries.filter(({ published }) => published?.isDeleted !== true);
    const versions = live.flatMap(({ members }) => members.map(({ id }) => id));
    return { versions: new Set(versions), awaited: new Set(live.flatMap(awaitedIn)) };
  }

  countRows(lookUp: LookUp): Promise<Record<DerivedCollection, number>> {
    return countRows(this.#versions, lookUp);
  }

  async derive(table: Table, sync: ViewedSync): Promise<void> {
    if (!table.staged.isEmpty) await this.#derive(table, sync, PAGE);
    if (sync.end === null || sync.isBesideFull) return;
    const opens = table.staged.changes.some(({ area }) => area === 'open');
    if (opens || (await this.#versions.count('open')) > 0) {
      await sync.commit();
      await this.#settleOpen(table, sync);
    }
    // This throws if the index was lost meanwhile, since a lost index shows no open absences.
    await table.lookUpCommitted('open', []);
    if (!sync.end.isComplete) return;
    await sync.commit();
    await this.#forget(table, sync);
    // `countRows` counts the keys of both topics in the index, so the index must have these changes first.
    await sync.commit();
  }

  /** Asks the hub for awaited ids. Then publishes the open absences without the ids that the hub did not show. */
  async #settleOpen(table: Table, sync: ViewedSync): Promise<void> {
    const asked = new Set<string>();
    const isUnanswered = !(await this.#ask(table, sync, asked));
    const nowMs = this.#tenant.runtime.now();
    this.#unansweredSinceMs = isUnanswered ? (this.#unansweredSinceMs ?? nowMs) : null;
    const isWaiting = isUnanswered && nowMs - (this.#unansweredSinceMs ?? nowMs) < UNANSWERED_FOR_AT_MOST_MS;
    for await (const group of this.#versions.keys('open')) {
      const entries = await loadAbsences(this.#versions, table.lookUpCommitted, group);
      const open = group.filter((key) => !isWaiting || awaitedOf(entries.get(key)).length === 0);
      if (open.length === 0) continue;
      await sync.commit();
      const awaited = new Set(open.flatMap((key) => awaitedOf(entries.get(key))));
      sync.active.stats.idsNotAsked += awaited.difference(asked).size;
      await this.#derive(table, sync, { mode: 'final', open, isUnanswered });
    }
  }

  /** Returns whether the hub answered. Its answers may name further ids. `asked`: receives the ids that the hub was asked for. */
  async #ask(table: Table, sync: ViewedSync, asked: Set<string>): Promise<boolean> {
    // A list may lack any number of versions, and each answer names only the version before.
    for (;;) {
      const ids: string[] = [];
      for await (const group of this.#versions.keys('open')) {
        const entries = await loadAbsences(this.#versions, table.lookUpCommitted, group);
        const awaited = new Set(group.flatMap((key) => awaitedOf(entries.get(key)))).difference(asked);
        ids.push(...[...awaited].slice(0, ASKED_AT_MOST - asked.size));
        for (const id of ids) asked.add(id);
        if (asked.size >= ASKED_AT_MOST) break;
      }
      if (ids.length === 0) return true;
      const isAnswered = await this.#fetch(table, sync.active, ids);
      const hasNews = !table.staged.isEmpty;
      if (hasNews) {
        await this.#derive(table, sync, PAGE);
        await sync.commit();
      }
      if (!isAnswered || !hasNews) return isAnswered;
    }
  }

  async #derive(table: Table, sync: ViewedSync, task: Task): Promise<void> {
    const staged = task.mode === 'page' ? table.staged.takeRows() : NO_ROWS;
    const rows = staged.rows.map((row) => this.#versionRow(row));
    const changed = { mode: task.mode, rows, vanished: staged.gone, open: task.open };
    const before = await this.#load(table, changed);
    const open = [...before].filter(([, { isOpen }]) => isOpen);
    // The end of a sync settles the open absences of the task, and the open absences that continue them.
    const settled = task.mode === 'page' ? [] : open.map(([key]) => key);
    const input = { ...changed, open: settled, entries: before };
    const first = deriveAbsences(input);
    const ofOtherStudents = new Set(first.rejected);
    const rejected = staged.rows.filter(({ sourcedId }) => ofOtherStudents.has(sourcedId));
    const accepted = new Map(staged.rows.map((row) => [row.sourcedId, row]));
    for (const id of ofOtherStudents) accepted.delete(id);
    const mayWait = new Set(open.flatMap(([, { members }]) => members.map(({ id }) => id)));
    const records = new VersionRecords(this.#tenant.absences, table, { rows: accepted, mayWait });
    const derived = await this.#loadRecords(records, input, first);
    if (rejected.length > 0) await table.reject(sync.active, rejected, OTHER_STUDENT);
    await this.#add(table, sync, { task, staged, before, derived, records });
  }

  /**
   * Loads the records of the versions that the steps publish. In the middle of a sync, an absence stays open if one of
   * its records is neither in the transaction nor in the index. At the end of the sync, such records are read back from
   * the log. Returns what remains to be published.
   */
  async #loadRecords(
    records: VersionRecords,
    input: DeriveInput,
    first: DerivedAbsences,
  ): Promise<DerivedAbsences> {
    let derived = first;
    const lacking = await records.load(first.steps.map(({ versionId }) => versionId));
    if (lacking.size > 0 && input.mode === 'page') derived = deriveAbsences({ ...input, lacking });
    else if (lacking.size > 0)
      await records.readBack(this.#tenant.log, first.steps, { lacking, signal: this.#signal });
    await records.load(derived.steps.flatMap(({ previousVersionId }) => previousVersionId ?? []));
    return derived;
  }

  #versionRow({ value, studentId }: ReadableRow): DeriveInput['rows'][number] {
    const student = studentId == null ? null : studentFingerprint(this.#tenant.tenantId, studentId);
    return versionRowOf(value as AbsenceVersionValue, student);
  }

  async #load(table: Table, input: Omit<DeriveInput, 'entries'>): Promise<ReadonlyMap<string, AbsenceEntry>> {
    const entries = await loadAbsences(this.#versions, table.lookUpCommitted, idsToLoad(input));
    if (input.mode === 'page') return entries;
    const others = [...entries.values()].flatMap(({ continuedBy }) => continuedBy ?? []);
    if (others.length === 0) return entries;
    return new Map([...(await loadAbsences(this.#versions, table.lookUpCommitted, others)), ...entries]);
  }

  async #add(
    table: Table,
    sync: ViewedSync,
    found: {
      task: Task;
      staged: StagedRows;
      before: ReadonlyMap<string, AbsenceEntry>;
      derived: DerivedAbsences;
      records: VersionRecords;
    },
  ): Promise<void> {
    const { staged, before, derived, records, task } = found;
    const changed = new Set(staged.rows.map(({ sourcedId }) => sourcedId)).difference(staged.unchanged);
    const shown = [...derived.shown.values()].filter((id) => id !== null);
    const unchanged = shown.filter((id) => !changed.has(id));
    const rendered = renderAbsences(this.#tenant, {
      derived,
      before,
      records,
      hashes: await table.hashesOf(unchanged),
      idOf: table.staged.derivedId,
      isFirstLoad: sync.isFirstLoad,
      isShownAgain: (absenceId, versionId) =>
        changed.has(versionId) || sync.active.republication?.absences?.(absenceId) === true,
    });
    const index = indexChanges(before, derived, dayNumber(this.#tenant.runtime.now()));
    const bodies = [
      ...derived.published.map((key): IndexChange => ({ area: 'bodies', key, value: null })),
      ...derived.waiting.map((key): IndexChange => ({ area: 'bodies', key, value: records.kept(key) })),
    ];
    const added = index.contradictions;
    const awaited = task.open.map((key) => awaitedOf(before.get(key)).length);
    rendered.tally.notShown = task.isUnanswered ? 0 : awaited.reduce((sum, count) => sum + count, 0);
    table.add(sync.active, {
      ...rendered,
      changes: [...rendered.changes, ...index.changes, ...bodies],
      contradictions: added === 0 ? null : added + (await this.#versions.count('contradictions')),
      publishedOpen: task.isUnanswered ? awaited.filter((count) => count > 0).length : 0,
    });
  }

  /**
   * Publishes a null for each absence whose deletion was published long enough ago, and drops current absences that
   * ended too long ago to be kept by student.
   */
  async #forget(table: Table, sync: ViewedSync): Promise<void> {
    const { forgetAfterMs, absentSinceMs } = this.#tenant.absences;
    const lastDay = dayNumber(this.#tenant.runtime.now() - forgetAfterMs);
    for await (const batch of this.#versions.entries('ended')) {
      const due = batch.flatMap(([id, day]) => (decodeDay(day) < lastDay ? [id] : []));
      if (due.length > 0) await this.#forgetSome(table, sync, due);
      if (table.isFull) await sync.commit();
    }
    const sinceMs = absentSinceMs() ?? Infinity;
    for await (const batch of this.#versions.entries('absent')) {
      const outlived = batch.filter(([, value]) => decodeAbsent(value).toMs < sinceMs);
      const changes = outlived.map(([key]): IndexChange => ({ area: 'absent', key, value: null }));
      if (changes.length > 0) table.add(sync.active, { ...NOTHING, changes });
      if (table.isFull) await sync.commit();
    }
  }

  async #forgetSome(table: Table, sync: ViewedSync, absenceIds: readonly string[]): Promise<void> {
    const { tenantId } = this.#tenant;
    const entries = await loadAbsences(this.#versions, table.lookUpCommitted, absenceIds);
    const records = absenceIds.map((absenceId, at) =>
      absenceRemoval('absence-changes', { tenantId, absenceId, id: table.staged.derivedId(at) }),
    );
    const changes = absenceIds.flatMap((key): IndexChange[] => {
      const entry = entries.get(key);
      const notEnded: IndexChange = { area: 'ended', key, value: null };
      if (entry === undefined) return [notEnded];
      return [
        { area: 'absences', key, value: encodeEntry(key, forgotten(entry)) },
        { area: 'forgotten', key, value: Buffer.alloc(0) },
        notEnded,
      ];
    });
    const tally = { ...noTally(), forgotten: absenceIds.length };
    table.add(sync.active, { ...NOTHING, records, changes, tally });
  }
}

const NOTHING: Derived = {
  records: [],
  changes: [],
  tally: noTally(),
  publishedOpen: 0,
  contradictions: null,
  students: new Set(),
};

function awaitedOf(entry: AbsenceEntry | undefined): readonly string[] {
  return entry === undefined ? [] : awaitedIn(entry);
}
