import { randomBytes } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { Registry } from 'prom-client';
import { inject } from 'vitest';
import { ConfigFile } from '../../../src/config/config-file.ts';
import { STATE_TOPIC, type CollectionName } from '../../../src/model/collections.ts';
import { assemble, type Assembly } from '../../../src/session/assemble.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { SyncResult } from '../../../src/sync/sync-result.ts';
import type { StartedTenant } from '../../../src/session/tenant.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { openSession, type TenantSession } from '../../../src/session/open-session.ts';
import { syncOnce } from './sync-once.ts';
import {
  startReferenceHub,
  type ReferenceHub,
  type ReferenceHubOptions,
} from '../../../reference-hub/start-reference-hub.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createEventLog } from '../../../src/telemetry/log-events.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { halfADayAfter } from './half-a-day.ts';
import { differences } from './hub-oracle.ts';
import { compactedView, endOffsets, readTopics, type EndOffsets, type TopicRecord } from './topic-reader.ts';

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

export interface Outcome {
  readonly collection: CollectionName;
  readonly result: SyncResult | null;
  readonly error: unknown;
}

/** A tenant that is mirrored in this process, from a reference hub into the real Kafka, registry and Redis. */
export interface Mirror extends AsyncDisposable {
  readonly hub: ReferenceHub;
  readonly topicPrefix: string;
  readonly tenantId: string;
  /** The configuration as text (JSON, which is YAML too), for a process of its own. */
  readonly configText: string;
  readonly assembly: Assembly;
  readonly session: TenantSession;
  /** The parts of the session, for a `TenantRun` of the test itself. */
  readonly parts: Tenant;
  /** All events since the start, except `sync-page`. */
  readonly events: PipelineEvent[];
  /** Lines of the log at level debug. */
  readonly logLines: string[];
  metricsText(): Promise<string>;
  /** What `/status.json`, `/readyz` and the heartbeat show; the page shows the first. */
  statusText(): string;
  /** One sync of each named collection (all by default). Throws the first error. */
  full(...collections: CollectionName[]): Promise<Map<CollectionName, SyncResult>>;
  /** A full sync of these that no confirming one follows. Rejects if one fails. */
  fullUnconfirmed(...collections: CollectionName[]): Promise<void>;
  delta(...collections: CollectionName[]): Promise<Map<CollectionName, SyncResult>>;
  /** The same, with each collection's error. */
  attempt(mode: 'FULL' | 'INCREMENTAL', ...collections: CollectionName[]): Promise<readonly Outcome[]>;
  /** Closes everything and begins again, as a restarted process does. Events and log go on. */
  restart(): Promise<void>;
  topic(suffix: string): string;
  /** Ends of all topics of the tenant except `progress` (which is included on request). */
  ends(options?: { progress?: boolean }): Promise<EndOffsets>;
  records(suffix: string): Promise<TopicRecord[]>;
  /** All records after `ends()`, in all topics except `progress`. */
  since(ends: EndOffsets): Promise<TopicRecord[]>;
  view(suffix: string): Promise<Map<string, TopicRecord>>;
  /** By collection, the differences between its topic and the hub; empty when all are equal. Default: all collections. */
  differences(...collections: CollectionName[]): Promise<Record<string, string[]>>;
}

/** Tuesday in term: no test may depend on when it runs. */
export const TERM_MORNING_MS = Date.parse('2026-03-10T09:30:00.000Z');

export function startTestHub(options: ReferenceHubOptions = {}): Promise<ReferenceHub> {
  // With the numbers of a real county most rows of a test would be absences and results.
  const size = { resultsPerStudentYear: 12, absencesPerStudentYear: 12, ...options.size };
  const { startMs = TERM_MORNING_MS } = options;
  return startReferenceHub({
    students: 60,
    seed: 1,
    restampAt: halfADayAfter(startMs),
    ...options,
    startMs,
    size,
  });
}

/** Random, so that no test meets the data of another. */
export function newTopicPrefix(): string {
  return `t${randomBytes(5).toString('hex')}`;
}

/** The configuration of one tenant, `north`, as text. */
export function configTextOf(
  hub: Pick<ReferenceHub, 'baseUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>,
  topicPrefix: string,
  options: MirrorOptions = {},
): string {
  const stack = inject('stack');
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  const tenant = {
    id: 'north',
    hub: { baseUrl, tokenUrl, clientId, clientSecret, ...options.hubSettings },
    collections: options.collections ?? 'all',
    afterschools: options.afterschools ?? [],
    fullPull: { at: halfADayAfter(Date.now()), timeZone: 'Europe/Oslo' },
    ...options.tenant,
  };
  const { kafka, ...settings } = options.settings ?? {};
  return JSON.stringify({
    tenants: [tenant],
    kafka: { brokers: stack.kafkaBrokers, replicationFactor: 1, topicPrefix, ...(kafka as Json | undefined) },
    registry: { url: stack.registryUrl },
    ...(options.inMemory === true ? {} : { redis: { url: stack.redisUrl, keyPrefix: topicPrefix } }),
    ...settings,
    deletions: { confirmAfter: '1s', ...(settings['deletions'] as Json | undefined) },
  });
}

export async function openMirror(options: MirrorOptions = {}): Promise<Mirror> {
  const hub = options.hub ?? (await startTestHub(options.hubOptions));
  const topicPrefix = options.topicPrefix ?? newTopicPrefix();
  const configText = configTextOf(hub, topicPrefix, options);
  const mirror = new RunningMirror({
    hub,
    topicPrefix,
    configText,
    afterschoolIds: options.afterschools ?? [],
    parts: options.parts ?? (() => ({})),
  });
  try {
    await mirror.open();
  } catch (error) {
    await mirror.close();
    if (options.hub === undefined) await hub.stop();
    throw error;
  }
  return Object.assign(mirror, {
    async [Symbol.asyncDispose]() {
      await mirror.close();
      if (options.topicPrefix === undefined) await deleteTopics(topicPrefix);
      if (options.hub === undefined) await hub.stop();
    },
  });
}

class RunningMirror implements Omit<Mirror, typeof Symbol.asyncDispose> {
  readonly hub: ReferenceHub;
  readonly topicPrefix: string;
  readonly tenantId = 'north';
  readonly configText: string;
  readonly events: PipelineEvent[] = [];
  readonly logLines: string[] = [];
  readonly #afterschoolIds: readonly string[];
  readonly #partsOver: (parts: Tenant) => Partial<Tenant>;
  readonly #metrics = new Registry();
  #board: Board | null = null;
  #count: ReturnType<typeof createMetrics> | null = null;
  readonly #logger = createLogger({
    level: 'debug',
    destination: { write: (line: string) => this.logLines.push(line) },
  });
  readonly #log = createEventLog(this.#logger);
  #stop = new AbortController();
  #assembly: Assembly | null = null;
  #tenant: StartedTenant | null = null;
  #session: TenantSession | null = null;

  constructor(parts: {
    hub: ReferenceHub;
    topicPrefix: string;
    configText: string;
    afterschoolIds: readonly string[];
    parts: (parts: Tenant) => Partial<Tenant>;
  }) {
    this.hub = parts.hub;
    this.topicPrefix = parts.topicPrefix;
    this.configText = parts.configText;
    this.#afterschoolIds = parts.afterschoolIds;
    this.#partsOver = parts.parts;
  }

  get assembly(): Assembly {
    if (this.#assembly === null) throw new Error('the mirror is closed');
    return this.#assembly;
  }

  get session(): TenantSession {
    if (this.#session === null) throw new Error('the mirror is closed');
    return this.#session;
  }

  get parts(): Tenant {
    if (this.#tenant === null) throw new Error('the mirror is closed');
    return { ...this.#tenant, ...this.#partsOver(this.#tenant) };
  }

  async open(): Promise<void> {
    this.#stop = new AbortController();
    const file = new ConfigFile({ path: 'rollcall.yaml', env: {}, readFile: () => this.configText });
    if (this.#board === null) {
      this.#board = new Board(file, { version: '0', now: () => Date.now() });
      this.#board.hold([this.tenantId]);
      this.#count = createMetrics(this.#metrics, this.#board, { process: false });
    }
    const board = this.#board;
    this.#assembly = assemble(file.config, {
      logger: this.#logger,
      emit: (tenant, event) => {
        if (event.type !== 'sync-page') this.events.push(event);
        this.#count?.(tenant, event);
        this.#log(tenant, event, board.note(tenant, event));
      },
    });
    this.#tenant = this.#assembly.tenant(this.tenantId);
    this.#session = await openSession(this.parts, this.#stop.signal);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#tenant?.[Symbol.asyncDispose]();
    await this.#assembly?.[Symbol.asyncDispose]();
    this.#tenant = null;
    this.#assembly = null;
    this.#session = null;
  }

  async restart(): Promise<void> {
    await this.close();
    await this.open();
  }

  metricsText(): Promise<string> {
    return this.#metrics.metrics();
  }

  statusText(): string {
    const board = this.#board;
    const statuses = board?.tenants.map((each) => each.status());
    return `${JSON.stringify([statuses, board?.reasons()])}${board?.heartbeatOf(this.tenantId)['health']}`;
  }

  attempt(mode: 'FULL' | 'INCREMENTAL', ...collections: CollectionName[]): Promise<readonly Outcome[]> {
    const chosen = collections.length > 0 ? collections : this.#collections();
    return syncOnce(this.session, { collections: chosen, mode, signal: this.#stop.signal });
  }

  full(...collections: CollectionName[]): Promise<Map<CollectionName, SyncResult>> {
    return this.#sync('FULL', collections);
  }

  async fullUnconfirmed(...collections: CollectionName[]): Promise<void> {
    const options = { collections, mode: 'FULL', signal: this.#stop.signal, confirms: false } as const;
    for (const { result, error } of await syncOnce(this.session, options)) if (result === null) throw error;
  }

  delta(...collections: CollectionName[]): Promise<Map<CollectionName, SyncResult>> {
    return this.#sync('INCREMENTAL', collections);
  }

  async #sync(
    mode: 'FULL' | 'INCREMENTAL',
    collections: CollectionName[],
  ): Promise<Map<CollectionName, SyncResult>> {
    const results = new Map<CollectionName, SyncResult>();
    for (const { collection, result, error } of await this.attempt(mode, ...collections)) {
      if (result === null) throw error;
      results.set(collection, result);
    }
    return results;
  }

  topic(suffix: string): string {
    return `${this.topicPrefix}.${this.tenantId}.${suffix}`;
  }

  ends(options: { progress?: boolean } = {}): Promise<EndOffsets> {
    const suffixes = [...this.#dataTopics(), ...(options.progress === true ? ['progress'] : [])];
    return endOffsets(suffixes.map((suffix) => this.topic(suffix)));
  }

  records(suffix: string): Promise<TopicRecord[]> {
    return readTopics([this.topic(suffix)]);
  }

  async since(ends: EndOffsets): Promise<TopicRecord[]> {
    const topics = this.#dataTopics().map((suffix) => this.topic(suffix));
    const now = await endOffsets(topics);
    const grown = Object.keys(now).filter((name) => (now[name] ?? 0) > (ends[name] ?? 0));
    const records = await readTopics([...new Set(grown.map((name) => name.slice(0, name.lastIndexOf('/'))))]);
    return records.filter(({ topic, partition, offset }) => offset >= (ends[`${topic}/${partition}`] ?? 0));
  }

  async view(suffix: string): Promise<Map<string, TopicRecord>> {
    return compactedView(await this.records(suffix));
  }

  async differences(...collections: CollectionName[]): Promise<Record<string, string[]>> {
    // The hub does not say whose schedules are wanted: they have tests of their own.
    const all = this.#collections().filter((name) => name !== 'schedules');
    const chosen = collections.length > 0 ? collections : all;
    const records = await readTopics(chosen.map((collection) => this.topic(collection)));
    const found: Record<string, string[]> = {};
    for (const collection of chosen) {
      const topic = this.topic(collection);
      const different = differences({
        hub: this.hub,
        collection,
        records: records.filter((record) => record.topic === topic),
        afterschoolIds: this.#afterschoolIds,
      });
      if (different.length > 0) found[collection] = different;
    }
    return found;
  }

  /** All collections, including derived ones. */
  #dataTopics(): string[] {
    const { topics } = this.assembly.tenant(this.tenantId);
    // The changelog is internal.
    return topics
      .map(({ suffix }) => suffix)
      .filter((suffix) => suffix !== 'progress' && suffix !== STATE_TOPIC);
  }

  #collections(): CollectionName[] {
    return this.parts.collections.map(({ name }) => name);
  }
}

async function deleteTopics(topicPrefix: string): Promise<void> {
  const admin = new Kafka({ brokers: inject('stack').kafkaBrokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(`${topicPrefix}.`));
    if (topics.length > 0) await admin.deleteTopics({ topics });
  } finally {
    await admin.disconnect();
  }
}
