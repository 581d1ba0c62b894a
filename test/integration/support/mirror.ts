import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import { inject } from 'vitest';
import { RunningConfig } from '../../../src/config/running-config.ts';
import { STATE_TOPIC, type CollectionName } from '../../../src/model/collections.ts';
import { assemble, type Assembly } from '../../../src/session/assemble.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import {
  compactedView,
  deleteTopicsOf,
  endOffsets,
  type EndOffsets,
  readTopics,
  type TopicRecord,
} from './stack-kafka.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { SyncResult } from '../../../src/sync/sync-result.ts';
import type { StartedTenant } from '../../../src/session/started-tenant.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { openSession, type TenantSession } from '../../../src/session/open-session.ts';
import { TenantRun } from '../../../src/worker/tenant-run.ts';
import { syncOnce, type SyncOutcome } from './sync-once.ts';
import {
  startReferenceHub,
  type ReferenceHub,
  type ReferenceHubOptions,
} from '../../../reference-hub/start-reference-hub.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { problemsOfIndex } from '../../oracle/progress.ts';
import { differences, doubledRecords } from '../../oracle/rows.ts';

type Json = Record<string, unknown>;

export interface MirrorOptions {
  /** A hub that runs already and stays when the mirror is closed; otherwise the mirror starts one. */
  readonly hub?: ReferenceHub | undefined;
  /** For the hub that is started: 60 students, seed 1, a Tuesday morning in term. */
  readonly hubOptions?: ReferenceHubOptions | undefined;
  /** As in the configuration; default `all`. A test with fewer collections is faster. */
  readonly collections?: 'all' | readonly string[] | Json | undefined;
  readonly afterschools?: readonly string[] | undefined;
  /** Further settings of the tenant, of its hub, and of the top level. */
  readonly tenant?: Json | undefined;
  readonly hubSettings?: Json | undefined;
  readonly settings?: Json | undefined;
  /** The index in memory instead of Redis. */
  readonly inMemory?: boolean | undefined;
  /** In place of the tenant's own parts: a clock, say. */
  readonly parts?: ((parts: Tenant) => Partial<Tenant>) | undefined;
  /** For a second mirror of the same tenant. */
  readonly topicPrefix?: string | undefined;
}

const HALF_A_DAY_MS = 12 * 3_600_000;
const OSLO_TIME = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Oslo', timeStyle: 'short' });

/**
 * The time in Oslo half a day after `ms`, `HH:MM`. What happens daily at that time happens in no test that begins at `ms`,
 * at whatever time of the day that is.
 */
export function halfADayAfter(ms: number): string {
  return OSLO_TIME.format(ms + HALF_A_DAY_MS);
}

/** Tuesday in term: no test may depend on when it runs. */
export const TERM_MORNING_MS = Date.parse('2026-03-10T09:30:00.000Z');
/** The times of an absence of an hour on that day. */
const AN_HOUR = { fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' };

/** Registers such an absence; default: of the first student. Returns its id. */
export function registerAbsence(
  { district }: ReferenceHub,
  student = district.ids('students')[0] ?? '',
): string {
  return district.registerAbsence({ student, ...AN_HOUR });
}

export async function startTestHub(
  options: ReferenceHubOptions = {},
): Promise<ReferenceHub & AsyncDisposable> {
  // With the numbers of a real county most rows of a test would be absences and results.
  const size = { resultsPerStudentYear: 12, absencesPerStudentYear: 12, ...options.size };
  const { startMs = TERM_MORNING_MS } = options;
  const hub = await startReferenceHub({
    students: 60,
    seed: 1,
    restampAt: halfADayAfter(startMs),
    ...options,
    startMs,
    size,
  });
  return Object.assign(hub, { [Symbol.asyncDispose]: () => hub.stop() });
}

/** Random, so that no test meets the data of another. */
export function newTopicPrefix(): string {
  return `t${randomBytes(5).toString('hex')}`;
}

/** The configuration of one tenant, `north`, or of several that differ only in their ids, as text. */
export function configTextOf(
  hub: Pick<ReferenceHub, 'baseUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>,
  topicPrefix: string,
  options: MirrorOptions = {},
  ids: readonly string[] = ['north'],
): string {
  const stack = inject('stack');
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  const tenant = {
    hub: { baseUrl, tokenUrl, clientId, clientSecret, ...options.hubSettings },
    collections: options.collections ?? 'all',
    afterschools: options.afterschools ?? [],
    fullSync: { at: halfADayAfter(Date.now()), timeZone: 'Europe/Oslo' },
    ...options.tenant,
  };
  const { kafka, ...settings } = options.settings ?? {};
  const { kafkaBrokers: brokers, replicationFactor } = stack;
  return JSON.stringify({
    tenants: ids.map((id) => ({ id, ...tenant })),
    kafka: { brokers, replicationFactor, topicPrefix, ...(kafka as Json | undefined) },
    registry: { url: stack.registryUrl },
    ...(options.inMemory === true ? {} : { redis: { url: stack.redisUrl, keyPrefix: topicPrefix } }),
    ...settings,
    deletions: { confirmAfter: '1s', ...(settings['deletions'] as Json | undefined) },
  });
}

export type Mirror = RunningMirror & AsyncDisposable;

export async function openMirror(options: MirrorOptions = {}): Promise<Mirror> {
  const hub = options.hub ?? (await startTestHub(options.hubOptions));
  const mirror = new RunningMirror(hub, options);
  const end = async (): Promise<void> => {
    await mirror.close();
    if (options.topicPrefix === undefined) await deleteTopicsOf(mirror.topicPrefix);
    if (options.hub === undefined) await hub.stop();
  };
  try {
    await mirror.open();
  } catch (error) {
    await end();
    throw error;
  }
  return Object.assign(mirror, { [Symbol.asyncDispose]: end });
}

/** A tenant that is mirrored in this process, from a reference hub into the real Kafka, registry and Redis. */
class RunningMirror {
  readonly hub: ReferenceHub;
  readonly topicPrefix: string;
  readonly tenantId = 'north';
  /** The configuration as text (JSON, which is YAML too), for a process of its own. */
  readonly configText: string;
  /** Topics in which the test had content published again: their records may repeat the ones before. */
  readonly republished = new Set<string>();
  /** All events since the start, except `sync-page`. */
  readonly events: PipelineEvent[] = [];
  /** Lines of the log at level debug. */
  readonly logLines: string[] = [];
  readonly #options: MirrorOptions;
  readonly #metrics = new Registry();
  readonly #file: RunningConfig;
  readonly #board: Board;
  readonly #count: ReturnType<typeof createMetrics>;
  readonly #log = createEventLog(
    createLogger({ level: 'debug', destination: { write: (line) => this.logLines.push(line) } }),
  );
  #stop = new AbortController();
  #opened: {
    readonly assembly: Assembly;
    readonly tenant: StartedTenant;
    session?: TenantSession;
  } | null = null;

  constructor(hub: ReferenceHub, options: MirrorOptions) {
    this.hub = hub;
    this.topicPrefix = options.topicPrefix ?? newTopicPrefix();
    this.configText = configTextOf(hub, this.topicPrefix, options);
    this.#options = options;
    this.#file = new RunningConfig({ path: 'rollcall.yaml', env: {}, readFile: () => this.configText });
    this.#board = new Board(this.#file, { version: '0', now: () => Date.now() });
    this.#board.showTenants([this.tenantId]);
    this.#count = createMetrics(this.#metrics, this.#board, { process: false });
  }

  get #open() {
    if (this.#opened === null) throw new Error('the mirror is closed');
    return this.#opened;
  }

  get assembly(): Assembly {
    return this.#open.assembly;
  }

  get session(): TenantSession {
    const { session } = this.#open;
    if (session === undefined) throw new Error('the mirror has no session');
    return session;
  }

  /** The parts of the session. */
  get parts(): Tenant {
    const { tenant } = this.#open;
    return { ...tenant, ...this.#options.parts?.(tenant) };
  }

  async open(): Promise<void> {
    this.#stop = new AbortController();
    const assembly = assemble(this.#file.config, (tenant, event) => {
      if (event.type !== 'sync-page') this.events.push(event);
      this.#count(tenant, event);
      this.#log(tenant, event, this.#board.note(tenant, event));
    });
    this.#opened = { assembly, tenant: assembly.tenant(this.tenantId) };
    this.#opened.session = await openSession(this.parts, this.#stop.signal);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#opened?.tenant[Symbol.asyncDispose]();
    await this.#opened?.assembly[Symbol.asyncDispose]();
    this.#opened = null;
  }

  /** Mirrors the tenant as `rollcall run` does, until it is disposed of. */
  run(): AsyncDisposable & { readonly tenant: TenantRun } {
    const stop = new AbortController();
    const tenant = new TenantRun(this.parts);
    const ended = tenant.mirror(stop.signal);
    const end = async (): Promise<void> => {
      stop.abort();
      await ended;
    };
    return { tenant, [Symbol.asyncDispose]: end };
  }

  /** Closes everything and begins again, as a restarted process does. Events and log go on. */
  async restart(): Promise<void> {
    await this.close();
    await this.open();
  }

  metricsText(): Promise<string> {
    return this.#metrics.metrics();
  }

  /** What `/status.json`, `/readyz` and the heartbeat show; the page shows the first. */
  statusText(): string {
    const statuses = this.#board.tenants.map((each) => each.status());
    const { health } = this.#board.heartbeatOf(this.tenantId);
    return `${JSON.stringify([statuses, this.#board.readiness().reasons])}${health}`;
  }

  /** One sync of each named collection (all by default), with each one's error. */
  attempt(mode: SyncMode, ...collections: CollectionName[]): Promise<readonly SyncOutcome[]> {
    const chosen = collections.length > 0 ? collections : this.#collections();
    return syncOnce(this.session, { collections: chosen, mode, signal: this.#stop.signal });
  }

  /** The same by full syncs. Throws the first error. */
  full(...collections: CollectionName[]): Promise<Map<CollectionName, SyncResult>> {
    return resultsOf(this.attempt('FULL', ...collections));
  }

  /** A full sync of each collection that no confirming one follows. Rejects if one fails. */
  async fullUnconfirmed(): Promise<void> {
    const options = { mode: 'FULL', signal: this.#stop.signal, confirms: false } as const;
    await resultsOf(syncOnce(this.session, { ...options, collections: this.#collections() }));
  }

  incremental(...collections: CollectionName[]): Promise<Map<CollectionName, SyncResult>> {
    return resultsOf(this.attempt('INCREMENTAL', ...collections));
  }

  topic(suffix: string): string {
    return `${this.topicPrefix}.${this.tenantId}.${suffix}`;
  }

  /** Ends of all topics of the tenant except `progress`. */
  ends(): Promise<EndOffsets> {
    return endOffsets(this.#dataTopics());
  }

  records(suffix: string): Promise<TopicRecord[]> {
    return readTopics([this.topic(suffix)]);
  }

  /** All records after `ends()`, in all topics except `progress`. */
  async since(ends: EndOffsets): Promise<TopicRecord[]> {
    const now = await endOffsets(this.#dataTopics());
    const grown = Object.keys(now).filter((name) => (now[name] ?? 0) > (ends[name] ?? 0));
    const records = await readTopics([...new Set(grown.map((name) => name.slice(0, name.lastIndexOf('/'))))]);
    return records.filter(({ topic, partition, offset }) => offset >= (ends[`${topic}/${partition}`] ?? 0));
  }

  async view(suffix: string): Promise<Map<string, TopicRecord>> {
    return compactedView(await this.records(suffix));
  }

  /** The differences between the index of a collection and what its topic has; empty when they agree. */
  async problemsOfIndex(collection: CollectionName): Promise<string[]> {
    const index = this.assembly.store.tenant(this.tenantId).collection(collection);
    const suffixes = [collection, 'rejects', 'progress'];
    const records = await Promise.all(suffixes.map((suffix) => this.records(suffix)));
    return problemsOfIndex(
      index,
      collection,
      new Map(suffixes.map((suffix, at) => [suffix, records[at] ?? []])),
    );
  }

  /**
   * By collection, the differences between its topic and the hub, and records that stand twice; empty when all are equal.
   * Default: all collections, and records that stand twice in any other topic.
   */
  async differences(...collections: CollectionName[]): Promise<Record<string, string[]>> {
    // The hub does not say whose schedules are wanted: they have tests of their own.
    const compared = new Set<string>(
      collections.length > 0 ? collections : this.#collections().filter((name) => name !== 'schedules'),
    );
    const suffixes = collections.length > 0 ? collections : [...this.#dataSuffixes(), 'progress'];
    const byTopic = Map.groupBy(
      await readTopics(suffixes.map((suffix) => this.topic(suffix))),
      ({ topic }) => topic,
    );
    const { hub, republished } = this;
    const { afterschools: afterschoolIds = [] } = this.#options;
    const found = suffixes.map((suffix): [string, string[]] => {
      const records = byTopic.get(this.topic(suffix)) ?? [];
      const mayRepeat = () => republished.has(suffix);
      return [
        suffix,
        compared.has(suffix)
          ? differences({ hub, collection: suffix, records, afterschoolIds, mayRepeat })
          : doubledRecords(records, { mayRepeat }),
      ];
    });
    return Object.fromEntries(found.filter(([, different]) => different.length > 0));
  }

  /** Of all collections, including derived ones. The changelog is internal. */
  #dataSuffixes(): string[] {
    return this.#open.tenant.topics
      .map(({ suffix }) => suffix)
      .filter((suffix) => suffix !== 'progress' && suffix !== STATE_TOPIC);
  }

  #dataTopics(): string[] {
    return this.#dataSuffixes().map((suffix) => this.topic(suffix));
  }

  #collections(): CollectionName[] {
    return this.#open.tenant.collections.map(({ name }) => name);
  }
}

async function resultsOf(syncs: Promise<readonly SyncOutcome[]>): Promise<Map<CollectionName, SyncResult>> {
  const results = new Map<CollectionName, SyncResult>();
  for (const { collection, result, error } of await syncs) {
    if (result === null) throw error;
    results.set(collection, result);
  }
  return results;
}
