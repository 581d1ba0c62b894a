import type { FoundRow, Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import { keysetPages } from '../parts/keyset-pages.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from '../parts/surroundings.ts';
import { ChainLife, type ChainLifeOptions } from './chain-life.ts';
import { jsonOf, type HubVersion } from './hub-version.ts';

const PAGE_ROWS = 5;

/**
 * A hub with keyset paging whose absence chains change while they are read. It looks a page up some time after the request
 * and delivers it later still; any request may fail, and a request for single rows may leave some of them unanswered.
 */
export class ChainHub extends ChainLife implements Hub {
  /** Rows that were requested by id and left unanswered. */
  readonly unanswered = new Set<string>();
  readonly #at: Surroundings;

  constructor(at: Surroundings, options: ChainLifeOptions) {
    super(at, options);
    this.#at = at;
  }

  readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd> {
    const listing = {
      at: this.#at,
      pageRows: PAGE_ROWS,
      failure: 0.02,
      longestMs: 60,
      select: (after: string, modifiedAfterMs: number | undefined) => this.#select(after, modifiedAfterMs),
      idOf: ({ id }: HubVersion) => id,
      handOut: (row: HubVersion) => this.#handOut(row),
    };
    return keysetPages(listing, options);
  }

  async findRows(options: {
    ids: readonly string[];
    readVersion: () => number;
    signal: AbortSignal;
  }): Promise<FoundRow[]> {
    const ids = [...new Set(options.ids)];
    const sent = options.readVersion();
    await dawdle(this.#at, 3);
    options.signal.throwIfAborted();
    if (strikes(this.#at, 0.1)) {
      for (const id of ids) this.unanswered.add(id);
      throw simulatedError('HUB_TIMEOUT');
    }
    const found = ids.map((id) => this.rows.get(id)).filter((row) => row !== undefined);
    const rows = found.map((row) => ({ row: this.#handOut(row), isUtf8: true, readVersion: sent }));
    await dawdle(this.#at, 3);
    return rows;
  }

  #handOut(row: HubVersion): Record<string, unknown> {
    this.handedOut.add(row.id);
    return jsonOf(row);
  }

  #select(after: string, modifiedAfterMs: number | undefined): HubVersion[] {
    return [...this.rows.values()]
      .filter(({ id }) => id > after)
      .filter((row) => modifiedAfterMs === undefined || row.modifiedAtMs > modifiedAfterMs)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}
