import type { PageMemory } from '../../../../src/core/pages/page-memory.ts';
import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../../../src/hub/hub.ts';
import type { OutgoingRecord } from '../../../../src/log/log.ts';
import { collectionNamed, type CollectionName } from '../../../../src/model/collections.ts';
import { withOffsets, type Progress } from '../../../../src/model/progress.ts';
import { plainSource } from '../../../../src/source/source.ts';
import { createMemoryStore } from '../../../../src/state/memory-state.ts';
import type { MirroredCollection } from '../../../../src/sync/sync.ts';
import type { Tenant } from '../../../../src/table/tenant.ts';
import { asListed } from '../../../simulation/parts/listed-pages.ts';
import { tenantReader, type TenantRow } from '../../../simulation/tenants/tenant-row.ts';
import { madeCollection } from './made-collection.ts';

type Row = Omit<TenantRow, 'school' | 'name'>;

interface Session {
  readonly overlapMs?: number;
  readonly pages?: PageMemory | undefined;
  readonly emit?: Tenant['emit'];
  readonly all?: MirroredCollection['all'];
}

/** The hub of `users` or of another collection in memory, sessions that mirror it, and what they published; index and progress outlive a session. */
export class MadeHub {
  rows: ReadonlyMap<string, Row> = new Map();
  readonly records: OutgoingRecord[] = [];
  /** False: a filter by time selects nothing. */
  filterSelects = true;
  nowMs = Date.parse('2026-03-10T09:00:00Z');
  /** Called once, while the second page of a full scan is on its way. */
  amid: (() => Promise<void>) | null = null;
  /** Called before each list; if it rejects, the hub refuses the list. */
  list: () => Promise<unknown> = () => Promise.resolve();
  /** Number of pages that were recognised. */
  known = 0;
  /** What it shows of rows that it is asked for by their ids. */
  find: (ids: readonly string[]) => Promise<readonly Row[]> = () => Promise.resolve([]);
  readonly #pageRows: number;
  readonly #name: CollectionName;
  readonly #state = createMemoryStore().tenant('north');
  #progress: Progress | null = null;
  #ids = 0;
  readonly #hub = {
    readPages: (options: ReadOptions) => this.#readPages(options),
    findRows: async ({ ids }: { ids: readonly string[] }) =>
      (await this.find(ids)).map((row) => ({ row, isUtf8: true, readVersion: 0 })),
  } as unknown as Hub;

  constructor(pageRows: number, name: CollectionName = 'users') {
    this.#pageRows = pageRows;
    this.#name = name;
  }

  put(sourcedId: string, version: number, more: Partial<Row> = {}): void {
    const row = { sourcedId, version, modifiedAtMs: this.nowMs, isReadable: true, ...more };
    this.rows = new Map(this.rows).set(sourcedId, row);
  }

  async session(given: Session = {}): Promise<MirroredCollection> {
    const { overlapMs = 0, pages, emit = () => undefined, all = new Map() } = given;
    return madeCollection({
      name: this.#name,
      state: this.#state,
      settings: {
        incrementalOverlapMs: overlapMs,
        reader: tenantReader,
        encodeReject: () => Buffer.alloc(1),
      },
      tenant: { emit },
      runtime: { now: () => this.nowMs, randomId: () => (this.#ids += 1).toString(16).padStart(8, '0') },
      commit: ({ records, progress }) => {
        this.records.push(...records);
        this.#progress = withOffsets(progress, {});
        return { committedAtMs: this.nowMs };
      },
      start: { progress: this.#progress },
      own: {
        all,
        pages,
        source: plainSource(this.#hub, collectionNamed(this.#name), tenantReader),
      },
    });
  }

  /** The rows that a scan shows now, in the order of their ids. */
  #shown(afterMs: number | null): Row[] {
    const isShown = ({ modifiedAtMs }: Row) =>
      afterMs === null || (this.filterSelects && modifiedAtMs > afterMs);
    return [...this.rows.values()]
      .filter(isShown)
      .toSorted((one, other) => (one.sourcedId < other.sourcedId ? -1 : 1));
  }

  async *#readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd> {
    const { modifiedAfterMs: afterMs = null, pages } = options;
    await this.list();
    const total = this.#shown(afterMs).length;
    for (let number = 1, after: string | null = null; ; number += 1) {
      const readVersion = options.readVersion();
      const rest = this.#shown(afterMs).filter(({ sourcedId }) => after === null || sourcedId > after);
      if (afterMs === null && number === 2) {
        const { amid } = this;
        this.amid = null;
        await amid?.();
      }
      const page = rest.slice(0, this.#pageRows);
      const answer = asListed(page, after, { ...options, pages: afterMs === null ? pages : undefined });
      if (answer.known !== undefined) this.known += 1;
      yield { ...answer, isUtf8: true, hubTimeMs: this.nowMs, total, readVersion, bytes: 1 };
      after = page.at(-1)?.sourcedId ?? after;
      if (rest.length > this.#pageRows) continue;
      const totals = { totalAtStart: total, totalAtEnd: this.#shown(afterMs).length };
      return { reason: total === 0 ? 'no-rows' : 'no-next-link', paging: 'keyset', rows: total, ...totals };
    }
  }
}
