import perfHooks from 'node:perf_hooks';
import * as fc from 'fast-check';
import { Registry, register } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { hubOutcomeOf } from '../../../src/telemetry/hub-outcome.ts';
import { createMetrics, type RowCounts } from '../../../src/telemetry/metrics.ts';

const SCOPE = { tenant: 'north', collection: 'users' } as const;

function fresh() {
  const registry = new Registry();
  return { registry, metrics: createMetrics(registry, { process: false }) };
}

describe('metrics', () => {
  it('appear with their names, labels and values', async () => {
    const { registry, metrics } = fresh();
    metrics.countRows(SCOPE, { unchanged: 5, created: 2, updated: 1, rejected: 1, skipped: 1 });
    metrics.countDeleted(SCOPE, 4);
    metrics.setShort(SCOPE, 60);
    metrics.setRejects(SCOPE, 1);
    metrics.syncStarted(SCOPE, 'DELTA');
    metrics.syncStarted(SCOPE, 'FULL');
    metrics.syncEnded(SCOPE, { mode: 'FULL', seconds: 2, completedAtMs: 1_700_000_000_500 });
    metrics.setWatermarkLag(SCOPE, 12.5);
    metrics.hubRequest('north', { outcome: 'timeout', seconds: 60 });
    metrics.transaction('north', { outcome: 'committed', seconds: 0.02 });
    metrics.setOwner('north', true);
    metrics.countAbsenceChanges('north', { created: 3, replaced: 2, deleted: 1, restored: 1 });
    metrics.countPublishedWhileOpen('north', 2);
    metrics.setContradictions('north', 4);
    const lines = (await registry.metrics()).split('\n');
    const scope = 'tenant="north",collection="users"';
    expect(lines).toEqual(
      expect.arrayContaining([
        `rollcall_rows_seen_total{${scope}} 10`,
        `rollcall_rows_unchanged_total{${scope}} 5`,
        `rollcall_rows_created_total{${scope}} 2`,
        `rollcall_rows_updated_total{${scope}} 1`,
        `rollcall_rows_rejected_total{${scope}} 1`,
        `rollcall_rows_skipped_total{${scope}} 1`,
        `rollcall_rows_deleted_total{${scope}} 4`,
        `rollcall_rows_short{${scope}} 60`,
        `rollcall_rejects{${scope}} 1`,
        `rollcall_sync_in_progress{${scope},mode="incremental"} 1`,
        `rollcall_sync_in_progress{${scope},mode="full"} 0`,
        `rollcall_last_complete_sync_timestamp_seconds{${scope},mode="full"} 1700000000.5`,
        `rollcall_sync_duration_seconds_sum{${scope},mode="full"} 2`,
        `rollcall_watermark_lag_seconds{${scope}} 12.5`,
        'rollcall_hub_requests_total{tenant="north",outcome="timeout"} 1',
        'rollcall_hub_request_duration_seconds_sum{tenant="north"} 60',
        'rollcall_transactions_total{tenant="north",outcome="committed"} 1',
        'rollcall_transaction_duration_seconds_count{tenant="north"} 1',
        'rollcall_owner{tenant="north"} 1',
        'rollcall_absence_changes_total{tenant="north",operation="created"} 3',
        'rollcall_absence_changes_total{tenant="north",operation="replaced"} 2',
        'rollcall_absence_changes_total{tenant="north",operation="deleted"} 1',
        'rollcall_absence_changes_total{tenant="north",operation="restored"} 1',
        'rollcall_absences_published_open_total{tenant="north"} 2',
        'rollcall_absence_contradictions{tenant="north"} 4',
      ]),
    );
    const bare = lines.filter((line) => line.startsWith('# HELP') && line.split(' ').length < 5);
    expect(bare).toEqual([]);
  });

  it('the rows seen are always the sum of their outcomes', async () => {
    const count = fc.option(fc.nat(1000), { nil: undefined });
    const counts = fc.record({
      unchanged: count,
      created: count,
      updated: count,
      rejected: count,
      skipped: count,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(counts, { maxLength: 5 }), async (pages: RowCounts[]) => {
        const { registry, metrics } = fresh();
        metrics.prepare(SCOPE);
        for (const page of pages) metrics.countRows(SCOPE, page);
        const value = async (name: string) =>
          (await registry.getSingleMetric(`rollcall_rows_${name}_total`)?.get())?.values[0]?.value ?? 0;
        const fates = await Promise.all(
          ['unchanged', 'created', 'updated', 'rejected', 'skipped'].map(value),
        );
        expect(await value('seen')).toBe(fates.reduce((sum, each) => sum + each, 0));
      }),
      { numRuns: 30 },
    );
  });

  it('an incomplete sync does not count as the last complete one', async () => {
    const { registry, metrics } = fresh();
    metrics.syncEnded(SCOPE, { mode: 'FULL', seconds: 1, completedAtMs: null });
    expect(await registry.metrics()).not.toMatch(/^rollcall_last_complete_sync_timestamp_seconds\{/m);
  });

  it('the counters of a scope exist from the start, so that a first failure shows as an increase', async () => {
    const { registry, metrics } = fresh();
    metrics.prepare(SCOPE);
    expect(await registry.metrics()).toContain(
      'rollcall_rows_rejected_total{tenant="north",collection="users"} 0',
    );
  });

  it('the counters of absences exist from the start, so that a first deletion shows as an increase', async () => {
    const { registry, metrics } = fresh();
    metrics.prepareAbsences('north');
    const text = await registry.metrics();
    for (const operation of ['created', 'replaced', 'deleted', 'restored']) {
      expect(text).toContain(`rollcall_absence_changes_total{tenant="north",operation="${operation}"} 0`);
    }
    expect(text).toContain('rollcall_absences_published_open_total{tenant="north"} 0');
  });

  it('a larger object as scope adds no unknown labels', () => {
    const { metrics } = fresh();
    const larger = { ...SCOPE, student: 'x' };
    expect(() => metrics.countRows(larger, { created: 1 })).not.toThrow();
    const tally = { created: 1, replaced: 0, deleted: 0, restored: 0, forgotten: 4, shown: 1 };
    expect(() => metrics.countAbsenceChanges('north', tally)).not.toThrow();
  });

  it('the event loop is sampled rarely enough to leave an idle process asleep', () => {
    const sampled = vi.spyOn(perfHooks, 'monitorEventLoopDelay');
    createMetrics(new Registry(), { process: true });
    expect(sampled.mock.calls[0]?.[0]?.resolution).toBeGreaterThanOrEqual(100);
    sampled.mockRestore();
  });

  it('the shared registry stays empty', async () => {
    const { registry } = fresh();
    createMetrics(new Registry(), { process: true });
    expect(await register.metrics()).toBe('\n');
    expect(await registry.metrics()).not.toContain('process_cpu');
  });
});

describe('outcomes of hub requests', () => {
  it.each([
    ['HUB_UNAVAILABLE', 429, 'rate-limited'],
    ['HUB_UNAVAILABLE', 503, 'unavailable'],
    ['HUB_TIMEOUT', null, 'timeout'],
    ['HUB_FORBIDDEN', 403, 'unauthorised'],
    ['HUB_BODY_INVALID', 200, 'invalid'],
    ['INTERNAL', null, 'invalid'],
  ] as const)('%s with %s counts as %s', (code, status, outcome) => {
    expect(hubOutcomeOf(code, status)).toBe(outcome);
  });
});
