import { Counter, Gauge, Histogram, collectDefaultMetrics, type Registry } from 'prom-client';
import type { CollectionStatus } from '../core/health/collection-status.ts';
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
  return (tenant, event) => {
    // The last sync of a tenant that the configuration no longer names is not counted.
    if (board.configuration.config.tenants.some(({ id }) => id === tenant))
      countEvent(counters, tenant, event);
  };
}

/** Takes tenants that the configuration no longer names out of the counters; the gauges follow the board. */
export async function forgetTenants(registry: Registry, tenants: readonly string[]): Promise<void> {
  for (const metric of registry.getMetricsAsArray() as unknown as Counter[]) {
    for (const { labels } of (await metric.get()).values) {
      // `le` is of a bucket.
      const { le: _, ...series } = labels as Record<string, string>;
      if (tenants.includes(series['tenant'] ?? '')) metric.remove(series);
    }
  }
}

function registerCounters(registry: Registry) {
  const registers = [registry];
  return {
    rows: new Counter({
      name: 'rollcall_rows_total',
      help: 'Rows that the hub returned, by what Rollcall did with them, and removals of rows that the hub no longer has.',
      labelNames: [...SCOPE, 'outcome'],
      registers,
    }),
    absenceChanges: new Counter({
      name: 'rollcall_absence_changes_total',
      help: 'Published changes of absences, by operation, including those of a first load.',
      labelNames: ['tenant', 'operation'],
      registers,
    }),
    deviations: new Counter({
      name: 'rollcall_hub_deviations_total',
      help: 'Deviations of a hub from its specification: rows older than the published ones; versions of absences that it did not show when asked.',
      labelNames: ['tenant', 'kind'],
      registers,
    }),
    syncs: new Histogram({
      name: 'rollcall_sync_duration_seconds',
      help: 'Duration of syncs, complete or not: sum and count.',
      labelNames: [...SCOPE, 'mode'],
      // For each tenant, collection and mode ten series more would come from buckets, and a full sync a day fills none.
      buckets: [],
      registers,
    }),
    requests: new Counter({
      name: 'rollcall_hub_requests_total',
      help: 'Requests to the hub and its token endpoint, including retries.',
      labelNames: ['tenant', 'outcome'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: 'rollcall_hub_request_duration_seconds',
      help: 'Duration of requests to the hub, including the body.',
      labelNames: ['tenant'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    transactions: new Counter({
      name: 'rollcall_transactions_total',
      help: 'Kafka transactions by outcome.',
      labelNames: ['tenant', 'outcome'],
      registers,
    }),
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
      const { stale, repeated, over } = event.tally;
      const counts = { ...event.tally, skipped: stale + repeated + over, removed: 0 };
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

/** Gauges whose values are read from the board at each scrape. */
function boardGauges(registry: Registry, board: Board) {
  const gaugeOf = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    set: (gauge: Gauge<Label>) => void,
  ): void =>
    registry.registerMetric(
      new Gauge<Label>({
        name: `rollcall_${name}`,
        help,
        labelNames,
        registers: [],
        collect() {
          this.reset();
          set(this);
        },
      }),
    );
  // A scrape asks each gauge separately; all of them answer from one reading of the board, which the first one takes.
  let read: readonly { monitor: TenantMonitor; status: TenantStatus }[] = [];
  const ofTenants = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    values: (monitor: TenantMonitor, status: TenantStatus, set: Gauge<Label | 'tenant'>) => void,
  ): void => {
    const isFirst = registry.getSingleMetric('rollcall_ready') === undefined;
    gaugeOf<Label | 'tenant'>(name, help, ['tenant', ...labelNames], (gauge) => {
      if (isFirst) read = board.tenants.map((monitor) => ({ monitor, status: monitor.status() }));
      for (const { monitor, status } of read) values(monitor, status, gauge);
    });
  };
  /** Of collections with syncs of their own; null: no value. */
  const ofCollections = (
    name: string,
    help: string,
    value: (each: CollectionStatus, live: CollectionMonitor, status: TenantStatus) => number | null,
  ): void =>
    ofTenants(name, help, ['collection'], (monitor, status, gauge) => {
      for (const each of status.collections) {
        const { collection, derivedFrom } = each;
        const now = derivedFrom === null ? value(each, monitor.live(collection), status) : null;
        if (now !== null) gauge.set({ tenant: monitor.tenant, collection }, now);
      }
    });
  const ofSyncs = (
    name: string,
    help: string,
    value: (live: CollectionMonitor, mode: SyncMode) => number | null,
  ): void =>
    ofTenants(name, help, ['collection', 'mode'], (monitor, status, gauge) => {
      const { tenant } = monitor;
      for (const { collection, derivedFrom } of status.collections) {
        if (derivedFrom !== null) continue;
        for (const mode of ['FULL', 'INCREMENTAL'] as const) {
          const now = value(monitor.live(collection), mode);
          if (now !== null) gauge.set({ tenant, collection, mode: MODES[mode] }, now);
        }
      }
    });
  return { gaugeOf, ofTenants, ofCollections, ofSyncs };
}

function registerGauges(registry: Registry, board: Board): void {
  const gauges = boardGauges(registry, board);
  const { gaugeOf, ofTenants } = gauges;
  ofTenants(
    'ready',
    '1 while a part of the tenant is well: see /readyz for the reason when it is not.',
    ['part'],
    ({ tenant }, { reasons }, gauge) => {
      for (const part of TENANT_PARTS)
        gauge.set({ tenant, part }, reasons.some((reason) => reason.part === part) ? 0 : 1);
    },
  );
  gaugeOf(
    'owner',
    '1 while this process owns the tenant; 0 for every other one of the configuration.',
    ['tenant'],
    (gauge) => {
      for (const tenant of board.configured) gauge.set({ tenant }, 0);
      for (const { tenant, isOwner } of board.tenants) gauge.set({ tenant }, isOwner ? 1 : 0);
    },
  );
  gaugeOf(
    'configuration_valid',
    '1 while the configuration on disk can be used; 0: the process goes on with an earlier one.',
    [],
    (gauge) => gauge.set(board.configuration.isValid ? 1 : 0),
  );
  gaugeOf(
    'configuration_timestamp_seconds',
    'When the process read the configuration in force, in seconds since the epoch.',
    [],
    (gauge) => gauge.set(board.configuration.sinceMs / 1000),
  );
  ofTenants(
    'absence_contradictions',
    'Number of absences whose records at the hub contradict each other at present.',
    [],
    ({ tenant, contradictions }, _, gauge) => {
      if (contradictions !== null) gauge.set({ tenant }, contradictions);
    },
  );
  registerCollectionGauges(gauges);
}

function registerCollectionGauges({
  ofTenants,
  ofCollections,
  ofSyncs,
}: ReturnType<typeof boardGauges>): void {
  ofCollections(
    'needs_decision',
    '1 while the collection needs a decision of a person: rows on hold, rows of another tenant, lost absences, or records whose schema is lost.',
    ({ collection }, _, { decisions }) =>
      decisions.some(({ collections }) => collections.includes(collection)) ? 1 : 0,
  );
  ofTenants(
    'collection_in_trouble',
    '1 while the syncs of the collection fail (part "collection"), or many of its rows cannot be decoded (rejects); others go on.',
    ['collection', 'part'],
    ({ tenant }, { collections }, gauge) => {
      for (const { collection, derivedFrom, trouble } of collections)
        for (const part of derivedFrom === null ? TROUBLES : [])
          gauge.set({ tenant, collection, part }, trouble?.part === part ? 1 : 0);
    },
  );
  ofCollections(
    'rows_on_hold',
    'Rows on hold, whose deletion needs a decision: see rollcall deletes list.',
    ({ rowsOnHold }) => rowsOnHold,
  );
  ofCollections(
    'rows_short',
    'Rows that the hub counted and did not return in the last full sync.',
    ({ rowsShort }) => rowsShort,
  );
  ofCollections('rejects', 'Rows of the hub that currently cannot be decoded.', (_, { rejects }) => rejects);
  ofCollections(
    'watermark_timestamp_seconds',
    'Every change at the hub before this time is published, in seconds since the epoch.',
    ({ hasIncremental, watermark }, _, { hubClockAheadMs }) =>
      hasIncremental && watermark !== null ? (Date.parse(watermark) - hubClockAheadMs) / 1000 : null,
  );
  ofSyncs(
    'last_complete_sync_timestamp_seconds',
    'When the last complete sync ended, in seconds since the epoch; 0 until there has been a full one.',
    ({ completedMs }, mode) => (completedMs[mode] === null ? null : completedMs[mode] / 1000),
  );
  ofSyncs('sync_in_progress', '1 while a sync runs.', ({ running }, mode) => (running.has(mode) ? 1 : 0));
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
