import type { TenantConfig } from '../config.ts';
import type { HealthPart, NotReady } from '../core/health/tenant-facts.ts';
import { isoOrNull } from '../core/words.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { TenantMonitor } from './tenant-monitor.ts';

/** The health of all tenants of this process: what `/readyz`, `/status.json`, the page, the metrics and the heartbeat show. */
export class Board {
  readonly version: string;
  readonly #tenants: ReadonlyMap<string, TenantMonitor>;
  readonly #startedAtMs: number;
  readonly #now: () => number;
  #isStopping = false;
  #fatal: string | null = null;

  constructor(tenants: readonly TenantConfig[], parts: { version: string; now: () => number }) {
    this.#tenants = new Map(tenants.map((tenant) => [tenant.id, new TenantMonitor(tenant, parts.now)]));
    this.version = parts.version;
    this.#now = parts.now;
    this.#startedAtMs = parts.now();
  }

  /** Returns whether an event that reports a trouble is news: one cause may fail many collections. */
  note(tenant: string, event: PipelineEvent): boolean {
    return this.#tenants.get(tenant)?.note(event) ?? true;
  }

  get tenants(): readonly TenantMonitor[] {
    return [...this.#tenants.values()];
  }

  /** Says of every tenant that a part is not ready; without a reason, that it is ready again. */
  report(part: HealthPart, reason: Pick<NotReady, 'why' | 'remedy'> | null): void {
    for (const each of this.tenants) each.report(part, reason);
  }

  /** The process is ending. `fatal`: why only a restart helps; the first such reason stays. */
  stop(fatal: string | null): void {
    this.#isStopping = true;
    this.#fatal ??= fatal;
  }

  get fatalReason(): string | null {
    return this.#fatal;
  }

  /** Every reason why the process is not ready: it is ending, or none of its tenants is ready. */
  reasons(): (NotReady & { readonly tenant?: string })[] {
    const why = this.#fatal ?? 'the process is ending';
    const stop = { part: 'stop' as const, why, remedy: 'See its last log lines, and start it again.' };
    const all = this.tenants.map((monitor) => {
      const { tenant, reasons } = monitor.status();
      return reasons.map((each) => Object.assign({ tenant }, each));
    });
    const ofTenants = all.some(({ length }) => length === 0) ? [] : all.flat();
    return this.#isStopping ? [stop, ...ofTenants] : ofTenants;
  }

  /** The health that `status` in another process prints. */
  heartbeatOf(tenant: string): Readonly<Record<string, string>> {
    const health = JSON.stringify(this.#tenants.get(tenant)?.status());
    return { version: this.version, health };
  }

  /** The value of `/status.json`. */
  json(): Record<string, unknown> {
    const tenants = this.tenants.map((each) => each.status());
    return {
      at: isoOrNull(this.#now()),
      version: this.version,
      startedAt: isoOrNull(this.#startedAtMs),
      ready: this.reasons().length === 0,
      needsPerson: tenants.some(({ needsPerson }) => needsPerson),
      tenants,
    };
  }
}
