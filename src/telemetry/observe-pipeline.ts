import type { Logger } from 'pino';
import { RollcallError, isFromHub, type ErrorSource } from '../errors.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import type { HealthPart } from '../core/health/parts.ts';
import type { Health } from './reported-reasons.ts';
import { hubOutcomeOf } from './hub-outcome.ts';
import { logEvent } from './log-pipeline.ts';
import type { Metrics } from './metrics.ts';

/** Turns events into metrics, log lines and readiness. Usual events count in metrics, unusual ones are logged. */
export function observePipeline(parts: {
  metrics: Metrics;
  health: Health;
  logger: Logger;
  now: () => number;
}): (tenant: string, event: PipelineEvent) => void {
  const inconclusive: Inconclusive = new Map();
  const repeating = new Set<string>();
  return (tenant, event) => {
    const logger = parts.logger.child({ tenant });
    measure(parts, tenant, event);
    const isNews = judgeHealth({ health: parts.health, inconclusive }, tenant, event);
    logEvent(logger, event, isNews);
    if (event.type === 'pass-ended') warnOfRepeated(logger, repeating, event, tenant);
  };
}

/** Warns once for each collection, since such a hub repeats ids at every sync. The line names no id. */
function warnOfRepeated(
  logger: Logger,
  repeating: Set<string>,
  { collection, stats }: PipelineEvent & { type: 'pass-ended' },
  tenant: string,
): void {
  const scope = `${tenant}/${collection}`;
  if (stats.rowsRepeated === 0 || repeating.has(scope)) return;
  repeating.add(scope);
  logger.warn(
    { collection, rowsRepeated: stats.rowsRepeated },
    'the hub lists ids more than once with different content; the first row of each id counts, the others are ignored',
  );
}

function measure(parts: { metrics: Metrics; now: () => number }, tenant: string, event: PipelineEvent): void {
  const { metrics } = parts;
  switch (event.type) {
    case 'owned':
      metrics.setOwner(tenant, true);
      return;
    case 'session-failed':
      metrics.setOwner(tenant, false);
      return;
    case 'caught-up':
      recordStart(metrics, tenant, event);
      return;
    case 'pass-started':
      metrics.syncStarted({ tenant, collection: event.collection }, event.mode);
      return;
    case 'pass-page':
      metrics.countRows(
        { tenant, collection: event.collection },
        { ...event.tally, skipped: event.tally.stale + event.tally.repeated + event.tally.over },
      );
      return;
    case 'pass-ended':
      recordSync(parts, tenant, event);
      return;
    case 'pass-failed':
    case 'pass-stopped':
    case 'not-offered':
      if (event.type === 'not-offered')
        metrics.forgetLastCompleteSync({ tenant, collection: event.collection });
      metrics.syncEnded(
        { tenant, collection: event.collection },
        { mode: event.mode, seconds: event.durationMs / 1000, completedAtMs: null },
      );
      return;
    case 'committed':
      metrics.transaction(tenant, { outcome: 'committed', seconds: event.durationMs / 1000 });
      return;
    case 'chains-published':
      metrics.countAbsenceChanges(tenant, event.tally);
      metrics.countPublishedWhileOpen(tenant, event.publishedOpen);
      if (event.contradictions !== null) metrics.setContradictions(tenant, event.contradictions);
      return;
    case 'commit-failed':
      metrics.transaction(tenant, { outcome: 'unknown', seconds: event.durationMs / 1000 });
      return;
    case 'hub':
      measureHub(metrics, tenant, event.event);
      return;
    default:
  }
}

function recordStart(metrics: Metrics, tenant: string, event: PipelineEvent & { type: 'caught-up' }): void {
  const scope = { tenant, collection: event.collection };
  metrics.prepare(scope);
  if (event.contradictions !== null) {
    metrics.prepareAbsences(tenant);
    metrics.setContradictions(tenant, event.contradictions);
  }
  metrics.setRejects(scope, event.rejects);
  const full = event.progress?.lastCompleteFull ?? null;
  // 0 for a collection that was never loaded: a value to alert on.
  metrics.setLastCompleteSync(scope, { mode: 'FULL', completedAtMs: full?.startedAtMs ?? 0 });
}

function recordSync(
  { metrics, now }: { metrics: Metrics; now: () => number },
  tenant: string,
  event: Extract<PipelineEvent, { type: 'pass-ended' }>,
): void {
  const scope = { tenant, collection: event.collection };
  const { stats, progress } = event;
  metrics.countDeleted(scope, stats.rowsRemoved);
  metrics.setRejects(scope, event.rejects);
  if (stats.late !== null) metrics.setLate(scope, stats.late.rows);
  if (stats.mode === 'FULL')
    metrics.setShort(scope, event.short === null ? 0 : event.short.total - event.short.rows);
  metrics.syncEnded(scope, {
    mode: stats.mode,
    seconds: event.durationMs / 1000,
    completedAtMs: event.outcome === 'complete' ? now() : null,
  });
  const watermarkMs = progress?.watermarkMs ?? null;
  if (watermarkMs !== null) metrics.setWatermarkLag(scope, Math.max(0, (now() - watermarkMs) / 1000));
}

function measureHub(metrics: Metrics, tenant: string, event: HubEvent): void {
  if (event.type === 'request-done') {
    metrics.hubRequest(tenant, { outcome: 'ok', seconds: event.durationMs / 1000 });
  } else if (event.type === 'request-failed' && event.code.startsWith('HUB_')) {
    const outcome = hubOutcomeOf(event.code, event.status);
    metrics.hubRequest(tenant, { outcome, seconds: event.durationMs / 1000 });
  }
}

/** Updates the health; returns whether the event is news, since one cause may fail many collections. */
function judgeHealth(
  { health, inconclusive }: { health: Health; inconclusive: Inconclusive },
  tenant: string,
  event: PipelineEvent,
): boolean {
  switch (event.type) {
    case 'owned':
      for (const part of ['kafka', 'registry', 'redis', 'owner'] as const) health.ready(part, tenant);
      return true;
    case 'session-opened':
      health.ready('pipeline', tenant);
      return true;
    case 'session-failed': {
      const reason = reasonOf(event.error);
      const isNews = health.notReady({ part: partOf(event.error), tenant, ...reason });
      health.notReady({
        part: 'pipeline',
        tenant,
        why: 'the tenant is currently not mirrored',
        remedy: reason.remedy,
      });
      return isNews;
    }
    case 'throttled':
      return health.notReady({ part: 'quota', tenant, ...THROTTLED });
    case 'committed':
      if (event.durationMs < FAST_MS) health.ready('quota', tenant);
      return true;
    case 'topics-compared':
      return event.mismatch === null
        ? health.ready('kafka', tenant)
        : health.notReady({ part: 'kafka', tenant, ...reasonOf(event.mismatch) });
    case 'pass-failed':
      if (!isFromHub(event.error)) return true;
      return health.notReady({ part: 'hub', tenant, ...reasonOf(event.error) });
    case 'not-offered':
      // One missing collection is harmless; but if no other has answered, the address is wrong.
      if (health.reasons().some((reason) => reason.part === 'hub' && reason.tenant === tenant)) {
        health.notReady({ part: 'hub', tenant, ...reasonOf(event.error) });
      }
      return true;
    case 'pass-ended':
      noteOutcome(inconclusive, tenant, event);
      markHubAnswering(health, inconclusive, tenant);
      return true;
    case 'hub':
      if (event.event.type === 'request-done' && event.event.target !== 'token') {
        markHubAnswering(health, inconclusive, tenant);
      }
      return true;
    default:
      return true;
  }
}

/** Collections whose last full sync was inconclusive, with the reason, by tenant. A short one is a reason of its own. */
type Inconclusive = Map<string, Map<string, string>>;

function noteOutcome(
  inconclusive: Inconclusive,
  tenant: string,
  event: PipelineEvent & { type: 'pass-ended' },
): void {
  const ofTenant = inconclusive.get(tenant) ?? new Map<string, string>();
  inconclusive.set(tenant, ofTenant);
  if (event.outcome === 'suspect' && event.short === null)
    ofTenant.set(event.collection, event.why ?? 'its list proves nothing');
  else if (event.stats.mode === 'FULL') ofTenant.delete(event.collection);
}

/** Marks the hub as ready, unless a collection's last full sync was inconclusive: such a list is as bad as no answer. */
function markHubAnswering(health: Health, inconclusive: Inconclusive, tenant: string): void {
  const [first] = inconclusive.get(tenant) ?? [];
  if (first === undefined) {
    health.ready('hub', tenant);
    return;
  }
  const [collection, why] = first;
  health.notReady({
    part: 'hub',
    tenant,
    why: `${collection}: ${why}`,
    remedy: "Check the hub's answer and the token's rights; nothing was removed.",
  });
}

/** A commit that waited for no quota. */
const FAST_MS = 1_000;
const THROTTLED = {
  why: 'throttled by the broker: requests wait for the quota of this user or client id',
  remedy: 'Raise its producer_byte_rate (kafka-configs), or wait: Rollcall goes on, as fast as it may.',
};

function reasonOf(error: unknown): { why: string; remedy: string } {
  if (error instanceof RollcallError) return { why: error.message, remedy: error.remedy };
  return { why: 'an unexpected error occurred', remedy: 'See the log.' };
}

const PARTS: Readonly<Record<ErrorSource, HealthPart>> = {
  hub: 'hub',
  log: 'kafka',
  registry: 'registry',
  index: 'redis',
  owner: 'owner',
  command: 'pipeline',
  program: 'pipeline',
};

function partOf(error: unknown): HealthPart {
  return error instanceof RollcallError ? PARTS[error.source] : 'pipeline';
}
