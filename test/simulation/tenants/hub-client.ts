import type { FoundRow, Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import { HubError } from '../../../src/hub/hub-error.ts';
import type { PagingMode } from '../../../src/core/hub-events.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { compositeKey } from '../../../src/model/keys.ts';
import { asListed } from '../parts/listed-pages.ts';
import { withOther } from '../parts/with-other.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';
import { jsonOf, type HubVersion } from '../chains/hub-version.ts';
import type { RowCollection, TenantHub } from './tenant-hub.ts';
import type { TenantRow } from './tenant-row.ts';
import { withTwins, type ListedRow } from './twins.ts';

const PAGE_ROWS = 5;

/** How a hub answers during a whole history. */
export interface HubManner {
  readonly paging: Extract<PagingMode, 'keyset' | 'offset'>;
  readonly hasTotals: boolean;
  readonly hasClock: boolean;
  /** Some ids are listed twice, with two contents; see twins.ts. */
  readonly hasTwins: boolean;
  /** The share of scans that get a wrong answer, 0 to 1. */
  readonly liesOften: number;
  readonly lies: readonly Lie[];
}

/** How one scan goes wrong. */
export const LIES = [
  'cut short',
  'empty',
  'no list',
  'wrong total',
  'no total',
  'same page',
  'row skipped',
] as const;
type Lie = (typeof LIES)[number];

/** A full scan as the client saw it, for the checks. */
export interface FullScan {
  readonly collection: CollectionName;
  /** The parent's id; empty without one. */
  readonly scope: string;
  readonly endedAtMs: number;
  /** It ended by the hub's own sign, and brought no fewer rows than the hub counts. */
  readonly isConclusive: boolean;
  /** An offset scan whose count no total confirms. */
  readonly isDoubtful: boolean;
  readonly ids: ReadonlySet<string>;
}

type Listing = Pick<ReadOptions, 'parentId' | 'modifiedAfterMs'> & {
  readonly collection: { readonly name: CollectionName };
};

/** A scan that goes on. */
class Walk {
  readonly lie: Lie | null;
  readonly ids = new Set<string>();
  rows = 0;
  /** The number of rows after which it is cut short. */
  cutAfter = 0;
  /** Where the next page begins, by offset and by id. */
  offset = 0;
  after = '';
  totalAtStart: number | null = null;

  constructor(lie: Lie | null) {
    this.lie = lie;
  }
}

export interface Shown {
  readonly atMs: number;
  readonly to: number;
}

/**
 * The hub as a process reads it, page by page while it changes. Any request may fail, and any scan may go wrong in its own
 * way: it ends among the rows, is empty, has no list, counts wrongly or not at all, or repeats itself.
 */
export class HubClient implements Hub {
  /** Requests at a time, now and at most so far (invariant 10). */
  underWay = 0;
  mostUnderWay = 0;
  /** By class: how many scans said that it has no students. */
  readonly saidEmpty = new Map<string, number>();
  /** Those of another tenant's hub included: what it does not list is missed as well. */
  readonly scans: FullScan[];
  /** By collection, scope and id: when a page showed the row, and to which process. */
  readonly shown = new Map<string, Shown[]>();
  readonly #at: Surroundings;
  readonly #hub: TenantHub;
  readonly #manner: HubManner;
  readonly #happened: (what: string) => void;

  constructor(
    at: Surroundings,
    hub: TenantHub,
    manner: HubManner,
    happened: (what: string) => void,
    scans: FullScan[] = [],
  ) {
    this.scans = scans;
    this.#at = at;
    this.#hub = hub;
    this.#manner = manner;
    this.#happened = happened;
  }

  /** The hub as that process reads it. */
  readBy(process: number): Hub {
    return withOther<Hub>(this, { readPages: (options) => this.readPages(options, process) });
  }

  async *readPages(options: ReadOptions, process = 0): AsyncGenerator<HubPage, ScanEnd> {
    const walk = new Walk(this.#nextLie(options));
    for (let isFirst = true; ; isFirst = false) {
      const { page, count, rest } = await this.#counted(() => this.#request(options, walk));
      if (isFirst) walk.totalAtStart = page?.total ?? null;
      if (page === null) return this.#end(walk, 'missing-list', options);
      if (count === 0 && !isFirst) return this.#end(walk, 'empty-page', options);
      walk.rows += count;
      this.#note({ ...options, process }, walk, page);
      yield page;
      if (count === 0) return this.#end(walk, 'no-rows', options);
      if (walk.lie === 'same page') return this.#end(walk, 'repeated-page', options);
      const isCut = walk.lie === 'cut short' && walk.rows > walk.cutAfter;
      if (rest <= PAGE_ROWS || isCut) return this.#end(walk, 'no-next-link', options);
    }
  }

  findRows(options: Parameters<Hub['findRows']>[0]): Promise<FoundRow[]> {
    return this.#counted(async () => {
      const readVersion = options.readVersion();
      await dawdle(this.#at, 3);
      if (strikes(this.#at, 0.1)) {
        for (const id of options.ids) this.#hub.absences?.unanswered.add(id);
        throw simulatedError('HUB_TIMEOUT');
      }
      const all = this.#list({ collection: options.collection });
      const found = all.filter(({ id }) => options.ids.includes(id));
      const rows = found.map((each) => ({ row: this.#handOut(each), isUtf8: true, readVersion }));
      await dawdle(this.#at, 3);
      return rows;
    });
  }

  #note(
    { collection: { name }, parentId = '', process: to }: ReadOptions & { process: number },
    walk: Walk,
    { rows }: HubPage,
  ): void {
    for (const row of rows) {
      const id = (row as { sourcedId: string }).sourcedId;
      walk.ids.add(id);
      const key = `${name} ${parentId} ${id}`;
      const times = this.shown.get(key) ?? [];
      this.shown.set(key, times);
      times.push({ atMs: this.#at.time.now(), to });
    }
    if (rows.length === 0 && name === 'class-students')
      this.saidEmpty.set(parentId, (this.saidEmpty.get(parentId) ?? 0) + 1);
  }

  #nextLie({ collection }: ReadOptions): Lie | null {
    if (!strikes(this.#at, this.#manner.liesOften)) return null;
    const lie = this.#at.random.pick(this.#manner.lies);
    if (lie === 'row skipped' && this.#manner.paging !== 'offset') return null;
    this.#happened(`hub: ${lie}, ${collection.name}`);
    return lie;
  }

  async #request(
    options: ReadOptions,
    walk: Walk,
  ): Promise<{ page: HubPage | null; count: number; rest: number }> {
    const { random } = this.#at;
    const readVersion = options.readVersion();
    await dawdle(this.#at, 8);
    options.signal.throwIfAborted();
    if (strikes(this.#at, 0.03))
      throw simulatedError(random.chance(0.8) ? 'HUB_UNAVAILABLE' : 'HUB_FORBIDDEN');
    if (options.modifiedAfterMs !== undefined && strikes(this.#at, 0.01))
      throw new HubError('HUB_REQUEST_REFUSED', 'no filter', { status: 400, remedy: 'None: it is a test.' });
    const hubTimeMs = this.#manner.hasClock ? this.#hub.now() : null;
    const all = this.#list(options);
    const { lie, after } = walk;
    if (walk.rows === 0) walk.cutAfter = random.below(all.length + 1);
    const isByOffset = this.#isByOffset(options);
    const rest = isByOffset ? all.slice(walk.offset) : all.filter(({ id }) => id > after);
    const isSkipped = lie === 'row skipped' && rest.length > 0;
    if (isSkipped) rest.splice(random.below(Math.min(PAGE_ROWS, rest.length)), 1);
    if (lie === 'empty' && walk.rows === 0) rest.length = 0;
    const some = rest.slice(0, PAGE_ROWS);
    walk.offset += some.length + (isSkipped ? 1 : 0);
    walk.after = some.at(-1)?.id ?? '';
    const total = this.#total(walk, all.length);
    // Some delays are so long that another sync passes meanwhile.
    await dawdle(this.#at, random.chance(0.1) ? 80 : 8);
    if (lie === 'no list') return { page: null, count: 0, rest: 0 };
    const rows = (this.#manner.hasTwins ? withTwins(some) : some).map((each) => this.#handOut(each));
    const pages = isByOffset || options.modifiedAfterMs !== undefined ? undefined : options.pages;
    const answer = asListed(rows, after === '' ? null : after, { ...options, pages });
    if (answer.known !== undefined) this.#happened('hub: a page was recognised');
    return {
      page: { ...answer, isUtf8: true, hubTimeMs, total, readVersion, bytes: 1 },
      count: some.length,
      rest: rest.length,
    };
  }

  #isByOffset({ collection }: Pick<ReadOptions, 'collection'>): boolean {
    return this.#manner.paging === 'offset' || collection.name === 'class-students';
  }

  #total(walk: Walk, count: number): number | null {
    if (!this.#manner.hasTotals || walk.lie === 'no total') return null;
    if (walk.lie === 'empty') return 0;
    return walk.lie === 'wrong total' ? this.#at.random.below(2 * count + 2) : count;
  }

  #end(walk: Walk, reason: ScanEnd['reason'], options: ReadOptions): ScanEnd {
    const paging = this.#isByOffset(options) ? 'offset' : 'keyset';
    const { rows, totalAtStart, ids } = walk;
    const totalAtEnd = this.#total(walk, this.#list(options).length);
    if (options.modifiedAfterMs === undefined) {
      const said = [totalAtStart, totalAtEnd].filter((total) => total !== null && total > 0) as number[];
      const isAgreed = said.length === 2 && ids.size >= Math.min(...said) && ids.size <= Math.max(...said);
      const isWhole = said.length === 0 || ids.size >= Math.min(...said);
      this.scans.push({
        collection: options.collection.name,
        scope: options.parentId ?? '',
        endedAtMs: this.#at.time.now(),
        isConclusive: reason !== 'missing-list' && reason !== 'repeated-page' && isWhole,
        isDoubtful: paging === 'offset' && !isAgreed,
        ids,
      });
    }
    return { reason, paging, rows, totalAtStart, totalAtEnd };
  }

  /** Throws `HUB_NOT_OFFERED` for a parent that is not there. */
  #list({ collection: { name }, parentId, modifiedAfterMs = -Infinity }: Listing): ListedRow[] {
    if (name === 'class-students') {
      const students = this.#hub.studentsOf(parentId ?? '');
      if (students === null) throw simulatedError('HUB_NOT_OFFERED');
      return students.map((id) => ({ id, row: { sourcedId: id } }));
    }
    const rows: ReadonlyMap<string, TenantRow | HubVersion> =
      name === 'absence-versions'
        ? (this.#hub.absences?.rows ?? new Map<string, HubVersion>())
        : this.#hub.rowsOf(name as RowCollection);
    const listed: ListedRow[] = [];
    for (const [key, row] of rows) {
      const id = 'minutes' in row ? row.id : row.sourcedId;
      const isOfParent = parentId === undefined || key === compositeKey(parentId, id);
      if (isOfParent && row.modifiedAtMs > modifiedAfterMs) listed.push({ id, row });
    }
    return listed.sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  #handOut({ id, row }: ListedRow): unknown {
    if (!('minutes' in row)) return row;
    this.#hub.absences?.handedOut.add(id);
    return jsonOf(row);
  }

  async #counted<T>(request: () => Promise<T>): Promise<T> {
    this.underWay += 1;
    this.mostUnderWay = Math.max(this.mostUnderWay, this.underWay);
    try {
      return await request();
    } finally {
      this.underWay -= 1;
    }
  }
}
