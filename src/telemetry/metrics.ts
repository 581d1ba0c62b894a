import { Counter, Gauge, Histogram, collectDefaultMetrics, type Registry } from 'prom-client';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';

/** The labels of a number. Tenants and collections come from the configuration, so they are few and known. */
export interface Scope {
  readonly tenant: string;
  readonly collection: CollectionName;
}

/** Counts the rows that the hub delivered by their outcome; each row counts once. */
export interface RowCounts {
  readonly unchanged?: number | undefined;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  readonly rejected?: number | undefined;
  /** Stale rows (a newer state was published after the request was sent) and duplicates. */
  readonly skipped?: number | undefined;
}

export type HubOutcome =
  | 'ok'
  | 'unreachable'
  | 'timeout'
  | 'unavailable'
  | 'rate-limited'
  | 'refused'
  | 'unauthorised'
  | 'invalid'
  | 'too-large';
export type TransactionOutcome = 'committed' | 'aborted' | 'unknown';

/** Events of `absence-changes` by operation. */
export interface AbsenceCounts {
  readonly created: number;
  readonly replaced: number;
  readonly deleted: number;
  readonly restored: number;
}

/** The metrics of a process. Label values are the contract's names and the types above, never free text. */
export interface Metrics {
  /** Creates every counter of the scope at 0, so that its first increase is visible. */
  prepare(scope: Scope): void;
  /** Counts rows; seen = unchanged + created + updated + rejected + skipped. */
  countRows(scope: Scope, counts: RowCounts): void;
  countDeleted(scope: Scope, rows: number): void;
  /** Like {@link Metrics.prepare}, for a tenant's absences. */
  prepareAbsences(tenant: string): void;
  countAbsenceChanges(tenant: string, counts: AbsenceCounts): void;
  /** Counts absences that were published while open, since the hub did not answer for a reference. */
  countPublishedWhileOpen(tenant: string, chains: number): void;
  setContradictions(tenant: string, count: number): void;
  /** Rows that the hub counted and did not return. */
  setShort(scope: Scope, rows: number): void;
  setRejects(scope: Scope, rows: number): void;
  /** Sets the late rows that the last full sync measured. */
  setLate(scope: Scope, rows: number): void;
  syncStarted(scope: Scope, mode: SyncMode): void;
  /** `completedAtMs`: wall clock; null when the sync did not complete. */
  syncEnded(scope: Scope, sync: { mode: SyncMode; seconds: number; completedAtMs: number | null }): void;
  /** Sets the last complete sync from `progress`, at a start. */
  setLastCompleteSync(scope: Scope, sync: { mode: SyncMode; completedAtMs: number }): void;
  setWatermarkLag(scope: Scope, seconds: number): void;
  hubRequest(tenant: string, request: { outcome: HubOutcome; seconds: number }): void;
  transaction(tenant: string, transaction: { outcome: TransactionOutcome; seconds: number }): void;
  setOwner(tenant: string, isOwner: boolean): void;
  /** Creates a tenant's transaction counters and owner at 0. */
  prepareTenant(tenant: string): void;
  /** The hub does not offer the collection: it has no last complete sync. */
  forgetLastCompleteSync(scope: Scope): void;
}

const SCOPE_LABELS = ['tenant', 'collection'] as const;
const MODE_LABELS = ['tenant', 'collection', 'mode'] as const;
const OUTCOME_LABELS = ['tenant', 'outcome'] as const;
const OPERATIONS = ['created', 'replaced', 'deleted', 'restored'] as const satisfies (keyof AbsenceCounts)[];
const ROW_FATES = {
  unchanged: 'Rows whose content is already published.',
  created: 'Rows published for the first time.',
  updated: 'Rows published because their content changed.',
  rejected: 'Rows that could not be decoded, published to rejects.',
  skipped: 'Rows skipped as stale, because a newer state was published meanwhile, or as duplicates.',
} as const satisfies Record<keyof RowCounts, string>;

/** prom-client's default of 10 ms wakes the process a hundred times a second: most of what an idle one would cost. */
const EVENT_LOOP_SAMPLED_EVERY_MS = 100;

/** Registers the metrics of Rollcall in `registry`; with `process: true` also those of the Node process. */
export function createMetrics(registry: Registry, options: { process: boolean }): Metrics {
  if (options.process) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLED_EVERY_MS });
  }
  return {
    ...rowMetrics(registry),
    ...absenceMetrics(registry),
    ...syncMetrics(registry),
    ...dependencyMetrics(registry),
  };
}

function counter<Label extends string>(
  registry: Registry,
  description: { name: string; help: string; labelNames: readonly Label[] },
): Counter<Label> {
  return new Counter({ ...description, registers: [registry] });
}

function gauge<Label extends string>(
  registry: Registry,
  description: { name: string; help: string; labelNames: readonly Label[] },
): Gauge<Label> {
  return new Gauge({ ...description, registers: [registry] });
}

function rowMetrics(registry: Registry) {
  const rows = (name: string, help: string) =>
    counter(registry, { name: `rollcall_rows_${name}_total`, help, labelNames: SCOPE_LABELS });
  const seen = rows(
    'seen',
    'Rows that the hub delivered: unchanged + created + updated + rejected + skipped.',
  );
  const fates = Object.entries(ROW_FATES).map(
    ([fate, help]) => [fate as keyof RowCounts, rows(fate, help)] as const,
  );
  const deleted = rows(
    'deleted',
    'Removals published. These rows are not among those seen: the hub no longer has them.',
  );
  const short = gauge(registry, {
    name: 'rollcall_rows_short',
    help: 'Rows that the hub counted and did not return in the last full sync: choose another hub.paging, or hub.totals: ignored.',
    labelNames: SCOPE_LABELS,
  });
  const rejects = gauge(registry, {
    name: 'rollcall_rejects',
    help: 'Rows of the hub that currently cannot be decoded.',
    labelNames: SCOPE_LABELS,
  });
  const late = gauge(registry, {
    name: 'rollcall_rows_late',
    help: 'Rows that the last full sync found and incremental syncs had missed: deltaOverlap is too small, or the filter on dateLastModified selects nothing.',
    labelNames: SCOPE_LABELS,
  });
  return {
    prepare(scope: Scope) {
      for (const each of [seen, deleted, ...fates.map(([, counter]) => counter)]) each.inc(labels(scope), 0);
      short.set(labels(scope), 0);
      rejects.set(labels(scope), 0);
      late.set(labels(scope), 0);
    },
    countRows(scope: Scope, counts: RowCounts) {
      for (const [fate, counter] of fates) {
        const count = counts[fate] ?? 0;
        counter.inc(labels(scope), count);
        seen.inc(labels(scope), count);
      }
    },
    countDeleted: (scope: Scope, count: number) => deleted.inc(labels(scope), count),
    setShort: (scope: Scope, count: number) => short.set(labels(scope), count),
    setRejects: (scope: Scope, count: number) => rejects.set(labels(scope), count),
    setLate: (scope: Scope, count: number) => late.set(labels(scope), count),
  };
}

function absenceMetrics(registry: Registry) {
  const changes = counter(registry, {
    name: 'rollcall_absence_changes_total',
    help: 'Published changes of absences, by operation, including those of a first load.',
    labelNames: ['tenant', 'operation'],
  });
  const publishedOpen = counter(registry, {
    name: 'rollcall_absences_published_open_total',
    help: 'Absences published while open: the hub did not answer for a version that they refer to.',
    labelNames: ['tenant'],
  });
  const contradictions = gauge(registry, {
    name: 'rollcall_absence_contradictions',
    help: 'Number of absences whose records at the hub do not fit each other at present.',
    labelNames: ['tenant'],
  });
  const countAbsenceChanges = (tenant: string, counts: AbsenceCounts): void => {
    for (const operation of OPERATIONS) changes.inc({ tenant, operation }, counts[operation]);
  };
  return {
    prepareAbsences(tenant: string) {
      countAbsenceChanges(tenant, { created: 0, replaced: 0, deleted: 0, restored: 0 });
      publishedOpen.inc({ tenant }, 0);
    },
    countAbsenceChanges,
    countPublishedWhileOpen: (tenant: string, chains: number) => publishedOpen.inc({ tenant }, chains),
    setContradictions: (tenant: string, count: number) => contradictions.set({ tenant }, count),
  };
}

function syncMetrics(registry: Registry) {
  const last = gauge(registry, {
    name: 'rollcall_last_complete_sync_timestamp_seconds',
    help: 'When the last complete sync ended, in seconds since the epoch; 0 while there was no full one.',
    labelNames: MODE_LABELS,
  });
  const inProgress = gauge(registry, {
    name: 'rollcall_sync_in_progress',
    help: '1 while a sync runs.',
    labelNames: MODE_LABELS,
  });
  const duration = new Histogram({
    name: 'rollcall_sync_duration_seconds',
    help: 'Duration of syncs, complete or not.',
    labelNames: MODE_LABELS,
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 10_800],
    registers: [registry],
  });
  const lag = gauge(registry, {
    name: 'rollcall_watermark_lag_seconds',
    help: 'How far the watermark is behind the clock: changes younger than this may be missing.',
    labelNames: SCOPE_LABELS,
  });
  const setLast = (scope: Scope, sync: { mode: SyncMode; completedAtMs: number }) =>
    last.set(modeLabels(scope, sync.mode), sync.completedAtMs / 1000);
  return {
    syncStarted: (scope: Scope, mode: SyncMode) => inProgress.set(modeLabels(scope, mode), 1),
    syncEnded(scope: Scope, sync: { mode: SyncMode; seconds: number; completedAtMs: number | null }) {
      const { mode, completedAtMs } = sync;
      inProgress.set(modeLabels(scope, mode), 0);
      duration.observe(modeLabels(scope, mode), sync.seconds);
      if (completedAtMs !== null) setLast(scope, { mode, completedAtMs });
    },
    setLastCompleteSync: setLast,
    forgetLastCompleteSync(scope: Scope) {
      for (const mode of ['FULL', 'DELTA'] as const) last.remove(modeLabels(scope, mode));
    },
    setWatermarkLag: (scope: Scope, seconds: number) => lag.set(labels(scope), seconds),
  };
}

function dependencyMetrics(registry: Registry) {
  const requests = counter(registry, {
    name: 'rollcall_hub_requests_total',
    help: 'Requests to the hub and its token endpoint, including retries.',
    labelNames: OUTCOME_LABELS,
  });
  const requestSeconds = new Histogram({
    name: 'rollcall_hub_request_duration_seconds',
    labelNames: ['tenant'],
    registers: [registry],
    help: 'Duration of requests to the hub, including the body.',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const transactions = counter(registry, {
    name: 'rollcall_transactions_total',
    help: 'Kafka transactions by outcome.',
    labelNames: OUTCOME_LABELS,
  });
  const transactionSeconds = new Histogram({
    name: 'rollcall_transaction_duration_seconds',
    labelNames: ['tenant'],
    registers: [registry],
    help: 'Duration of Kafka transactions.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
  });
  const owner = gauge(registry, {
    name: 'rollcall_owner',
    help: '1 while this process owns the tenant.',
    labelNames: ['tenant'],
  });
  return {
    hubRequest(tenant: string, { outcome, seconds }: { outcome: HubOutcome; seconds: number }) {
      requests.inc({ tenant, outcome });
      requestSeconds.observe({ tenant }, seconds);
    },
    transaction(tenant: string, { outcome, seconds }: { outcome: TransactionOutcome; seconds: number }) {
      transactions.inc({ tenant, outcome });
      transactionSeconds.observe({ tenant }, seconds);
    },
    setOwner: (tenant: string, isOwner: boolean) => owner.set({ tenant }, isOwner ? 1 : 0),
    prepareTenant(tenant: string) {
      owner.set({ tenant }, 0);
      for (const outcome of ['committed', 'unknown'] as const) transactions.inc({ tenant, outcome }, 0);
    },
  };
}

/** Picks the two labels: a scope may be a larger object, and prom-client throws on unknown labels. */
function labels({ tenant, collection }: Scope) {
  return { tenant, collection };
}

function modeLabels(scope: Scope, mode: SyncMode) {
  return { ...labels(scope), mode: mode === 'FULL' ? 'full' : 'incremental' };
}
