import { describe, expect, it } from 'vitest';
import type { KeyedRow } from '../../../src/core/row-changes.ts';
import { withOffsets, type Progress } from '../../../src/model/progress.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';
import type { SourceScan } from '../../../src/source/source-scan.ts';
import { madeCollection } from './support/made-collection.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const { signal } = new AbortController();

interface Row {
  readonly stampMs: number;
  readonly content: string;
}

/** A hub whose rows are visible at once, and sessions on it; index and progress outlive a session. */
class Bench {
  readonly rows = new Map<string, Row>();
  readonly filters: (number | null)[] = [];
  filterSelects = true;
  nowMs = Date.parse('2026-03-10T09:00:00Z');
  #progress: Progress | null = null;
  #ids = 0;
  readonly store = createMemoryStore();

  async session(overlapMs: number): Promise<MirroredCollection> {
    const state = this.store.tenant('north');
    const index = state.collection('users');
    const position = await index.position();
    return madeCollection({
      state,
      settings: { deltaOverlapMs: overlapMs },
      commit: async ({ progress }) => {
        this.#progress = withOffsets(progress, {});
        return { progress: this.#progress, derived: [], committedAtMs: this.nowMs, tookMs: 0 };
      },
      runtime: {
        now: () => this.nowMs,
        randomId: () => (this.#ids += 1).toString(16).padStart(8, '0'),
      },
      start: {
        progress: this.#progress,
        indexed: position?.transactionId ?? 'start',
        knownRows: await index.count('rows'),
      },
      own: {
        source: {
          begin: () =>
            Promise.resolve({
              scopes: new Set(['']),
              scans: () => [
                { scope: '', open: ({ modifiedAfterMs }) => this.#walk(modifiedAfterMs ?? null) },
              ],
            }),
          scopeOf: () => '',
        },
        inheritedWatermarkMs: this.#progress?.watermarkMs ?? null,
      },
    });
  }

  put(id: string, content: string, stampMs = this.nowMs): void {
    this.rows.set(id, { stampMs, content });
  }

  async *#walk(afterMs: number | null) {
    this.filters.push(afterMs);
    const rows = [...this.rows]
      .filter(([, { stampMs }]) => afterMs === null || (this.filterSelects && stampMs > afterMs))
      .map(([id, { stampMs, content }]): KeyedRow => {
        const hash = Buffer.from(content.padEnd(16));
        const row = { kind: 'row', sourcedId: id, value: { content }, hash, modifiedAtMs: stampMs } as const;
        return { key: id, rejectKey: id, decoded: row };
      });
    yield { rows, hubTimeMs: this.nowMs, total: rows.length, readVersion: 0 };
    const { length } = rows;
    const totals = { rows: length, totalAtStart: length, totalAtEnd: length };
    return { reason: 'no-next-link', paging: 'keyset', ...totals } as const;
  }
}

async function loaded(): Promise<Bench> {
  const made = new Bench();
  for (let at = 0; at < 20; at += 1) made.put(`u${at}`, 'old', made.nowMs - 30 * 24 * HOUR);
  return made;
}

it('the watermark of a sync of several scans is by the earliest page, whichever scan was read first', async () => {
  const made = new Bench();
  const at = (scope: string, hubTimeMs: number): SourceScan => ({
    scope,
    open: async function* () {
      yield { rows: [], hubTimeMs, total: 0, readVersion: 0 };
      return { reason: 'no-rows', paging: 'keyset', rows: 0, totalAtStart: 0, totalAtEnd: 0 } as const;
    },
  });
  const session = await made.session(5 * MINUTE);
  const scans = [at('a', made.nowMs + MINUTE), at('b', made.nowMs)];
  const reading = { scopes: new Set(['a', 'b']), scans: () => scans };
  const source = { ...session.source, begin: () => Promise.resolve(reading) };
  const parts = { ...session, tenant: { ...session.tenant, scopesAhead: 1 }, source };
  expect(await runSync(parts, 'FULL', { signal })).toMatchObject({ kind: 'complete' });
  expect(parts.writer.progress?.watermarkMs).toBe(made.nowMs - 5 * MINUTE);
});

describe('deltaOverlap', () => {
  it('raised at a restart applies to the very next incremental sync, and is applied once', async () => {
    const made = await loaded();
    await runSync(await made.session(5 * MINUTE), 'FULL', { signal });
    const loadedAtMs = made.nowMs;
    // The row is stamped twelve minutes before it is visible, as by a hub that refreshes its view.
    made.nowMs += 13 * MINUTE;
    made.put('late', 'new', loadedAtMs - 12 * MINUTE);
    const parts = await made.session(20 * MINUTE);
    expect(await runSync(parts, 'INCREMENTAL', { signal })).toMatchObject({ stats: { rowsCreated: 1 } });
    const secondAtMs = made.nowMs;
    made.nowMs += MINUTE;
    await runSync(parts, 'INCREMENTAL', { signal });
    expect(made.filters).toEqual([null, loadedAtMs - 25 * MINUTE, secondAtMs - 20 * MINUTE]);
  });

  it.each([
    [
      'is not blamed where no incremental sync brought a row: a filter that selects nothing is',
      false,
      2,
      true,
    ],
    ['that is too small shows at the next full sync', true, 1, null],
  ])('%s', async (_, filterSelects, rowsLate, isFilterMute) => {
    const made = await loaded();
    made.filterSelects = filterSelects;
    const parts = await made.session(5 * MINUTE);
    await runSync(parts, 'FULL', { signal });
    for (let minute = 1; minute <= 60; minute += 1) {
      made.nowMs += MINUTE;
      if (minute === 10) made.put('met', 'new');
      // The row is stamped twelve minutes before it is visible.
      if (minute === 30) made.put('late', 'new', made.nowMs - 12 * MINUTE);
      await runSync(parts, 'INCREMENTAL', { signal });
    }
    // One row changed under a timestamp of last month, and one is re-stamped.
    made.put('u1', 'other', made.rows.get('u1')?.stampMs);
    made.put('u2', 'other');
    const result = await runSync(parts, 'FULL', { signal });
    expect(result).toMatchObject({
      kind: 'complete',
      stats: { rowsCreated: rowsLate, rowsUpdated: 2, rowsLate, isFilterMute },
    });
    // A second full sync at once has nothing to judge by.
    expect(await runSync(parts, 'FULL', { signal })).toMatchObject({ stats: { rowsLate: null } });
  });
});
