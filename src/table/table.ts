import type { PageMemory, RememberedPage } from '../core/pages/page-memory.ts';
import type { TransactionSize } from '../core/transaction-size.ts';
import {
  findRowChanges,
  unchangedRows,
  type Change,
  type KeyedRow,
  type PageTally,
} from '../core/row-changes.ts';
import { isOverBeforeMet, replacedBy } from '../core/deletions/over-before-met.ts';
import type { ReadableRow } from '../core/decoded-row.ts';
import type { CollectionIndex } from '../state/index-store.ts';
import type { HubPage } from '../hub/hub.ts';
import { hasSeen, markAllSeen, markSeen, reportNew, rowKeys, type ActiveSync } from './active-sync.ts';
import type { LiveIds, LookUp } from './view.ts';
import { PendingTransaction, type RenderParts } from './pending-transaction.ts';
import { addTally, countRejects } from '../core/sync-stats.ts';
import type { WriterStart } from './collection-progress.ts';
import type { TaskQueue } from './task-queue.ts';

const MAX_PENDING_BYTES = 4_000_000;
/** More keys than this are counted, not kept: a hub that shows one page of two million rows must not fill the memory. */
export const MAX_UNSEEN_KEYS = 100_000;
/** Well below the limit of changes in one step of the index. */
const MAX_PENDING_CHANGES = 50_000;
/** Number of recently published keys at which old ones are dropped. */
const SWEEP_AT_KEYS = 20_000;

export interface TableParts extends RenderParts {
  readonly index: CollectionIndex;
  readonly size: TransactionSize;
  /** Told of every change; left out where no page is to be remembered. */
  readonly pages?: PageMemory | undefined;
  /** Told of the keys that the hub shows, one by one or all those of a page. */
  readonly onSeen?: ((keys: Iterable<string | null>) => void) | undefined;
  /** See {@link View.live}. */
  readonly live?: ((ids: readonly string[]) => Promise<LiveIds>) | undefined;
}

type TableStart = Pick<WriterStart, 'indexed' | 'knownRows' | 'knownRejects'>;
type Hashes = ReadonlyMap<string, Buffer | null>;

/** Rows of one answer of the hub. */
export interface RowPage {
  readonly rows: readonly KeyedRow[];
  readonly readVersion: number;
  /** See {@link HubPage.print}. */
  readonly print?: HubPage['print'];
}

/** Decides whether enough of a page's rows are known. */
export type IsEnough = (rows: number, known: number) => boolean;

export type Known = 'unknown' | 'same' | 'differing';

export interface FoundKeys {
  /** At most {@link MAX_UNSEEN_KEYS}. */
  readonly keys: readonly string[];
  readonly count: number;
}

/**
 * A collection's index with the staged batch on top: looks rows up, decides on them, stages changes and counts.
 *
 * It commits nothing and has no queue: its user calls one method after another, and applies the staged batch to the
 * index once the log has committed it.
 */
export class Table {
  readonly #parts: TableParts;
  readonly #syncs = new Set<ActiveSync>();
  readonly #publishedAt = new Map<string, number>();
  #readVersion = 0;
  #samples = 0;
  #indexed: string;
  #known: Record<Change['area'], number>;
  #staged: PendingTransaction;

  constructor(parts: TableParts, start: TableStart) {
    this.#parts = parts;
    this.#indexed = start.indexed;
    this.#known = { rows: start.knownRows, rejects: start.knownRejects };
    this.#staged = new PendingTransaction(parts);
  }

  /** Changes that are decided and not committed yet. */
  get staged(): PendingTransaction {
    return this.#staged;
  }

  get isFull(): boolean {
    const { size, bytes, changes } = this.#staged;
    return (
      size >= this.#parts.size.rows || bytes >= MAX_PENDING_BYTES || changes.length >= MAX_PENDING_CHANGES
    );
  }

  /** The transaction that the index reflects. */
  get indexed(): string {
    return this.#indexed;
  }

  /** The index has applied the staged batch. */
  applied(transactionId: string): void {
    this.#indexed = transactionId;
    this.#staged = new PendingTransaction(this.#parts);
  }

  /** The index was rebuilt. */
  reset(start: TableStart): void {
    this.#indexed = start.indexed;
    this.#known = { rows: start.knownRows, rejects: start.knownRejects };
    this.#parts.pages?.forget();
  }

  get knownRows(): number {
    return this.#known.rows;
  }

  get knownRejects(): number {
    return this.#known.rejects;
  }

  get readVersion(): number {
    return this.#readVersion;
  }

  begin(sync: ActiveSync): void {
    this.#syncs.add(sync);
  }

  end(sync: ActiveSync): void {
    this.#syncs.delete(sync);
    if (this.#syncs.size === 0) this.#publishedAt.clear();
  }

  get isFullSyncRunning(): boolean {
    return [...this.#syncs].some(({ seen }) => seen !== null);
  }

  /**
   * Decides the rows of a page and stages the changes. `isAskedFor`: the rows were requested by id, so the scan may
   * still read them. `kept`: rows that are staged even if they are unchanged, to derive records from them.
   */
  async decide(
    sync: ActiveSync,
    page: RowPage & { readonly isAskedFor?: boolean },
    options: {
      readonly seenBefore: ReadonlySet<string>;
      readonly kept: readonly KeyedRow[];
      /** The page's rows as the index has them, if they were looked up before. */
      readonly hashes?: Hashes | undefined;
    },
  ): Promise<PageTally> {
    const { seenBefore } = options;
    const hashes = options.hashes ?? (await this.#lookUp('rows', rowKeys(page.rows)));
    const rejectsMatter =
      this.#known.rejects > 0 || page.rows.some(({ decoded }) => decoded.kind === 'reject');
    const rejects = rejectsMatter
      ? await this.#lookUp(
          'rejects',
          page.rows.map(({ rejectKey }) => rejectKey),
        )
      : null;
    const scanning = page.isAskedFor === true ? null : sync;
    markSeen(this.#syncs, scanning, page.rows);
    this.#parts.onSeen?.(page.rows.map(({ key }) => key));
    const isOver =
      scanning?.seenByIncremental === undefined ? undefined : await this.#overBeforeMet(page.rows, hashes);
    // A second occurrence of a row in the same page is not stale.
    const before = this.#readVersion;
    const isStaleFor = (publishedAt: number): boolean =>
      publishedAt > page.readVersion && publishedAt <= before;
    const tally = findRowChanges(page.rows, {
      row: (key) => this.#hashOf('rows', key, hashes),
      reject: (key) => (rejects === null ? null : this.#hashOf('rejects', key, rejects)),
      stale: (key) => isStaleFor(this.#publishedAt.get(key) ?? -1),
      republication: (key) => sync.republication?.rows?.(key) === true,
      seenBefore: (key) => seenBefore.has(key),
      isOver,
      note: (change) => this.#stage(change, scanning),
    });
    this.#stageUnchanged(options.kept, hashes);
    sync.readVersion = Math.max(sync.readVersion, page.readVersion);
    if (scanning?.seen != null && scanning.republication === undefined && seenBefore.size === 0) {
      this.#remember(page, tally, isStaleFor);
    }
    const isNew = ({ key }: KeyedRow): boolean => key === null || !seenBefore.has(key);
    countRejects(sync.stats, seenBefore.size === 0 ? page.rows : page.rows.filter(isNew));
    // Rows that were requested by id do not count as rows of the scan.
    addTally(sync.stats, scanning === null ? { ...tally, seen: 0, unchanged: 0 } : tally);
    this.#sweepPublished();
    return tally;
  }

  /**
   * Takes a page that was recognised: no key of it has changed since its rows equalled the index, so they still do.
   * Null, and nothing is noted, where its rows are to be decided one by one. It does what {@link decide} does for rows
   * that are unchanged and met for the first time.
   */
  acceptKnown(sync: ActiveSync, page: RememberedPage, readVersion: number): PageTally | null {
    const { pages } = this.#parts;
    if (sync.republication !== undefined || pages?.isCurrent(page) !== true) return null;
    if (!markAllSeen(this.#syncs, sync, page.keys)) return null;
    pages.confirm(page);
    const tally = unchangedRows(page.rows);
    sync.readVersion = Math.max(sync.readVersion, readVersion);
    addTally(sync.stats, tally);
    this.#sweepPublished();
    return tally;
  }

  /** Remembers a page all of whose rows now equal the index, and were met for the first time. */
  #remember(page: RowPage, tally: PageTally, isStaleFor: (publishedAt: number) => boolean): void {
    const { rows, print } = page;
    if (print === undefined || this.#parts.pages === undefined) return;
    const isWhole = tally.seen === rows.length && tally.rejected + tally.repeated + tally.stale === 0;
    // A row that is older than what was published since may leave a newer reject in place.
    const isStale = ({ key }: KeyedRow): boolean => isStaleFor(this.#publishedAt.get(key ?? '') ?? -1);
    if (!isWhole || rows.some(isStale)) return;
    const proven = print();
    if (proven?.ids.length !== rows.length) return;
    if (!rows.every(({ key, becameEmpty }, at) => key === proven.ids[at] && becameEmpty !== true)) return;
    this.#parts.pages.remember(proven, proven.ids);
  }

  /** Looks up what the page's rows continue; undefined where none of them can be over. */
  async #overBeforeMet(
    rows: readonly KeyedRow[],
    hashes: Hashes,
  ): Promise<((row: ReadableRow) => boolean) | undefined> {
    const over: ReadableRow[] = [];
    const begun = new Set<string>();
    for (const { key, decoded } of rows) {
      if (decoded.kind !== 'row' || key === null || this.#hashOf('rows', key, hashes) !== null) continue;
      if (isOverBeforeMet(decoded, () => false)) over.push(decoded);
      else begun.add(key);
    }
    if (over.length === 0) return undefined;
    const ids = over.flatMap(({ sourcedId, value }) => [sourcedId, replacedBy(value)]);
    const live = await this.#parts.live?.(ids.filter((id) => id !== null));
    for (const id of live?.versions ?? []) begun.add(id);
    const isLive = (id: string): boolean => begun.has(id) || this.#staged.hashOf('rows', id) != null;
    return (row) => live?.awaited.has(row.sourcedId) !== true && isOverBeforeMet(row, isLive);
  }

  #stageUnchanged(rows: readonly KeyedRow[], hashes: Hashes): void {
    for (const { key, decoded } of rows) {
      if (decoded.kind !== 'row' || key === null) continue;
      if (this.#hashOf('rows', key, hashes)?.equals(decoded.hash) === true)
        this.#staged.noteUnchanged(decoded);
    }
  }

  /** The page's rows as the index has them, and how many of its rows, or rejects, are known. */
  async lookUpPage({ rows }: RowPage): Promise<{ hashes: Hashes; known: number }> {
    const hashes = await this.#lookUp(
      'rows',
      rows.flatMap(({ key }) => key ?? []),
    );
    const unreadable = rows.filter(({ decoded: { kind } }) => kind === 'reject');
    const rejects = await this.#lookUp(
      'rejects',
      unreadable.map(({ rejectKey }) => rejectKey),
    );
    const known = rows.filter(
      ({ key, rejectKey }) =>
        (key !== null && this.#hashOf('rows', key, hashes) !== null) ||
        (rejects.get(rejectKey) ?? null) !== null,
    );
    return { hashes, known: known.length };
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
      if (this.#staged.withdraw('rows', key)) {
        if (isNew) this.#known.rows -= 1;
        sync.stats[isNew ? 'rowsCreated' : 'rowsUpdated'] -= 1;
      }
      const before = rejects[at] ?? null;
      if (this.#staged.withdraw('rejects', key) && before !== null) this.#known.rejects += 1;
      if (!isNew) this.#stage({ area: 'rows', key, kind: 'deleted' }, null);
      this.#staged.forgetRow(key);
      const reject = this.#parts.reader.rejectValue?.(value, reason);
      if (reject === undefined) throw new Error('the reader of this collection rejects no value');
      if (before?.equals(reject.hash) !== true)
        this.#stage({ area: 'rejects', key, kind: before === null ? 'created' : 'updated', reject }, null);
      this.#parts.pages?.noteChanged(key);
      for (const active of this.#syncs) active.seenRejects?.add(key);
      sync.stats.rowsRejected += 1;
    }
  }

  /** The hashes of rows with the staged changes; null for a key without a row. */
  async hashesOf(keys: readonly string[]): Promise<Hashes> {
    const hashes = await this.#lookUp('rows', keys);
    return new Map(keys.map((key) => [key, this.#hashOf('rows', key, hashes)]));
  }

  /** Those of the keys that are rows, with the staged changes. */
  async knownAmong(keys: readonly string[]): Promise<readonly string[]> {
    const hashes = await this.hashesOf(keys);
    return keys.filter((key) => (hashes.get(key) ?? null) !== null);
  }

  /** The rows by whether their keys are known, and with this content. */
  async compare(rows: readonly KeyedRow[]): Promise<Partial<Record<Known, KeyedRow[]>>> {
    const hashes = await this.hashesOf(rowKeys(rows));
    return Object.groupBy(rows, ({ key, decoded }): Known => {
      const before = key === null ? null : (hashes.get(key) ?? null);
      if (before === null) return 'unknown';
      return before.equals(decoded.hash) ? 'same' : 'differing';
    });
  }

  /** Keys of the index, as of the last commit, that pass a test. */
  async find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    const found = new Set<string>();
    let beyond = 0;
    for await (const batch of this.#parts.index.keys(area)) {
      for (const key of batch) {
        if (!test(key)) continue;
        if (found.size < MAX_UNSEEN_KEYS) found.add(key);
        else if (!found.has(key)) beyond += 1;
      }
    }
    return { keys: [...found], count: found.size + beyond };
  }

  /** Up to `count` keys of rows that pass a test, as of the last commit. */
  async someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    for await (const batch of this.#parts.index.keys('rows')) {
      const fit = batch.filter(test);
      // Spread over the batch, because neighbouring keys often change together; and others each time, since the hub may have
      // removed those of the last time.
      const step = Math.max(1, Math.floor(fit.length / count));
      const from = this.#samples % step;
      this.#samples += 1;
      if (fit.length > 0) return fit.filter((_, position) => position % step === from).slice(0, count);
    }
    return [];
  }

  /** Reads the index as of the last commit. */
  readonly lookUpCommitted: LookUp = (area, keys) => this.#parts.index.lookup(area, keys, this.#indexed);

  async #lookUp(area: Change['area'], keys: readonly string[]): Promise<Hashes> {
    if (keys.length === 0 || this.#known[area] === 0) return new Map();
    const hashes = await this.#parts.index.lookup(area, keys, this.#indexed);
    return new Map(keys.map((key, position) => [key, hashes[position] ?? null]));
  }

  #hashOf(area: Change['area'], key: string, indexed: Hashes): Buffer | null {
    const staged = this.#staged.hashOf(area, key);
    return staged === undefined ? (indexed.get(key) ?? null) : staged;
  }

  /** `scanning`: the sync whose scan read the row; null if none did. */
  #stage(change: Change, scanning: ActiveSync | null): void {
    if (scanning !== null) reportNew(scanning, change);
    this.#staged.note(change);
    // No page that is current holds a key that the index does not have.
    if (change.area === 'rejects' || change.kind !== 'created') this.#parts.pages?.noteChanged(change.key);
    if (change.kind === 'created') this.#known[change.area] += 1;
    if (change.kind === 'deleted') this.#known[change.area] -= 1;
    this.#readVersion += 1;
    this.#publishedAt.set(change.key, this.#readVersion);
  }

  #sweepPublished(): void {
    if (this.#publishedAt.size < SWEEP_AT_KEYS) return;
    const oldest = Math.min(...[...this.#syncs].map(({ readVersion }) => readVersion));
    for (const [key, readVersion] of this.#publishedAt)
      if (readVersion <= oldest) this.#publishedAt.delete(key);
  }
}
/** What is published of a collection, by its index and the staged changes. The writer runs no other task while it reads. */
export class KnownRows {
  readonly #table: Table;
  readonly #queue: TaskQueue;

  constructor(table: Table, queue: TaskQueue) {
    this.#table = table;
    this.#queue = queue;
  }

  get rows(): number {
    return this.#table.knownRows;
  }

  get rejects(): number {
    return this.#table.knownRejects;
  }

  /** Returns those of the keys that are rows of the collection. */
  among(keys: readonly string[]): Promise<readonly string[]> {
    return this.#queue.run(() => this.#table.knownAmong(keys));
  }

  /** Returns up to `count` keys of rows that pass a test, as of the last commit. It does not wait for other tasks. */
  someKeys(count: number, test: (key: string) => boolean): Promise<readonly string[]> {
    return this.#table.someKeys(count, test);
  }

  /** Returns the decoded rows by whether their keys are known, and with this content. */
  compare(rows: readonly KeyedRow[]): Promise<Partial<Record<Known, KeyedRow[]>>> {
    return this.#queue.run(() => this.#table.compare(rows));
  }

  /**
   * Whether a full sync has certainly read every known row: it has read as many rows as are known, all of them
   * readable and none stale. If false, {@link unseen} finds out by reading the whole index.
   */
  areAllSeen({ seen, seenRejects, stats }: ActiveSync): boolean {
    return seen?.size === this.rows && seenRejects?.size === 0 && stats.rowsStale === 0;
  }

  /** Returns the keys of the index that a sync has not read, and that pass a test. */
  unseen(
    area: Change['area'],
    sync: ActiveSync,
    test: (key: string) => boolean = () => true,
  ): Promise<FoundKeys> {
    return this.find(area, (key) => !hasSeen(sync, area, key) && test(key));
  }

  /** Returns the keys of the index, as of the last commit, that pass a test. */
  find(area: Change['area'], test: (key: string) => boolean): Promise<FoundKeys> {
    return this.#queue.run(() => this.#table.find(area, test));
  }
}
