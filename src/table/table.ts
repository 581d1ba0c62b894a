import { REMOVED, sharedHeadersOf } from '../core/cloud-events.ts';
import type { PageMemory, RememberedPage } from '../core/pages/page-memory.ts';
import {
  findRowChanges,
  unchangedRows,
  type Change,
  type KeyedRow,
  type PageTally,
} from '../core/rows/compare-with-published.ts';
import { MAX_UNSEEN_KEYS } from '../core/deletions/decide-missing.ts';
import { isAlreadyDeleted, replacedBy } from '../core/rows/already-deleted.ts';
import type { ReadableRow } from '../core/rows/decoded-row.ts';
import type { CollectionIndex, IndexArea, IndexPosition, IndexValues } from '../state/index-store.ts';
import type { HubPage } from '../hub/hub.ts';
import { hasSeen, hasSeenAll, type ActiveSync } from './active-sync.ts';
import { RunningSyncs } from './running-syncs.ts';
import { StagedBatch, type Derived, type RenderedChange, type StagedHeaders } from './staged-batch.ts';
import { addTally, countRejects } from '../core/sync-stats.ts';
import type { OutgoingRecord } from '../log/log.ts';
import type { DerivedCollection } from '../model/collections.ts';
import type { WriterStart } from './collection-progress.ts';
import type { Deletions } from './deletions.ts';
import type { Tenant, TenantCollection } from './tenant.ts';

const MAX_PENDING_BYTES = 4_000_000;
/** Far fewer than Redis takes in one command (`apply` in state/index-store.ts). */
const MAX_PENDING_CHANGES = 50_000;
/** For how many rows the time of modification is kept, to notice older rows from a replica that lags behind. */
const MOST_TIMES = 2_000;

/** Reads values of the index as of the last commit, in the order of the keys. */
export type LookUp = (area: IndexArea, keys: readonly string[]) => Promise<IndexValues>;

/**
 * Ids of the versions of live absences (whose deletion has not been published), and those among them that the hub has
 * not shown yet.
 */
export interface LiveIds {
  readonly versions: ReadonlySet<string>;
  readonly awaited: ReadonlySet<string>;
}

export interface ViewedSync {
  readonly active: ActiveSync;
  /** Whether events are not news yet. */
  readonly isFirstLoad: boolean;
  /** Whether the end of another sync will settle what this sync leaves open. */
  readonly isBesideFull: boolean;
  /** Null in the middle of the sync. `isComplete`: it is a complete full sync. */
  readonly end: { readonly isComplete: boolean } | null;
  /** Commits what is staged, if anything is. */
  readonly commit: () => Promise<void>;
}

/** Topics that are derived from a table's rows, and committed in its transactions. */
export interface View {
  /**
   * Called directly before each commit of rows, and at the end of each sync. A view derives only once from a batch:
   * before it derives more, the batch must be committed, so that the index has the result.
   */
  derive(table: Table, sync: ViewedSync): Promise<void>;
  /** The live absences, as of the last commit, to which these ids belong, or which await them. */
  live(ids: readonly string[], lookUp: LookUp): Promise<LiveIds>;
  /** How many keys the derived topics have, by the index. */
  countRows(lookUp: LookUp): Promise<Record<DerivedCollection, number>>;
  /** The records that fill an empty changelog from the index. */
  changelog(): AsyncIterable<readonly OutgoingRecord[]>;
  /** Called after the commit. */
  committed(derived: Derived): void;
}

/** What a session remembers of a collection besides its index and topics. */
export interface SessionMemory {
  /** The pages of earlier full syncs; left out if no page is to be remembered. */
  readonly pages?: PageMemory | undefined;
  readonly deletions: Deletions;
  /** What is derived from the rows. */
  readonly view?: View | undefined;
}

type TableStart = Pick<WriterStart, 'indexed' | 'knownRows' | 'knownRejects'>;
type Hashes = ReadonlyMap<string, Buffer | null>;

/** Rows of one answer of the hub. */
export interface RowPage extends Pick<HubPage, 'readVersion' | 'fingerprint'> {
  readonly rows: readonly KeyedRow[];
}

/** Whether a page may be staged, by the number of its rows (rejects included), and how many of them are known. */
export type Gate = (rows: number, knownAmongThem: number) => boolean;

export interface FoundKeys {
  /** The keys, at most {@link MAX_UNSEEN_KEYS} of them. */
  readonly keys: readonly string[];
  readonly count: number;
}

/**
 * A collection's index with the staged batch on top. It looks rows up, decides about them, stages changes and counts.
 *
 * It commits nothing and has no queue. Its caller calls one method after another, and applies the staged batch to the
 * index after the log has committed it.
 */
export class Table {
  readonly #tenant: Tenant;
  readonly #own: TenantCollection;
  readonly #memory: SessionMemory;
  readonly #index: CollectionIndex;
  readonly #headers: StagedHeaders;
  readonly syncs = new RunningSyncs();
  /** `dateLastModified` of the rows that were updated last, ms since the epoch. */
  readonly #modifiedMs = new Map<string, number>();
  /** The transaction that the index reflects. */
  indexed = '';
  /** Number of keys, with the staged changes. */
  known: Record<Change['area'], number> = { rows: 0, rejects: 0 };
  /** Changes that are decided and not committed yet. */
  staged: StagedBatch;

  constructor(tenant: Tenant, own: TenantCollection, memory: SessionMemory) {
    this.#tenant = tenant;
    this.#own = own;
    this.#memory = memory;
    this.#index = tenant.state.collection(own.name);
    const { tenantId } = tenant;
    const { mapping } = own.reader;
    this.#headers = {
      rows: sharedHeadersOf({ tenantId, topic: own.name, mapping }),
      rejects: sharedHeadersOf({ tenantId, topic: 'rejects', mapping }),
    };
    this.staged = this.#newBatch();
  }

  get isFull(): boolean {
    const { size, bytes, changes } = this.staged;
    return size >= this.#own.size.rows || bytes >= MAX_PENDING_BYTES || changes.length >= MAX_PENDING_CHANGES;
  }

  /** The log has committed the staged batch. */
  async apply(position: IndexPosition): Promise<void> {
    await this.#index.apply(this.indexed, position, this.staged.changes);
    this.indexed = position.transactionId;
    this.staged = this.#newBatch();
  }

  #newBatch(): StagedBatch {
    const isViewed = this.#memory.view !== undefined;
    const of = { collection: this.#own.name, headers: this.#headers, isViewed };
    return new StagedBatch(this.#tenant.runtime.randomId(), of);
  }

  /** Begins again with an index that is new, or was rebuilt. */
  reset(start: TableStart): void {
    this.indexed = start.indexed;
    this.known = { rows: start.knownRows, rejects: start.knownRejects };
    this.#memory.pages?.forget();
  }

  /**
   * Decides about the rows of a page, and stages the changes. `isAskedFor`: the rows were requested by id, so the
   * scan may still read them. `kept`: rows that are staged even if they are unchanged, to derive records from them.
   * Returns null, and notes nothing, if the gate does not let the page pass.
   */
  async decide(
    sync: ActiveSync,
    page: RowPage & { readonly isAskedFor?: boolean },
    options: {
      readonly seenBefore: ReadonlySet<string>;
      readonly kept: readonly KeyedRow[];
      readonly gate?: Gate | undefined;
    },
  ): Promise<PageTally | null> {
    const { seenBefore, gate } = options;
    const keys = page.rows.flatMap(({ key }) => key ?? []);
    const hashes = await this.#lookUp('rows', keys);
    const rejectKeys = page.rows.map(({ rejectKey }) => rejectKey);
    const rejects = await this.#lookUp('rejects', rejectKeys);
    const isKnown = ({ key, rejectKey }: KeyedRow): boolean =>
      (key !== null && this.#hashOf('rows', key, hashes) !== null) || rejects.get(rejectKey) != null;
    if (gate?.(page.rows.length, page.rows.filter(isKnown).length) === false) return null;
    const scanning = page.isAskedFor === true ? null : sync;
    this.syncs.markSeen(scanning, page.rows);
    this.#memory.deletions.noteSeen(page.rows.map(({ key }) => key));
    const isDeleted =
      scanning === null || scanning.isFull ? undefined : await this.#alreadyDeleted(page.rows, hashes);
    // A second occurrence of a row in the same page is not stale.
    const before = this.syncs.readVersion;
    const isStale = (key: string): boolean => this.syncs.wasPublished(key, page.readVersion, before);
    const tally = findRowChanges(page.rows, {
      row: (key) => this.#hashOf('rows', key, hashes),
      reject: (key) => this.#hashOf('rejects', key, rejects),
      stale: isStale,
      republication: (key) => sync.republication?.rows?.(key) === true,
      seenBefore: (key) => seenBefore.has(key),
      isAlreadyDeleted: isDeleted,
      note: (change) => this.#stage(change, scanning),
    });
    this.#stageUnchanged(options.kept, hashes);
    if (scanning?.isFull === true && scanning.republication === undefined && seenBefore.size === 0) {
      this.#remember(page, tally, isStale);
    }
    const isNew = ({ key }: KeyedRow): boolean => key === null || !seenBefore.has(key);
    countRejects(sync.stats, seenBefore.size === 0 ? page.rows : page.rows.filter(isNew));
    // Rows that were requested by id do not count as rows of the scan.
    addTally(sync.stats, scanning === null ? { ...tally, rowsSeen: 0, rowsUnchanged: 0 } : tally);
    this.syncs.noteRead(sync, page.readVersion);
    return tally;
  }

  /**
   * Takes a page that was recognised. None of its keys has changed since its rows were equal to the index, so they
   * are equal still. If its rows must be decided one by one, it returns null, and notes nothing. It does the same as
   * {@link decide} does for rows that are unchanged and occur for the first time.
   */
  acceptKnown(sync: ActiveSync, page: RememberedPage, readVersion: number): PageTally | null {
    const { pages } = this.#memory;
    if (sync.republication !== undefined || pages?.isCurrent(page) !== true) return null;
    if (!this.syncs.markAllSeen(sync, page.keys)) return null;
    pages.confirm(page);
    const tally = unchangedRows(page.rows);
    addTally(sync.stats, tally);
    this.syncs.noteRead(sync, readVersion);
    return tally;
  }

  /** Remembers a page if all its rows are equal to the index now, and occurred for the first time. */
  #remember(page: RowPage, tally: PageTally, isStale: (key: string) => boolean): void {
    const { rows, fingerprint } = page;
    if (fingerprint === undefined || this.#memory.pages === undefined) return;
    const { rowsSeen, rowsRejected, rowsRepeated, rowsStale } = tally;
    const isWhole = rowsSeen === rows.length && rowsRejected + rowsRepeated + rowsStale === 0;
    // Even if a stale row is unchanged, the index may still have a newer reject of it.
    if (!isWhole || rows.some(({ key }) => isStale(key ?? ''))) return;
    const proven = fingerprint();
    if (proven?.ids.length !== rows.length) return;
    if (!rows.every(({ key, isEmpty }, at) => key === proven.ids[at] && isEmpty !== true)) return;
    this.#memory.pages.remember(proven);
  }

  /**
   * Returns a function that tells whether a row of the page is deleted already. It knows the live absences that these
   * rows continue. Undefined if no row can be deleted already.
   */
  async #alreadyDeleted(
    rows: readonly KeyedRow[],
    hashes: Hashes,
  ): Promise<((row: ReadableRow) => boolean) | undefined> {
    const deleted: ReadableRow[] = [];
    const begun = new Set<string>();
    for (const { key, decoded } of rows) {
      if (decoded.kind !== 'row' || key === null || this.#hashOf('rows', key, hashes) !== null) continue;
      if (isAlreadyDeleted(decoded, () => false)) deleted.push(decoded);
      else begun.add(key);
    }
    if (deleted.length === 0) return undefined;
    const ids = deleted
      .flatMap(({ sourcedId, value }) => [sourcedId, replacedBy(value)])
      .filter((id) => id !== null);
    const live = await this.#memory.view?.live(ids, this.lookUpCommitted);
    for (const id of live?.versions ?? []) begun.add(id);
    const isLive = (id: string): boolean => begun.has(id) || this.staged.hashOf('rows', id) != null;
    return (row) => live?.awaited.has(row.sourcedId) !== true && isAlreadyDeleted(row, isLive);
  }

  #stageUnchanged(rows: readonly KeyedRow[], hashes: Hashes): void {
    for (const { key, decoded } of rows) {
      if (decoded.kind !== 'row' || key === null) continue;
      if (this.#hashOf('rows', key, hashes)?.equals(decoded.hash) === true)
        this.staged.noteUnchanged(decoded);
    }
  }

  /** Stages removals, except for keys that the sync has read since (invariant 3). */
  async remove(sync: ActiveSync, area: Change['area'], keys: readonly string[]): Promise<void> {
    const hashes = await this.#lookUp(area, keys);
    for (const key of keys) {
      if (hasSeen(sync, area, key) || this.#hashOf(area, key, hashes) === null) continue;
      this.#stage({ area, key, kind: 'deleted' }, null);
      if (area === 'rows') sync.stats.rowsRemoved += 1;
    }
  }

  /** Takes readable rows out of the staged batch, and puts them among the rejects. */
  async reject(sync: ActiveSync, rows: readonly ReadableRow[], reason: string): Promise<void> {
    const keys = rows.map(({ sourcedId }) => sourcedId);
    const known = await this.lookUpCommitted('rows', keys);
    const rejects = await this.lookUpCommitted('rejects', keys);
    for (const [at, { sourcedId: key, value }] of rows.entries()) {
      const isNew = (known[at] ?? null) === null;
      if (this.staged.withdraw('rows', key)) {
        if (isNew) this.known.rows -= 1;
        sync.stats[isNew ? 'rowsCreated' : 'rowsUpdated'] -= 1;
      }
      const before = rejects[at] ?? null;
      if (this.staged.withdraw('rejects', key) && before !== null) this.known.rejects += 1;
      if (!isNew) this.#stage({ area: 'rows', key, kind: 'deleted' }, null);
      this.staged.forgetRow(key);
      const reject = this.#own.reader.rejectValue(value, reason);
      if (before?.equals(reject.hash) !== true)
        this.#stage({ area: 'rejects', key, kind: before === null ? 'created' : 'updated', reject }, null);
      this.#memory.pages?.noteChanged(key);
      this.syncs.markRejected(key);
      sync.stats.rowsRejected += 1;
    }
  }

  /** The hashes of rows with the staged changes; null for a key without a row. */
  async hashesOf(keys: readonly string[]): Promise<Hashes> {
    const hashes = await this.#lookUp('rows', keys);
    return new Map(keys.map((key) => [key, this.#hashOf('rows', key, hashes)]));
  }

  /** Keys of the index that a sync has not read, and that pass a test. */
  async unseen(
    area: Change['area'],
    sync: ActiveSync,
    test: (key: string) => boolean = () => true,
  ): Promise<FoundKeys> {
    if (area === 'rows' && hasSeenAll(sync, this.known.rows)) return { keys: [], count: 0 };
    return this.find(area, (key) => !hasSeen(sync, area, key) && test(key));
  }

  /** Keys of the index, as of the last commit, that pass a test. */
  async find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    const found = new Set<string>();
    let beyond = 0;
    for await (const batch of this.#index.keys(area)) {
      for (const key of batch) {
        if (!test(key)) continue;
        if (found.size < MAX_UNSEEN_KEYS) found.add(key);
        else if (!found.has(key)) beyond += 1;
      }
    }
    // This throws if the index was lost meanwhile. A lost index would show no row as missing, and no hold would
    // stand.
    await this.lookUpCommitted(area, []);
    return { keys: [...found], count: found.size + beyond };
  }

  /** Up to `count` keys of rows that pass a test, as of the last commit. */
  async someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    for await (const batch of this.#index.keys('rows')) {
      const fit = batch.filter(test);
      // Spread over the batch, because neighbouring keys often change together.
      const step = Math.max(1, Math.floor(fit.length / count));
      if (fit.length > 0) return fit.filter((_, position) => position % step === 0).slice(0, count);
    }
    return [];
  }

  /** Reads the index as of the last commit. */
  readonly lookUpCommitted: LookUp = (area, keys) => this.#index.lookup(area, keys, this.indexed);

  async #lookUp(area: Change['area'], keys: readonly string[]): Promise<Hashes> {
    if (keys.length === 0 || this.known[area] === 0) return new Map();
    const hashes = await this.#index.lookup(area, keys, this.indexed);
    return new Map(keys.map((key, position) => [key, hashes[position] ?? null]));
  }

  #hashOf(area: Change['area'], key: string, indexed: Hashes): Buffer | null {
    const staged = this.staged.hashOf(area, key);
    return staged === undefined ? (indexed.get(key) ?? null) : staged;
  }

  /** `scanning`: the sync whose scan read the row; null if none did. */
  #stage(change: Change, scanning: ActiveSync | null): void {
    if (change.area === 'rows' && change.kind !== 'deleted' && scanning?.isLate?.(change.row) === true)
      scanning.stats.rowsLate = (scanning.stats.rowsLate ?? 0) + 1;
    this.staged.note(change, this.#render(change));
    // A key that the index did not have is in no remembered page.
    if (change.area === 'rejects' || change.kind !== 'created') this.#memory.pages?.noteChanged(change.key);
    if (change.kind === 'created') this.known[change.area] += 1;
    if (change.kind === 'deleted') this.known[change.area] -= 1;
    this.syncs.notePublished(change.key);
    if (change.area === 'rejects' || change.kind !== 'updated') return;
    const { modifiedAtMs } = change.row;
    const isOlder = modifiedAtMs !== null && modifiedAtMs < (this.#modifiedMs.get(change.key) ?? 0);
    if (scanning !== null && isOlder) scanning.stats.rowsOlder += 1;
    if (this.#modifiedMs.size >= MOST_TIMES) this.#modifiedMs.clear();
    this.#modifiedMs.set(change.key, modifiedAtMs ?? 0);
  }

  #render(change: Change): RenderedChange {
    const { name: collection, reader, encodeReject } = this.#own;
    const { runtime } = this.#tenant;
    if (change.kind === 'deleted') return { body: null, ...REMOVED };
    if (change.area === 'rows') {
      const { value, hash, modifiedAtMs } = change.row;
      return { body: reader.encode(value), hash, modifiedAtMs };
    }
    const { sourcedId, reason, text, hash, modifiedAtMs } = change.reject;
    const firstSeenAt = runtime.now();
    const body = encodeReject({ collection, sourcedId, reason, row: text, firstSeenAt });
    return { body, hash, modifiedAtMs };
  }

  /** Stages what a view derived from the batch. */
  add(sync: ActiveSync, derived: Derived): void {
    this.staged.add(derived);
    for (const [kind, count] of Object.entries(derived.tally))
      sync.stats.absences[kind as keyof typeof derived.tally] += count;
  }
}
