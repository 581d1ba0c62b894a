import { Counter, Gauge, Histogram, collectDefaultMetrics, type Registry } from 'prom-client';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';

/** What a number belongs to. Tenants and collections come from the configuration: they are few and known. */
export interface Scope {
  readonly tenant: string;
  readonly collection: CollectionName;
}

/** What became of rows that the hub delivered; each row counts once. */
export interface RowCounts {
  readonly unchanged?: number | undefined;
  readonly created?: number | undefined;
  readonly updated?: number | undefined;
  readonly rejected?: number | undefined;
  /** Passed over because a newer state of the row was published after the request was sent, or as a duplicate. */
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

/** Events of `absence-changes` by their operations. */
export interface AbsenceCounts {
  readonly created: number;
  readonly replaced: number;
  readonly deleted: number;
  readonly restored: number;
}

/** The numbers of a process. Label values are the contract's names and the types above, nothing free. */
export interface Metrics {
  /** Makes every counter of the scope exist at 0, so that a first increase shows as one. */
  prepare(scope: Scope): void;
  /** Rows seen = unchanged + created + updated + rejected + skipped, by construction. */
  countRows(scope: Scope, counts: RowCounts): void;
  countDeleted(scope: Scope, rows: number): void;
  /** As {@link Metrics.prepare}, for a tenant's absences. */
  prepareAbsences(tenant: string): void;
  countAbsenceChanges(tenant: string, counts: AbsenceCounts): void;
  /** Chains told by the best that is known, for want of an answer of the hub's. */
  countPublishedWhileOpen(tenant: string, chains: number): void;
  setContradictions(tenant: string, count: number): void;
  setWithheld(scope: Scope, rows: number): void;
  setRejects(scope: Scope, rows: number): void;
  /** Rows that deltas have missed, as the last full pass that could tell says. */
  setLate(scope: Scope, rows: number): void;
  syncStarted(scope: Scope, mode: SyncMode): void;
  /** `completedAtMs`: wall clock; null when the pass did not complete. */
  syncEnded(scope: Scope, sync: { mode: SyncMode; seconds: number; completedAtMs: number | null }): void;
  /** For a start: the last complete pass as `progress` tells it. */
  setLastCompleteSync(scope: Scope, sync: { mode: SyncMode; completedAtMs: number }): void;
  setWatermarkLag(scope: Scope, seconds: number): void;
  hubRequest(tenant: string, request: { outcome: HubOutcome; seconds: number }): void;
  transaction(tenant: string, transaction: { outcome: TransactionOutcome; seconds: number }): void;
  setOwner(tenant: string, isOwner: boolean): void;
}

const SCOPE_LABELS = ['tenant', 'collection'] as const;
const MODE_LABELS = ['tenant', 'collection', 'mode'] as const;
const OUTCOME_LABELS = ['tenant', 'outcome'] as const;
const OPERATIONS = ['created', 'replaced', 'deleted', 'restored'] as const satisfies (keyof AbsenceCounts)[];
const ROW_FATES = {
  unchanged: 'Rows whose content was known already.',
  created: 'Rows published that were not known before.',
  updated: 'Rows published because their content changed.',
  rejected: 'Rows that could not be read, published to rejects.',
  skipped: 'Rows passed over because a newer state was published meanwhile, or that came twice.',
} as const satisfies Record<keyof RowCounts, string>;

/** Registers the metrics of Rollcall in `registry`; with `process: true` also those of the Node process. */
export function createMetrics(registry: Registry, options: { process: boolean }): Metrics {
  if (options.process) collectDefaultMetrics({ register: registry });
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
    'Removals published. These rows were not seen: they are gone from the hub.',
  );
  const withheld = gauge(registry, {
    name: 'rollcall_deletions_withheld',
    help: 'Removals that wait for a person: see rollcall deletes list.',
    labelNames: SCOPE_LABELS,
  });
  const rejects = gauge(registry, {
    name: 'rollcall_rejects',
    help: 'Rows of the hub that cannot be read at present.',
    labelNames: SCOPE_LABELS,
  });
  const late = gauge(registry, {
    name: 'rollcall_rows_late',
    help: 'Rows that the last full pass found and deltas had missed: the hub shows them later behind their stamps than deltaOverlap.',
    labelNames: SCOPE_LABELS,
  });
  return {
    prepare(scope: Scope) {
      for (const each of [seen, deleted, ...fates.map(([, counter]) => counter)]) each.inc(labels(scope), 0);
      withheld.set(labels(scope), 0);
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
    setWithheld: (scope: Scope, count: number) => withheld.set(labels(scope), count),
    setRejects: (scope: Scope, count: number) => rejects.set(labels(scope), count),
    setLate: (scope: Scope, count: number) => late.set(labels(scope), count),
  };
}

function absenceMetrics(registry: Registry) {
  const changes = counter(registry, {
    name: 'rollcall_absence_changes_total',
    help: 'Changes of absences published, by operation; those of a first load too.',
    labelNames: ['tenant', 'operation'],
  });
  const toldOpen = counter(registry, {
    name: 'rollcall_absences_told_open_total',
    help: 'Absences told by the best that was known: the hub did not say what became of a version they refer to.',
    labelNames: ['tenant'],
  });
  const contradictions = gauge(registry, {
    name: 'rollcall_absence_contradictions',
    help: "Places at which the hub's records of absences contradict each other at present.",
    labelNames: ['tenant'],
  });
  const countAbsenceChanges = (tenant: string, counts: AbsenceCounts): void => {
    for (const operation of OPERATIONS) changes.inc({ tenant, operation }, counts[operation]);
  };
  return {
    prepareAbsences(tenant: string) {
      countAbsenceChanges(tenant, { created: 0, replaced: 0, deleted: 0, restored: 0 });
      toldOpen.inc({ tenant }, 0);
    },
    countAbsenceChanges,
    countPublishedWhileOpen: (tenant: string, chains: number) => toldOpen.inc({ tenant }, chains),
    setContradictions: (tenant: string, count: number) => contradictions.set({ tenant }, count),
  };
}

function syncMetrics(registry: Registry) {
  const last = gauge(registry, {
    name: 'rollcall_last_complete_pass_timestamp_seconds',
    help: 'When the last complete pass ended, in seconds since the epoch.',
    labelNames: MODE_LABELS,
  });
  const inProgress = gauge(registry, {
    name: 'rollcall_pass_in_progress',
    help: '1 while a pass is under way.',
    labelNames: MODE_LABELS,
  });
  const duration = new Histogram({
    name: 'rollcall_pass_duration_seconds',
    help: 'How long passes took, complete or not.',
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
    setWatermarkLag: (scope: Scope, seconds: number) => lag.set(labels(scope), seconds),
  };
}

function dependencyMetrics(registry: Registry) {
  const requests = counter(registry, {
    name: 'rollcall_hub_requests_total',
    help: 'Requests to the hub and its token endpoint, retries included.',
    labelNames: OUTCOME_LABELS,
  });
  const requestSeconds = new Histogram({
    name: 'rollcall_hub_request_seconds',
    help: 'How long requests to the hub took, the body included.',
    labelNames: ['tenant'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [registry],
  });
  const transactions = counter(registry, {
    name: 'rollcall_transactions_total',
    help: 'Kafka transactions by how they ended.',
    labelNames: OUTCOME_LABELS,
  });
  const transactionSeconds = new Histogram({
    name: 'rollcall_transaction_seconds',
    help: 'How long Kafka transactions took.',
    labelNames: ['tenant'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
    registers: [registry],
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
  };
}

/** Only these two: a scope may be a larger object, and prom-client throws on labels that it does not know. */
function labels({ tenant, collection }: Scope) {
  return { tenant, collection };
}

function modeLabels(scope: Scope, mode: SyncMode) {
  return { ...labels(scope), mode: mode.toLowerCase() };
}
