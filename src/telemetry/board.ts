import { setTimeout as delay } from 'node:timers/promises';
import type { ConfigChange, RunningConfig } from '../config/running-config.ts';
import type { HealthPart, NotReady, ReadHeartbeats } from '../core/health/tenant-facts.ts';
import { bounded, heardOf, overviewOf, tenantStatus, UNKNOWN } from '../core/health/tenant-status.ts';
import type { Heard } from '../core/health/tenant-status.ts';
import { isoOrNull } from '../core/words.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import type { Reason } from './collection-monitor.ts';
import { TenantMonitor } from './tenant-monitor.ts';

const JOINING: NotReady = {
  part: 'start',
  why: 'the process is joining the group of the workers that share the tenants',
  remedy: 'Wait: for up to kafka.session, the group waits for a worker that was killed.',
};

/** The services that all tenants of a process share. */
const SERVICES = ['kafka', 'redis', 'registry'] as const;

const HEAR_EVERY_MS = 3_000;
/** If Redis does not answer, nobody waits longer than this. */
const HEAR_WITHIN_MS = 1_000;

/**
 * The health of a process and of the tenants that it mirrors: what `/readyz`, the metrics and the heartbeats show. `/status.json`
 * and the page show the tenants of other processes too, by those heartbeats.
 */
export class Board {
  readonly version: string;
  readonly configuration: Omit<RunningConfig, 'changed'>;
  #tenants: ReadonlyMap<string, TenantMonitor> = new Map();
  /**
   * Why this process is not in the group of the workers, so that its tenants are not known, or are stopped; null: it is
   * in the group.
   */
  #noGroup: NotReady | null;
  /** The reports about every tenant. They also hold for tenants that come later. */
  readonly #reported = new Map<HealthPart, NotReady>();
  readonly #startedAtMs: number;
  readonly #now: () => number;
  readonly #read: ReadHeartbeats;
  #heard: Promise<ReadonlyMap<string, Heard>> | undefined;
  #heardAtMs = -Infinity;
  #isStopping = false;
  #fatal: string | null = null;

  constructor(
    configuration: Omit<RunningConfig, 'changed'>,
    parts: { version: string; now: () => number; read?: ReadHeartbeats },
  ) {
    this.configuration = configuration;
    this.version = parts.version;
    this.#now = parts.now;
    this.#read = parts.read ?? (() => Promise.resolve([]));
    this.#startedAtMs = parts.now();
    this.#noGroup = { ...JOINING, since: new Date(this.#startedAtMs).toISOString() };
  }

  /** Shows these tenants and no others: the ones that this process is to mirror. */
  showTenants(tenants: readonly string[]): void {
    this.#noGroup = null;
    this.#tenants = new Map(tenants.map((id) => [id, this.#tenants.get(id) ?? this.#begun(id)]));
  }

  /** The configuration has changed: shows its changed tenants as new ones. */
  change({ changed, removed }: ConfigChange): void {
    const shown = [...this.#tenants].filter(([id]) => !removed.includes(id));
    this.#tenants = new Map(shown.map(([id, each]) => [id, changed.includes(id) ? this.#begun(id) : each]));
  }

  /** Notes why the process is not in the group of the workers. */
  reportNoGroup(reason: Reason): void {
    const since = this.#noGroup?.since ?? new Date(this.#now()).toISOString();
    this.#noGroup = { part: 'kafka', since, ...reason };
  }

  #begun(id: string): TenantMonitor {
    const config = this.configuration.config.tenants.find((tenant) => tenant.id === id);
    if (config === undefined) throw new TypeError(`no tenant ${id}`);
    const monitor = new TenantMonitor(config, this.#now);
    for (const [part, reason] of this.#reported) monitor.report(part, reason);
    return monitor;
  }

  /** Returns whether an event that reports a trouble is news: one cause may fail many collections. */
  note(tenant: string, event: PipelineEvent): boolean {
    return this.#tenants.get(tenant)?.note(event) ?? true;
  }

  /** The tenants that this process mirrors. */
  get tenants(): readonly TenantMonitor[] {
    return [...this.#tenants.values()];
  }

  /** The ids of all tenants of the configuration, whichever worker mirrors them. */
  get configured(): readonly string[] {
    return this.configuration.config.tenants.map(({ id }) => id);
  }

  /** Reports that a part of every tenant is not ready, or, without a reason, that it is ready again. */
  report(part: HealthPart, reason: Reason | null): void {
    const since = this.#reported.get(part)?.since ?? new Date(this.#now()).toISOString();
    const known = reason && { part, since, ...reason };
    if (known === null) this.#reported.delete(part);
    else this.#reported.set(part, known);
    for (const each of this.tenants) each.report(part, known);
  }

  /** The process is ending. `fatal`: why only a restart helps; the first such reason stays. */
  stop(fatal: string | null): void {
    this.#isStopping = true;
    this.#fatal ??= fatal;
  }

  get fatalReason(): string | null {
    return this.#fatal;
  }

  /**
   * Whether the process is ready, and all that is wrong with it and its tenants. It is not ready while it ends, is not in the
   * group, or has tenants and none is ready.
   */
  readiness(): { readonly ready: boolean; readonly reasons: (NotReady & { readonly tenant?: string })[] } {
    const ofProcess = this.ofProcess();
    const tenants = this.tenants.map((monitor) => monitor.status());
    const ofTenants = tenants.flatMap(({ tenant, reasons, decisions }) => [
      ...reasons.map((each) => ({ tenant, ...each })),
      ...decisions.map(({ what: why, since, question, commands }) => {
        // Each command has a line of its own, as in the output of `status`.
        const remedy = [`${question}:`, ...commands].join('\n');
        return { tenant, part: 'decision' as const, why, remedy, since };
      }),
    ]);
    const isAnyReady = tenants.length === 0 || tenants.some(({ ready }) => ready);
    const { note } = this.configuration;
    // The process goes on with the configuration that it has, so it stays ready.
    const ofFile = note === null ? [] : [{ part: 'configuration' as const, ...bounded(note) }];
    return { ready: ofProcess.length === 0 && isAnyReady, reasons: [...ofProcess, ...ofTenants, ...ofFile] };
  }

  /** What is wrong with the process itself, and not with one of its tenants. */
  ofProcess(): NotReady[] {
    const why = this.#fatal ?? 'the process is ending';
    const remedy = 'Read the last log lines of the process, and start it again.';
    const stop = { part: 'stop', why, remedy } as const;
    const services = SERVICES.flatMap((part) => this.#reported.get(part) ?? []);
    const noGroup = this.#noGroup === null ? [] : [this.#noGroup];
    // If a service is away, a process without tenants is not ready, because it could not mirror the next tenant: for
    // example those of the process that it replaces.
    const isIdle = noGroup.length > 0 || this.#tenants.size === 0;
    return [...(this.#isStopping ? [stop] : []), ...(isIdle ? services : []), ...noGroup];
  }

  /** The health that `status` and the pages of other processes show. */
  heartbeatOf(tenant: string): Readonly<Record<string, string>> {
    const status = this.#tenants.get(tenant)?.status();
    // Another worker has the tenant by now, and this process ends its last transaction.
    if (status === undefined) return {};
    const { note } = this.configuration;
    const { collections, ...health } = status;
    return {
      version: this.version,
      health: JSON.stringify(health),
      // This is most of the text. Readers that look at all tenants leave it out.
      collections: JSON.stringify(collections),
      note: JSON.stringify(note && bounded(note)),
    };
  }

  async #hear(): Promise<ReadonlyMap<string, Heard>> {
    const ids = this.configured;
    const reading = this.#read(ids, ['version', 'health']);
    const living = await Promise.race([reading, delay(HEAR_WITHIN_MS, [], { ref: false })]);
    return new Map(living.map((each, at) => [ids[at] ?? '', heardOf(each, this.version)]));
  }

  /**
   * The value of `/status.json`. The tenants in `detailed` have their collections, if this process mirrors them.
   * Tenants of other processes without a heartbeat are left out. The heartbeats are read at most every few seconds, and
   * only while someone asks.
   */
  async json(detailed: readonly string[] = []): Promise<Record<string, unknown>> {
    if (this.#now() - this.#heardAtMs >= HEAR_EVERY_MS) {
      this.#heardAtMs = this.#now();
      this.#heard = this.#hear().catch(() => new Map());
    }
    // A Redis that takes no writes lets the heartbeats of living processes run out.
    const heard = this.#reported.has('redis') ? undefined : await this.#heard;
    const nowMs = this.#now();
    const tenants = this.configured.flatMap((tenant) => {
      const own = this.#tenants.get(tenant);
      const other = heard?.get(tenant);
      if (own === undefined && other === undefined) return [];
      // While this process joins, nobody may mirror a tenant yet.
      const joining = this.#noGroup?.part === 'start' ? { reported: [this.#noGroup] } : {};
      const unowned = { ...UNKNOWN, ...joining, ...other, tenant, nowMs };
      const status = own?.status() ?? other?.health ?? tenantStatus(unowned);
      const collections = own && detailed.includes(tenant) ? status.collections : undefined;
      return [{ ...status, isHere: own !== undefined, collections }];
    });
    const { sinceMs, isValid, note } = this.configuration;
    return {
      at: isoOrNull(nowMs),
      version: this.version,
      statusCommand: 'rollcall status',
      startedAt: isoOrNull(this.#startedAtMs),
      ready: this.readiness().ready,
      needsPerson: tenants.some(({ needsPerson }) => needsPerson),
      /** The reasons of the process itself; each tenant has its own. */
      reasons: this.ofProcess(),
      configuration: { since: isoOrNull(sinceMs), isValid, note },
      tenantsConfigured: this.configured.length,
      ...overviewOf(tenants),
    };
  }
}
