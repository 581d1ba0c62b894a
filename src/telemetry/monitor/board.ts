import type { TenantConfig } from '../../config.ts';
import type { NotReady } from '../../core/health/parts.ts';
import { reasonsAsText } from '../../core/health/heartbeat-reasons.ts';
import { statusAsJson } from '../../core/health/status-json.ts';
import type { TenantStatus } from '../../core/health/tenant-status.ts';
import type { NamedGroups } from '../../core/withheld-groups.ts';
import type { CollectionName } from '../../model/collections.ts';
import { isoOrNull } from '../../core/words.ts';
import type { Progress } from '../../model/progress.ts';
import type { PipelineEvent } from '../../core/pipeline-events.ts';
import type { Health } from '../reported-reasons.ts';
import type { LiveCollection } from './collection-monitor.ts';
import { TenantMonitor } from './tenant-monitor.ts';

/** The health of all tenants of this process: what `/readyz`, `/status.json`, the page and the metrics show. */
export class Board {
  readonly #tenants: ReadonlyMap<string, TenantMonitor>;
  readonly #health: Pick<Health, 'reasons' | 'fatalReason'>;
  readonly #version: string;
  readonly #now: () => number;
  readonly #startedAtMs: number;

  /** `health` holds the reasons that an event reported. The board adds what only a clock shows: a watermark that grows old. */
  constructor(
    tenants: readonly TenantConfig[],
    parts: { health: Pick<Health, 'reasons' | 'fatalReason'>; version: string; now: () => number },
  ) {
    this.#tenants = new Map(tenants.map((tenant) => [tenant.id, new TenantMonitor(tenant)]));
    this.#health = parts.health;
    this.#version = parts.version;
    this.#now = parts.now;
    this.#startedAtMs = parts.now();
  }

  get version(): string {
    return this.#version;
  }

  note(tenant: string, event: PipelineEvent): void {
    this.#tenants.get(tenant)?.note(event, this.#now());
  }

  /** Replaces what is known of a tenant's withheld deletions. */
  noteWithheldGroups(tenant: string, groups: ReadonlyMap<CollectionName, readonly NamedGroups[]>): void {
    const monitor = this.#tenants.get(tenant);
    if (monitor !== undefined) monitor.withheldGroups = groups;
  }

  /** The last record of each collection of a tenant in `progress`. */
  progressOf(tenant: string): ReadonlyMap<CollectionName, Progress | null> {
    return this.#tenants.get(tenant)?.progress ?? new Map();
  }

  statuses(): TenantStatus[] {
    return [...this.#tenants.values()].map((monitor) => this.#statusOf(monitor));
  }

  /** The health that another process may read with the owner's heartbeat. */
  heartbeatOf(tenant: string): Readonly<Record<string, string>> {
    const monitor = this.#tenants.get(tenant);
    if (monitor === undefined) return {};
    const { reasons, hubSkewMs, wrongTenant } = this.#statusOf(monitor);
    return {
      reasons: reasonsAsText(reasons),
      hubSkewMs: String(Math.round(hubSkewMs)),
      wrongTenant: wrongTenant.join(' '),
    };
  }

  /** Every reason why the process is not ready. */
  reasons(): NotReady[] {
    const ofProcess = this.#health.reasons().filter(({ tenant }) => tenant === undefined);
    return [...ofProcess, ...this.statuses().flatMap(({ reasons }) => reasons)];
  }

  openCircuitsOf(tenant: string): ReadonlySet<'hub' | 'core'> {
    return this.#tenants.get(tenant)?.openCircuits ?? new Set();
  }

  /** The value of `/status.json`. */
  json(): Record<string, unknown> {
    const nowMs = this.#now();
    const reasons = this.reasons();
    return {
      at: isoOrNull(nowMs),
      version: this.#version,
      startedAt: isoOrNull(this.#startedAtMs),
      ready: reasons.length === 0 && this.#health.fatalReason() === null,
      needsPerson: this.statuses().some(({ decisions }) => decisions.length > 0),
      tenants: [...this.#tenants.values()].map((monitor) =>
        withLive(this.#statusOf(monitor), monitor.live(nowMs)),
      ),
    };
  }

  #statusOf(monitor: TenantMonitor): TenantStatus {
    const reported = this.#health.reasons().filter(({ tenant }) => tenant === monitor.tenant);
    return monitor.status(reported, this.#now());
  }
}

function withLive(status: TenantStatus, live: ReadonlyMap<string, LiveCollection>): Record<string, unknown> {
  const json = statusAsJson(status);
  const collections = json['collections'] as readonly Record<string, unknown>[];
  return {
    ...json,
    collections: collections.map((each) =>
      Object.assign(each, liveAsJson(live.get(String(each['collection'])))),
    ),
  };
}

function liveAsJson(live: LiveCollection | undefined): Record<string, unknown> {
  if (live === undefined) return {};
  const { lastFullEndedMs, lastIncrementalEndedMs, changes, ...rest } = live;
  return {
    ...rest,
    lastFullEnded: isoOrNull(lastFullEndedMs),
    lastIncrementalEnded: isoOrNull(lastIncrementalEndedMs),
    changes: changes.map(({ created, updated, removed }) => [created, updated, removed]),
  };
}
