import perfHooks from 'node:perf_hooks';
import { Registry, register } from 'prom-client';
import { expect, it, vi } from 'vitest';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { unchangedRows } from '../../../src/core/rows/compare-with-published.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { ERROR_CODES } from '../../../src/errors.ts';
import { COLLECTIONS } from '../../../src/model/collections.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { boardOf, caughtUp, loaded, syncEnded, onHoldIn } from './support/board-of.ts';

const START_MS = 1_700_000_000_000;
const stats = newSyncStats({ syncId: 'p', mode: 'FULL', startedAtMs: START_MS });

const PAGE: PipelineEvent = {
  type: 'sync-page',
  collection: 'users',
  stats,
  tally: {
    ...unchangedRows(5),
    rowsSeen: 15,
    rowsCreated: 2,
    rowsUpdated: 1,
    rowsRejected: 1,
    rowsStale: 1,
    rowsRepeated: 2,
    rowsAlreadyDeleted: 3,
  },
  rows: 3,
};
const ENDED = syncEnded({ stats: { ...stats, rowsRemoved: 4, rowsOlder: 3 }, durationMs: 2_000, rejects: 1 });
const CHAINS = {
  type: 'absences-published',
  tally: { created: 3, replaced: 2, deleted: 1, restored: 1, forgotten: 4, shown: 1, hidden: 0, notShown: 2 },
  publishedOpen: 2,
  contradictions: 4,
} as const;

const linesAfter = async (...events: readonly PipelineEvent[]): Promise<string[]> => {
  const world = boardOf(START_MS);
  world.emit(...events);
  return (await world.registry.metrics()).split('\n');
};
const scope = 'tenant="north",collection="users"';

it('metrics appear with their names, labels and values', async () => {
  const short = { rows: 190, total: 250, repeated: 0, isCovered: false };
  const failed = { type: 'request-failed', target: 'users', status: null, durationMs: 60_000 } as const;
  const lines = await linesAfter(
    { type: 'owned', owner: 'vm-1' },
    caughtUp('users', null),
    { type: 'sync-started', collection: 'users', mode: 'FULL' },
    PAGE,
    { ...ENDED, progress: onHoldIn('users', 0, { short }) },
    { type: 'sync-started', collection: 'users', mode: 'INCREMENTAL' },
    CHAINS,
    { type: 'committed', collection: 'users', records: 1, durationMs: 20 },
    { type: 'hub', event: { ...failed, code: 'HUB_TIMEOUT' } },
    // A request that was aborted counts as none.
    { type: 'hub', event: { ...failed, code: 'INTERNAL' } },
  );
  expect(lines).toEqual(
    expect.arrayContaining([
      ...['unchanged 5', 'created 2', 'updated 1', 'rejected 1', 'skipped 6', 'removed 4'].map((each) => {
        const [outcome, count] = each.split(' ');
        return `rollcall_rows_total{${scope},outcome="${outcome}"} ${count}`;
      }),
      'rollcall_hub_deviations_total{tenant="north",kind="older-row"} 3',
      `rollcall_rows_short{${scope}} 60`,
      `rollcall_rejects{${scope}} 1`,
      `rollcall_sync_in_progress{${scope},mode="incremental"} 1`,
      `rollcall_sync_in_progress{${scope},mode="full"} 0`,
      `rollcall_sync_duration_seconds_sum{${scope},mode="full"} 2`,
      'rollcall_hub_requests_total{tenant="north",outcome="HUB_TIMEOUT"} 1',
      'rollcall_hub_request_duration_seconds_sum{tenant="north"} 60',
      'rollcall_transactions_total{tenant="north",outcome="committed"} 1',
      'rollcall_owner{prefix="rollcall",tenant="north"} 1',
      ...['created"} 3', 'replaced"} 2', 'deleted"} 1', 'restored"} 1'].map(
        (rest) => `rollcall_absence_changes_total{tenant="north",operation="${rest}`,
      ),
      'rollcall_absence_contradictions{tenant="north"} 4',
      'rollcall_build_info{version="1.2.3"} 1',
      expect.stringMatching(/^rollcall_memory_limit_bytes [1-9]\d{6,}$/),
    ]),
  );
  expect(lines.filter((line) => line.startsWith('rollcall_hub_requests_total'))).toHaveLength(1);
  const bare = lines.filter((line) => line.startsWith('# HELP') && line.split(' ').length < 5);
  expect(bare).toEqual([]);
});

it('the metric of the last complete sync counts no incomplete sync, and ends with its collection', async () => {
  const last = `rollcall_last_complete_sync_timestamp_seconds{${scope},mode="full"}`;
  const inconclusive = syncEnded({ outcome: 'inconclusive' });
  expect(await linesAfter(caughtUp('users', null), inconclusive)).toContain(`${last} 0`);
  expect(await linesAfter(caughtUp('users', null), ENDED)).toContain(`${last} 1700000000`);
  const gone = { type: 'not-offered', collection: 'users', error: null, mode: 'FULL' } as const;
  const text = await linesAfter(ENDED, { ...gone, durationMs: 1, isNews: true });
  expect(text.filter((line) => line.startsWith(last))).toEqual([]);
});

it('metrics have contradictory absences from the start on, and counters before they count', async () => {
  const start = { ...caughtUp('users', null), contradictions: 3 } as PipelineEvent;
  const line = (count: number): string => `rollcall_absence_contradictions{tenant="north"} ${count}`;
  expect(await linesAfter(start, { ...CHAINS, contradictions: 1 })).toContain(line(1));
  // Changes of absences are counted once, and not again at the end of the sync.
  const ended = { ...ENDED, stats: { ...stats, absences: CHAINS.tally } };
  const twice = await linesAfter(start, { ...CHAINS, contradictions: null }, CHAINS, ended);
  expect(twice).toContain('rollcall_absence_changes_total{tenant="north",operation="created"} 6');
  expect(twice).toContain('rollcall_hub_deviations_total{tenant="north",kind="not-shown"} 2');
  const lines = await linesAfter(start, { type: 'session-opened' });
  const counters = [
    'rollcall_transactions_total{tenant="north",outcome="unknown"} 0',
    `rollcall_rows_total{${scope},outcome="rejected"} 0`,
  ];
  const operations = ['created', 'replaced', 'deleted', 'restored'].map(
    (operation) => `rollcall_absence_changes_total{tenant="north",operation="${operation}"} 0`,
  );
  expect(lines).toEqual(expect.arrayContaining([line(3), ...counters, ...operations]));
  const without = await linesAfter(caughtUp('users', null));
  expect(without.filter((each) => each.startsWith('rollcall_absence'))).toEqual([]);
});

it('metrics of a tenant with all collections are at most 475 series, syncs and failures included', async () => {
  const synced = COLLECTIONS.filter((name) => name !== 'absences' && name !== 'absence-changes');
  const world = boardOf(START_MS, COLLECTIONS);
  for (const collection of synced) {
    world.emit({ ...caughtUp(collection, loaded(collection, START_MS)), contradictions: 0 } as PipelineEvent);
    for (const mode of ['FULL', 'INCREMENTAL'] as const) {
      world.emit({ type: 'sync-started', collection, mode });
      world.emit({ ...ENDED, collection, mode, stats: { ...stats, mode } });
    }
  }
  const failed = { type: 'request-failed', target: 'users', status: null, durationMs: 1 } as const;
  for (const code of ERROR_CODES.filter((each) => each.startsWith('HUB_')))
    world.emit({ type: 'hub', event: { ...failed, code } });
  const series = (await world.registry.metrics())
    .split('\n')
    .filter((line) => line.includes('tenant="north"'));
  expect(series.length).toBeGreaterThan(300);
  expect(series.length).toBeLessThanOrEqual(475);
});

it('metrics of the process let an idle event loop sleep, and stay out of the shared registry', async () => {
  using sampled = vi.spyOn(perfHooks, 'monitorEventLoopDelay');
  const { registry, board } = boardOf(0);
  createMetrics(new Registry(), board, { process: true });
  expect(sampled.mock.calls[0]?.[0]?.resolution).toBeGreaterThanOrEqual(100);
  expect([await register.metrics(), await registry.metrics()]).toEqual([
    '\n',
    expect.not.stringContaining('process_cpu'),
  ]);
});
