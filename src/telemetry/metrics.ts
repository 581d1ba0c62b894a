import { totalmem } from 'node:os';
import { Counter, Gauge, Histogram, collectDefaultMetrics, type Registry } from 'prom-client';
import { TENANT_PARTS } from '../core/health/tenant-facts.ts';
import type { TenantStatus } from '../core/health/tenant-status.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import type { SyncMode } from '../model/progress.ts';
import type { Board } from './board.ts';
import type { CollectionMonitor } from './collection-monitor.ts';
import type { TenantMonitor } from './tenant-monitor.ts';

/**
 * prom-client's default of 10 ms would wake the process a hundred times a second, which would be most of the cost of an
 * idle process.
 */
const EVENT_LOOP_SAMPLED_EVERY_MS = 100;

const SCOPE = ['tenant', 'collection'] as const;
const ROW_OUTCOMES = ['unchanged', 'created', 'updated', 'rejected', 'skipped', 'removed'] as const;
const OPERATIONS = ['created', 'replaced', 'deleted', 'restored'] as const;
/** The part `short` has a metric of its own, rollcall_rows_short. */
const TROUBLES = ['collection', 'rejects'] as const;
const MODES = { FULL: 'full', INCREMENTAL: 'incremental' } as const satisfies Record<SyncMode, string>;

/**
 * Registers the metrics of Rollcall, with `process: true` also those of the Node process, and returns a function that
 * counts events. What the board knows is computed at each scrape, so that it is always current. Label values are names
 * of the configuration and of this program, never free text.
 */
export function createMetrics(
  registry: Registry,
  board: Board,
  options: { process: boolean },
): (tenant: string, event: PipelineEvent) => void {
  if (options.process) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLED_EVERY_MS });
  }
  registerGauges(registry, board);
  const counters = registerCounters(registry);
  return (tenant, event) => countEvent(counters, tenant, event);
}

function registerCounters(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `rollcall_${name}`, help, labelNames, registers });
  return {
    rows: counter(
      'rows_total',
      'Rows that the hub returned, by what Rollcall did with them, and removals of rows that the hub no longer has.',
      [...SCOPE, 'outcome'],
    ),
    absenceChanges: counter(
      'absence_changes_total',
      'Published changes of absences, by operation, including those of a first load.',
      ['tenant', 'operation'],
    ),
    deviations: counter(
      'hub_deviations_total',
      'Deviations of a hub from its specification: rows older than the published ones; versions of absences that it did not show when asked.',
      ['tenant', 'kind'],
    ),
    syncs: new Histogram({
      name: 'rollcall_sync_duration_seconds',
      help: 'Duration of syncs, complete or not: sum and count.',
      labelNames: [...SCOPE, 'mode'],
      // Buckets would add ten series for each tenant, collection and mode, and one full sync a day would not fill
      // them.
      buckets: [],
      registers,
    }),
    requests: counter(
      'hub_requests_total',
      'Requests to the hub and its token endpoint, including retries.',
      ['tenant', 'outcome'],
    ),
    requestSeconds: new Histogram({
      name: 'rollcall_hub_request_duration_seconds',
      help: 'Duration of requests to the hub, including the body.',
      labelNames: ['tenant'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    transactions: counter('transactions_total', 'Kafka transactions by outcome.', ['tenant', 'outcome']),
  };
}

function countEvent(
  counters: ReturnType<typeof registerCounters>,
  tenant: string,
  event: PipelineEvent,
): void {
  const { rows, absenceChanges, requests, requestSeconds, transactions } = counters;
  switch (event.type) {
    case 'caught-up':
      // Counters exist before they count, so that a first failure shows as an increase.
      for (const outcome of ['committed', 'unknown']) transactions.inc({ tenant, outcome }, 0);
      for (const outcome of ROW_OUTCOMES) rows.inc({ tenant, collection: event.collection, outcome }, 0);
      for (const kind of ['older-row', 'not-shown']) counters.deviations.inc({ tenant, kind }, 0);
      if (event.contradictions === null) return;
      for (const operation of OPERATIONS) absenceChanges.inc({ tenant, operation }, 0);
      return;
    case 'sync-page': {
      const { rowsStale, rowsRepeated, rowsAlreadyDeleted, ...tally } = event.tally;
      const counts = {
        unchanged: tally.rowsUnchanged,
        created: tally.rowsCreated,
        updated: tally.rowsUpdated,
        rejected: tally.rowsRejected,
        skipped: rowsStale + rowsRepeated + rowsAlreadyDeleted,
        removed: 0,
      };
      for (const outcome of ROW_OUTCOMES)
        rows.inc({ tenant, collection: event.collection, outcome }, counts[outcome]);
      return;
    }
    case 'sync-ended':
    case 'sync-failed':
    case 'not-offered': {
      const { collection } = event;
      const mode = event.type === 'sync-ended' ? event.stats.mode : event.mode;
      counters.syncs.observe({ tenant, collection, mode: MODES[mode] }, event.durationMs / 1000);
      if (event.type !== 'sync-ended') return;
      rows.inc({ tenant, collection, outcome: 'removed' }, event.stats.rowsRemoved);
      counters.deviations.inc({ tenant, kind: 'older-row' }, event.stats.rowsOlder);
      counters.deviations.inc({ tenant, kind: 'not-shown' }, event.stats.absences.notShown);
      return;
    }
    case 'committed':
    case 'commit-failed':
      transactions.inc({ tenant, outcome: event.type === 'committed' ? 'committed' : 'unknown' });
      return;
    case 'absences-published':
      for (const operation of OPERATIONS) absenceChanges.inc({ tenant, operation }, event.tally[operation]);
      return;
    case 'hub': {
      const outcome = outcomeOf(event.event);
      if (outcome === null || !('durationMs' in event.event)) return;
      requests.inc({ tenant, outcome });
      requestSeconds.observe({ tenant }, event.event.durationMs / 1000);
      return;
    }
    default:
  }
}

/** One value of a gauge, with its labels; null: no value. */
type Sample = { readonly value: number | null } & Readonly<Record<string, string | number | null>>;

/** Registers the gauges, whose values are read from the board at each scrape. */
function registerGauges(registry: Registry, board: Board): void {
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    samples: () => readonly Sample[],
  ): void =>
    registry.registerMetric(
      new Gauge({
        name: `rollcall_${name}`,
        help,
        labelNames,
        registers: [],
        collect() {
          this.reset();
          for (const { value, ...labels } of samples())
            if (value !== null) this.set(labels as Record<string, string>, value);
        },
      }),
    );
  let read: readonly Reading[] = [];
  gauge(
    'ready',
    '1 while a part of the tenant is well: see /readyz for the reason when it is not.',
    ['tenant', 'part'],
    () => {
      // A scrape asks each gauge separately; all of them answer from one reading of the board, which the first one takes.
      read = board.tenants.map((monitor) => ({ monitor, status: monitor.status() }));
      return read.flatMap(({ status: { tenant, reasons } }) =>
        TENANT_PARTS.map((part) => {
          const isWell = reasons.every((reason) => reason.part !== part);
          return { tenant, part, value: Number(isWell) };
        }),
      );
    },
  );
  gauge(
    'owner',
    '1 while this process owns the tenant; 0 for every other tenant of the configuration.',
    ['prefix', 'tenant'],
    () => {
      const own = new Set(board.tenants.filter(({ isOwner }) => isOwner).map(({ tenant }) => tenant));
      const prefix = board.configuration.config.kafka.topicPrefix;
      return board.configured.map((tenant) => ({ prefix, tenant, value: Number(own.has(tenant)) }));
    },
  );
  gauge('build_info', '1, with the version of Rollcall.', ['version'], () => [
    { version: board.version, value: 1 },
  ]);
  gauge(
    'configuration_valid',
    '1 while the configuration on disk can be used; 0: the process goes on with an earlier one.',
    [],
    () => [{ value: Number(board.configuration.isValid) }],
  );
  gauge(
    'memory_limit_bytes',
    'Memory that the process may have: the limit of its container, or the memory of the machine.',
    [],
    // Node says 0 if it knows no limit.
    () => [{ value: Math.min(process.constrainedMemory() || Infinity, totalmem()) }],
  );
  gauge(
    'absence_contradictions',
    'Number of absences whose records at the hub contradict each other at present.',
    ['tenant'],
    () => read.map(({ status: { tenant, contradictions } }) => ({ tenant, value: contradictions })),
  );
  registerCollectionGauges(gauge, () => syncedOf(read));
}

interface Reading {
  readonly monitor: TenantMonitor;
  readonly status: TenantStatus;
}

/** The collections with syncs of their own. */
function syncedOf(read: readonly Reading[]) {
  return read.flatMap(({ monitor, status }) =>
    status.collections.flatMap((each) => {
      const { collection, derivedFrom } = each;
      const { tenant } = status;
      return derivedFrom === null
        ? [{ tenant, collection, each, live: monitor.live(collection), status }]
        : [];
    }),
  );
}

type Synced = ReturnType<typeof syncedOf>[number];

function registerCollectionGauges(
  gauge: (name: string, help: string, labelNames: readonly string[], samples: () => Sample[]) => void,
  synced: () => readonly Synced[],
): void {
  const ofCollections = (name: string, help: string, value: (one: Synced) => number | null): void =>
    gauge(name, help, SCOPE, () =>
      synced().map((one) => ({ tenant: one.tenant, collection: one.collection, value: value(one) })),
    );
  const ofSyncs = (
    name: string,
    help: string,
    value: (live: CollectionMonitor, mode: SyncMode) => number | null,
  ): void =>
    gauge(name, help, [...SCOPE, 'mode'], () =>
      synced().flatMap(({ tenant, collection, live }) => [
        { tenant, collection, mode: 'full', value: value(live, 'FULL') },
        { tenant, collection, mode: 'incremental', value: value(live, 'INCREMENTAL') },
      ]),
    );
  gauge(
    'needs_decision',
    '1 while the collection needs a decision by a person, with the code of the decision; 0, with no code, while it needs none.',
    [...SCOPE, 'code'],
    () =>
      synced().flatMap(({ tenant, collection, status: { decisions } }) => {
        const needed = decisions.filter(({ collections }) => collections.includes(collection));
        if (needed.length === 0) return [{ tenant, collection, code: '', value: 0 }];
        return needed.map(({ code }) => ({ tenant, collection, code, value: 1 }));
      }),
  );
  gauge(
    'collection_in_trouble',
    '1 while the syncs of the collection fail (part "collection"), or many of its rows cannot be decoded (rejects); other collections are still mirrored.',
    [...SCOPE, 'part'],
    () =>
      synced().flatMap(({ tenant, collection, each: { trouble } }) =>
        TROUBLES.map((part) => ({ tenant, collection, part, value: Number(trouble?.part === part) })),
      ),
  );
  ofCollections(
    'rows_on_hold',
    'Rows on hold, whose deletion needs a decision: "rollcall deletes list" lists them.',
    ({ each }) => each.rowsOnHold,
  );
  ofCollections(
    'rows_short',
    'Rows that the hub counted and did not return in the last full sync.',
    ({ each }) => each.rowsShort,
  );
  ofCollections(
    'rejects',
    'Rows and scopes that are now in the topic "rejects".',
    ({ live }) => live.rejects,
  );
  ofCollections(
    'watermark_timestamp_seconds',
    'Time (seconds since the epoch) before which every change at the hub is published.',
    ({ each: { hasIncremental, watermark }, status: { hubClockAheadMs } }) =>
      hasIncremental && watermark !== null ? (Date.parse(watermark) - hubClockAheadMs) / 1000 : null,
  );
  ofSyncs(
    'last_complete_sync_timestamp_seconds',
    'Time (seconds since the epoch) at which the last complete sync ended; 0 until there has been a complete full sync.',
    ({ completedMs }, mode) => (completedMs[mode] === null ? null : completedMs[mode] / 1000),
  );
  ofSyncs('sync_in_progress', '1 while a sync runs.', ({ running }, mode) => Number(running.has(mode)));
}

/**
 * The label of a request: `ok`, or the error code that logs and runbooks use; null for an event that is not the end of
 * a request.
 */
function outcomeOf(event: HubEvent): string | null {
  if (event.type === 'request-done') return 'ok';
  // A request that ends because its session ends is reported as failed, too, although the hub has not failed.
  return event.type === 'request-failed' && event.code.startsWith('HUB_') ? event.code : null;
}
