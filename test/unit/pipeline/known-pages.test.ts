import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PageMemory } from '../../../src/core/pages/page-memory.ts';
import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { OutgoingRecord } from '../../../src/log/log.ts';
import { collectionNamed } from '../../../src/model/collections.ts';
import { withOffsets } from '../../../src/model/progress.ts';
import { Fingerprints, SeenKeys } from '../../../src/core/seen-keys.ts';
import { markAllSeen, type ActiveSync } from '../../../src/table/active-sync.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { runSync } from '../../../src/sync/run-sync.ts';
import { plainSource } from '../../../src/source/source.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';
import { madeCollection } from './support/made-collection.ts';
import { asListed } from '../../simulation/parts/listed-pages.ts';
import { tenantReader, type TenantRow } from '../../simulation/tenants/tenant-row.ts';

const PAGE_ROWS = 3;
const IDS = 8;
const { signal } = new AbortController();

type Rows = ReadonlyMap<string, Omit<TenantRow, 'school' | 'name'>>;
type Step =
  | { readonly do: 'write' | 'leave' | 'spoil'; readonly row: number; readonly content: number }
  | { readonly do: 'restamp' | 'full' | 'delta' }
  | {
      readonly do: 'delta-within-full';
      readonly row: number;
      readonly content: number;
      readonly spoils: boolean;
    };

/** Few contents, so that rows change back. */
const rowSteps = fc.record({
  do: fc.constantFrom('write', 'write', 'leave', 'spoil', 'delta-within-full'),
  row: fc.nat(IDS - 1),
  content: fc.nat(1),
  spoils: fc.boolean(),
});
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(rowSteps, fc.record({ do: fc.constantFrom('restamp', 'full', 'full', 'delta') })),
  { minLength: 5, maxLength: 30 },
);

/** One collection, its hub and what was published of it; every page is parsed if there is no memory. */
class World {
  readonly records: OutgoingRecord[] = [];
  readonly told: unknown[] = [];
  known = 0;
  readonly #pages: PageMemory | null;
  rows: Rows = new Map();
  /** Called while the second page of a full scan is on its way. */
  amid: (() => Promise<void>) | null = null;
  #parts: MirroredCollection | null = null;

  constructor(pages: PageMemory | null) {
    this.#pages = pages;
  }

  async open(): Promise<void> {
    const hub = { readPages: (options: ReadOptions) => this.#readPages(options) } as Hub;
    this.#parts = await madeCollection({
      settings: { reader: tenantReader, encodeReject: () => Buffer.alloc(1) },
      tenant: { emit: (event) => this.#note(event) },
      commit: ({ records, progress }) => {
        this.records.push(...records);
        const committed = withOffsets(progress, {});
        return Promise.resolve({ progress: committed, derived: [], committedAtMs: 0, tookMs: 0 });
      },
      own: { pages: this.#pages, source: plainSource(hub, collectionNamed('users'), tenantReader) },
    });
  }

  #note(event: PipelineEvent): void {
    if (event.type === 'deletion') this.told.push(event.event.kind);
    if (event.type === 'sync-page') this.told.push({ ...event.stats, syncId: null }, event.tally);
  }

  async sync(mode: 'FULL' | 'INCREMENTAL'): Promise<void> {
    if (this.#parts === null) throw new Error('not open');
    const { stats, ...result } = await runSync(this.#parts, mode, { signal });
    this.told.push({ ...stats, syncId: null }, { ...result, remember: null });
  }

  async *#readPages(options: ReadOptions): AsyncGenerator<HubPage, ScanEnd> {
    const total = this.rows.size;
    const isFull = options.modifiedAfterMs === undefined;
    let after = '';
    for (let number = 1; ; number += 1) {
      const readVersion = options.readVersion();
      const rest = [...this.rows.values()]
        .filter(({ sourcedId, version }) => sourcedId > after && (isFull || version >= 0))
        .toSorted((one, other) => (one.sourcedId < other.sourcedId ? -1 : 1));
      const page = rest.slice(0, PAGE_ROWS);
      if (isFull && number === 2) {
        const amid = this.amid;
        this.amid = null;
        await amid?.();
      }
      const answer = asListed(
        page,
        after === '' ? null : after,
        isFull ? options : { ...options, pages: undefined },
      );
      if (answer.known !== undefined) this.known += 1;
      yield { ...answer, isUtf8: true, hubTimeMs: 0, total, readVersion, bytes: 1 };
      after = page.at(-1)?.sourcedId ?? after;
      if (rest.length <= PAGE_ROWS) {
        const reason = total === 0 ? 'no-rows' : 'no-next-link';
        return { reason, paging: 'keyset', rows: total, totalAtStart: total, totalAtEnd: this.rows.size };
      }
    }
  }
}

function changed(rows: Rows, step: Step): Rows {
  const next = new Map(rows);
  if (step.do === 'restamp') {
    for (const [id, row] of rows) next.set(id, { ...row, modifiedAtMs: row.modifiedAtMs + 1 });
  } else if ('row' in step) {
    const sourcedId = `u${String(step.row).padStart(2, '0')}`;
    if (step.do === 'leave') next.delete(sourcedId);
    else
      next.set(sourcedId, {
        sourcedId,
        version: step.content,
        modifiedAtMs: 0,
        isReadable: step.do === 'write' || (step.do === 'delta-within-full' && !step.spoils),
      });
  }
  return next;
}

async function play(world: World, all: readonly Step[]): Promise<void> {
  await world.open();
  for (let row = 0; row < IDS; row += 1) world.rows = changed(world.rows, { do: 'write', row, content: 0 });
  await world.sync('FULL');
  for (const step of all) {
    if (step.do === 'full') await world.sync('FULL');
    else if (step.do === 'delta') await world.sync('INCREMENTAL');
    else if (step.do === 'delta-within-full') {
      const before = world.rows;
      world.amid = async () => {
        world.rows = changed(world.rows, step);
        await world.sync('INCREMENTAL');
        world.rows = before;
      };
      await world.sync('FULL');
    } else world.rows = changed(world.rows, step);
  }
  await world.sync('FULL');
  await world.sync('FULL');
}

const EXAMPLES: Step[][] = [
  // A row becomes unreadable and is again as it was.
  [{ do: 'spoil', row: 0, content: 0 }, { do: 'full' }, { do: 'write', row: 0, content: 0 }],
  // The same while its page is on the way, which does not show it.
  [{ do: 'delta-within-full', row: 4, content: 0, spoils: true }],
  // Another content and back, found by incremental syncs.
  [{ do: 'write', row: 4, content: 1 }, { do: 'delta' }, { do: 'write', row: 4, content: 0 }],
];

test('pages that are recognised tell, count and publish exactly what they would if every page were parsed', async () => {
  let known = 0;
  const property = fc.asyncProperty(steps, async (all) => {
    let seed = 0;
    const [recognising, parsing] = [new World(new PageMemory(() => (seed += 1))), new World(null)];
    await play(recognising, all);
    await play(parsing, all);
    known += recognising.known;
    expect(recognising.told).toEqual(parsing.told);
    expect(recognising.records).toEqual(parsing.records);
  });
  await fc.assert(property, { numRuns: 120, examples: EXAMPLES.map((all) => [all]) });
  expect(known).toBeGreaterThan(400);
});

test('a page with a row that an earlier page had is not taken unread, and marks nothing', () => {
  const seen = new SeenKeys(5);
  seen.add('b');
  const sync: ActiveSync = {
    stats: newSyncStats({ syncId: 'p', mode: 'FULL', startedAtMs: 0 }),
    isFull: true,
    seen,
    seenByOthers: new SeenKeys(5),
    seenRejects: null,
    readVersion: 0,
  };
  expect(markAllSeen([sync], sync, Fingerprints.of(['a', 'b'], 5))).toBe(false);
  expect(markAllSeen([sync], sync, Fingerprints.of(['c'], 6))).toBe(false);
  expect(seen.size).toBe(1);
  expect(markAllSeen([sync], sync, Fingerprints.of(['c', 'd'], 5))).toBe(true);
  expect(seen.size).toBe(3);
});
