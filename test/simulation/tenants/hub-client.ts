import type { FoundRow, Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import type { PagingMode } from '../../../src/core/hub-events.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { compositeKey } from '../../../src/model/keys.ts';
import { asListed } from '../parts/listed-pages.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';
import { jsonOf } from '../chains/hub-version.ts';
import type { TenantHub } from './tenant-hub.ts';
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
export type Lie =
  | 'cut short'
  | 'empty'
  | 'no list'
  | 'wrong total'
  | 'no total'
  | 'same page'
  | 'row skipped';
export const LIES: readonly Lie[] = [
  'cut short',
  'empty',
  'no list',
  'wrong total',
  'no total',
  'same page',
  'row skipped',
];

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

interface Walk {
  readonly lie: Lie | null;
  readonly ids: Set<string>;
  rows: number;
  /** The number of rows after which it is cut short. */
  cutAfter: number;
  /** Where the next page begins, by offset. */
  offset: number;
  totalAtStart: number | null;
  /** Second contents under ids of the page before. */
  twins: readonly ListedRow[];
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
  /** By collection, scope and id: when a page showed the row. */
  readonly shown = new Map<string, number[]>();
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

  async *readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd> {
    const scan: Walk = {
      lie: this.#nextLie(options),
      ids: new Set(),
      rows: 0,
      cutAfter: 0,
      offset: 0,
      totalAtStart: null,
      twins: [],
    };
    let after = '';
    for (let first = true; ; first = false) {
      const { page, count, rest, last } = await this.#request(options, scan, after);
      if (first) scan.totalAtStart = page?.total ?? null;
      if (page === null) return this.#end(scan, 'missing-list', options);
      if (count === 0 && !first) return this.#end(scan, 'empty-page', options);
      scan.rows += count;
      if (count === 0) this.#noteEmpty(options);
      this.#noteShown(options, scan, page);
      yield page;
      if (count === 0) return this.#end(scan, 'no-rows', options);
      if (scan.lie === 'same page') return this.#end(scan, 'repeated-page', options);
      const isCut = scan.lie === 'cut short' && scan.rows > scan.cutAfter;
      if (rest <= PAGE_ROWS || isCut) return this.#end(scan, 'no-next-link', options);
      after = last;
    }
  }

  findRows(options: {
    collection: { name: CollectionName };
    ids: readonly string[];
    readVersion: () => number;
  }): Promise<FoundRow[]> {
    return this.#counted(async () => {
      const readVersion = options.readVersion();
      await dawdle(this.#at, 3);
      if (strikes(this.#at, 0.1)) {
        for (const id of options.ids) this.#hub.absences?.unanswered.add(id);
        throw simulatedError('HUB_TIMEOUT');
      }
      const listed = new Map(
        this.#list({ collection: options.collection.name }).map((each) => [each.id, each]),
      );
      const rows = options.ids.flatMap((id) => {
        const found = listed.get(id);
        return found === undefined ? [] : [{ row: this.#handOut(found), isUtf8: true, readVersion }];
      });
      await dawdle(this.#at, 3);
      return rows;
    });
  }

  #noteShown({ collection, parentId = '' }: ReadOptions, scan: Walk, { rows }: HubPage): void {
    for (const row of rows) {
      const id = (row as { sourcedId: string }).sourcedId;
      scan.ids.add(id);
      const key = `${collection.name} ${parentId} ${id}`;
      this.shown.set(key, [...(this.shown.get(key) ?? []), this.#at.time.now()]);
    }
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
    scan: Walk,
    after: string,
  ): Promise<{ page: HubPage | null; count: number; rest: number; last: string }> {
    return this.#counted(async () => {
      const { random } = this.#at;
      const readVersion = options.readVersion();
      await dawdle(this.#at, 8);
      options.signal.throwIfAborted();
      if (strikes(this.#at, 0.03))
        throw simulatedError(random.chance(0.8) ? 'HUB_UNAVAILABLE' : 'HUB_FORBIDDEN');
      if (options.modifiedAfterMs !== undefined && strikes(this.#at, 0.01))
        throw simulatedError('HUB_REQUEST_REFUSED');
      const hubTimeMs = this.#manner.hasClock ? this.#hub.now() : null;
      const all = this.#list({
        collection: options.collection.name,
        parentId: options.parentId,
        modifiedAfterMs: options.modifiedAfterMs,
      });
      if (scan.rows === 0) scan.cutAfter = random.below(all.length + 1);
      const isByOffset = this.#manner.paging === 'offset' || options.collection.name === 'class-students';
      const rest = isByOffset ? all.slice(scan.offset) : all.filter(({ id }) => id > after);
      const isSkipped = scan.lie === 'row skipped' && rest.length > 0;
      if (isSkipped) rest.splice(random.below(Math.min(PAGE_ROWS, rest.length)), 1);
      const isEmpty = scan.lie === 'empty' && scan.rows === 0;
      const some = isEmpty ? [] : rest.slice(0, PAGE_ROWS);
      scan.offset += some.length + (isSkipped ? 1 : 0);
      const total = this.#total(scan, all.length);
      // Some delays are so long that another sync passes meanwhile.
      await dawdle(this.#at, random.chance(0.1) ? 80 : 8);
      const last = some.at(-1)?.id ?? '';
      if (scan.lie === 'no list') return { page: null, count: 0, rest: 0, last };
      const listed = this.#manner.hasTwins ? withTwins(some, scan.twins) : { page: some, later: [] };
      scan.twins = listed.later;
      const rows = listed.page.map((each) => this.#handOut(each));
      const pages = isByOffset || options.modifiedAfterMs !== undefined ? undefined : options.pages;
      const answer = asListed(rows, after === '' ? null : after, { ...options, pages });
      if (answer.known !== undefined) this.#happened('hub: a page was recognised');
      return {
        page: { ...answer, isUtf8: true, hubTimeMs, total, readVersion, bytes: 1 },
        count: some.length,
        rest: isEmpty ? 0 : rest.length,
        last,
      };
    });
  }

  #total(scan: Walk, count: number): number | null {
    if (!this.#manner.hasTotals || scan.lie === 'no total') return null;
    if (scan.lie === 'empty') return 0;
    return scan.lie === 'wrong total' ? this.#at.random.below(2 * count + 2) : count;
  }

  #end(scan: Walk, sign: ScanEnd['reason'], { collection, parentId, modifiedAfterMs }: ReadOptions): ScanEnd {
    const isByOffset = this.#manner.paging === 'offset' || collection.name === 'class-students';
    const count = this.#list({ collection: collection.name, parentId, modifiedAfterMs }).length;
    const end: ScanEnd = {
      reason: sign,
      paging: isByOffset ? 'offset' : 'keyset',
      rows: scan.rows,
      totalAtStart: scan.totalAtStart,
      totalAtEnd: this.#total(scan, count),
    };
    if (modifiedAfterMs === undefined) this.#noteScan(end, scan, { collection, parentId });
    return end;
  }

  #noteScan(
    end: ScanEnd,
    { ids }: Walk,
    of: { collection: { name: CollectionName }; parentId?: string | undefined },
  ): void {
    const said = [end.totalAtStart, end.totalAtEnd].filter(
      (total) => total !== null && total > 0,
    ) as number[];
    const isAgreed = said.length === 2 && ids.size >= Math.min(...said) && ids.size <= Math.max(...said);
    this.scans.push({
      collection: of.collection.name,
      scope: of.parentId ?? '',
      endedAtMs: this.#at.time.now(),
      isConclusive:
        end.reason !== 'missing-list' &&
        end.reason !== 'repeated-page' &&
        (said.length === 0 || ids.size >= Math.min(...said)),
      isDoubtful: end.paging === 'offset' && !isAgreed,
      ids,
    });
  }

  #noteEmpty({ collection, parentId }: ReadOptions): void {
    if (collection.name !== 'class-students' || parentId === undefined) return;
    this.saidEmpty.set(parentId, (this.saidEmpty.get(parentId) ?? 0) + 1);
  }

  /** Throws `HUB_NOT_OFFERED` for a parent that is not there. */
  #list(of: {
    collection: CollectionName;
    parentId?: string | undefined;
    modifiedAfterMs?: number | undefined;
  }): ListedRow[] {
    const { collection, parentId, modifiedAfterMs } = of;
    if (collection === 'class-students') {
      const students = this.#hub.studentsOf(parentId ?? '');
      if (students === null) throw simulatedError('HUB_NOT_OFFERED');
      return students.map((id) => ({ id, row: { sourcedId: id } }));
    }
    if (collection === 'absence-versions') {
      return [...(this.#hub.absences?.rows.values() ?? [])]
        .filter((row) => modifiedAfterMs === undefined || row.modifiedAtMs > modifiedAfterMs)
        .map((row) => ({ id: row.id, row }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    }
    const rows = this.#hub.shown(collection as 'users');
    return [...rows]
      .filter(
        ([key, { sourcedId, modifiedAtMs }]) =>
          (parentId === undefined || key === compositeKey(parentId, sourcedId)) &&
          (modifiedAfterMs === undefined || modifiedAtMs > modifiedAfterMs),
      )
      .map(([, row]) => ({ id: row.sourcedId, row }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
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
