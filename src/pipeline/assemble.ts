import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import {
  collectionSettings,
  enabledCollections,
  passCollections,
  partitionsOf,
  type Config,
  type TenantConfig,
} from '../config.ts';
import { strictFieldsOf } from '../core/mapping.ts';
import type { RowReader } from '../core/decoded-row.ts';
import { createRowReader } from '../core/row-reader.ts';
import type { AbsenceChangeValue } from '../core/absence-change.ts';
import type { AbsenceVersionValue } from '../core/chains/chain-row.ts';
import { createZoneClock } from '../core/schedules/zone-clock.ts';
import { createDayReader } from '../core/schedules/read-days.ts';
import { createValueCodec } from '../core/value-codec.ts';
import { createHub } from '../hub/create-hub.ts';
import type { CoreApi } from '../hub/core-api.ts';
import type { Hub } from '../hub/hub.ts';
import { OWN_TOPICS, type CollectionName, type TopicSuffix } from '../model/collections.ts';
import { createKafkaClient } from '../log/kafka-client.ts';
import { createKafkaLog } from '../log/kafka-log.ts';
import type { TenantLog } from '../log/log.ts';
import { createProgressCodec } from '../log/progress-codec.ts';
import { ReadOnlyLog } from '../log/read-only-log.ts';
import { createRegistry, type Registry } from '../log/registry.ts';
import { readSchemaFiles } from '../log/schema-files.ts';
import { wantedTopics, type WantedTopic } from '../log/topics.ts';
import type { StateStore } from '../state/index-store.ts';
import { createMemoryStore } from '../state/memory-store.ts';
import { createRedisStore } from '../state/redis-store.ts';
import type { RejectValue } from './pending-transaction.ts';
import { NOBODY_ABSENT } from './schedules/absent-students.ts';
import { createAbsentIndex, type AbsentIndex } from './chains/absent-index.ts';
import type { PipelineEvent } from './events.ts';
import { prepareTopics, registerSchemas } from './prepare-tenant.ts';
import { sleep } from './sleep.ts';
import type { TenantChains, TenantCollection, TenantParts } from './tenant-parts.ts';

const DAY_MS = 24 * 3_600_000;

export interface AssemblyOptions {
  readonly logger: Logger;
  readonly emit: (tenantId: string, event: PipelineEvent) => void;
}

/** The parts of the program, put together as the configuration says; nothing is connected yet. */
export interface Assembly extends AsyncDisposable {
  readonly config: Config;
  /** Names this process among the owners of tenants. */
  readonly owner: string;
  readonly kafka: Kafka;
  readonly registry: Registry;
  readonly store: StateStore;
  tenant(tenantId: string): AssembledTenant;
}

export interface AssembledTenant {
  readonly config: TenantConfig;
  readonly parts: TenantParts;
  readonly topics: readonly WantedTopic[];
  /** The tenant's topics for a reader that does not own it; whoever opens it closes it. */
  readonly openReadOnlyLog: () => ReadOnlyLog;
}

type SchemaFiles = ReturnType<typeof readSchemaFiles>;

/** What all tenants use alike: compiling it for each would take most of the start's time, and much memory. */
interface Compiled {
  readonly codecs: Codecs;
  /** By collection and what is set for its fields. */
  readonly readers: Map<string, RowReader>;
}

type Codecs = ReturnType<typeof createCodecs>;

function createCodecs(schemas: SchemaFiles) {
  return {
    progress: createValueCodec<Parameters<Parameters<typeof createProgressCodec>[0]['encode']>[0]>(
      schemaOf(schemas, 'progress'),
    ),
    rejects: createValueCodec<RejectValue>(schemaOf(schemas, 'rejects')),
    versions: createValueCodec<AbsenceVersionValue>(schemaOf(schemas, 'absence-versions')),
    changes: createValueCodec<AbsenceChangeValue>(schemaOf(schemas, 'absence-changes')),
  };
}

export function assemble(config: Config, options: AssemblyOptions): Assembly {
  const kafka = connectKafka(config, options.logger);
  const registry = createRegistry({
    url: config.registry.url,
    username: config.registry.username,
    password:
      config.registry.password === undefined ? undefined : () => config.registry.password?.reveal() ?? '',
  });
  const store = openStore(config);
  const schemas = readSchemaFiles();
  const compiled: Compiled = { codecs: createCodecs(schemas), readers: new Map() };
  const owner = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const tenants = new Map<string, AssembledTenant>();
  const hubs: AsyncDisposable[] = [];
  const logs: TenantLog[] = [];
  return {
    config,
    owner,
    kafka,
    registry,
    store,
    tenant(tenantId) {
      const known = tenants.get(tenantId);
      if (known !== undefined) return known;
      const tenantConfig = config.tenants.find(({ id }) => id === tenantId);
      if (tenantConfig === undefined) throw new Error(`no tenant ${tenantId}`);
      const emit = (event: PipelineEvent): void => options.emit(tenantId, event);
      const hub = connectHub(tenantConfig, emit);
      const assembled = assembleTenant({
        config,
        tenantConfig,
        hub,
        kafka,
        registry,
        store,
        schemas,
        compiled,
        owner,
        emit,
      });
      hubs.push(hub);
      logs.push(assembled.parts.log);
      tenants.set(tenantId, assembled);
      return assembled;
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(hubs.map((hub) => hub[Symbol.asyncDispose]()));
      await Promise.allSettled(logs.map((log) => log.close()));
      await store.close();
    },
  };
}

function connectKafka(config: Config, logger: Logger): Kafka {
  const { brokers, ssl, sasl } = config.kafka;
  return createKafkaClient(
    {
      brokers,
      clientId: 'rollcall',
      ssl: typeof ssl === 'boolean' ? ssl : withRevealedKey(ssl),
      sasl: sasl === undefined ? undefined : { ...sasl, password: sasl.password.reveal() },
    },
    logger,
  );
}

function withRevealedKey(ssl: Exclude<Config['kafka']['ssl'], boolean>) {
  const { ca, cert, key, rejectUnauthorized } = ssl;
  return {
    rejectUnauthorized,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: key.reveal() }),
  };
}

function openStore(config: Config): StateStore {
  const { redis } = config;
  if (redis === undefined) return createMemoryStore();
  return createRedisStore({
    url: redis.url,
    // Two installations may share a Redis, and name their tenants alike.
    keyPrefix: `${redis.keyPrefix}:${config.kafka.topicPrefix}`,
    ...(redis.username === undefined ? {} : { username: redis.username }),
    ...(redis.password === undefined ? {} : { password: redis.password.reveal() }),
  });
}

function connectHub(
  { hub }: TenantConfig,
  emit: (event: PipelineEvent) => void,
): Hub & CoreApi & AsyncDisposable {
  return createHub({
    baseUrl: hub.baseUrl,
    tokenUrl: hub.tokenUrl,
    clientId: hub.clientId,
    clientSecret: () => hub.clientSecret.reveal(),
    clientAuth: hub.clientAuth,
    scope: hub.scope,
    pageSize: hub.pageSize,
    paging: hub.paging,
    maxConcurrentRequests: hub.maxConcurrentRequests,
    timeouts: { requestMs: hub.requestTimeoutMs },
    maxResponseBytes: hub.maxResponseBytes,
    onEvent: (event) => emit({ type: 'hub', event }),
  });
}

interface TenantInputs {
  readonly config: Config;
  readonly tenantConfig: TenantConfig;
  readonly hub: Hub & CoreApi;
  readonly kafka: Kafka;
  readonly registry: Registry;
  readonly store: StateStore;
  readonly schemas: SchemaFiles;
  readonly compiled: Compiled;
  readonly owner: string;
  readonly emit: (event: PipelineEvent) => void;
}

function assembleTenant(inputs: TenantInputs): AssembledTenant {
  const { config, tenantConfig, schemas, registry, kafka, emit } = inputs;
  const { codecs } = inputs.compiled;
  const { topicPrefix, replicationFactor } = config.kafka;
  const tenantId = tenantConfig.id;
  const collections = passCollections(tenantConfig).map(({ name }) => tenantCollection(inputs, name));
  const suffixes: TopicSuffix[] = [
    ...enabledCollections(tenantConfig).map(({ name }) => name),
    ...OWN_TOPICS,
  ];
  const topics = wantedTopics({
    topicPrefix,
    tenantId,
    suffixes,
    partitionsOf: (suffix) => partitionsOf(config.kafka, suffix),
    replicationFactor,
  });
  const schemaIds = new Map<TopicSuffix, number>();
  const now = (): number => Date.now();
  const place = {
    kafka,
    topicPrefix,
    tenantId,
    progressCodec: createProgressCodec({
      encode: (value) => codecs.progress.toBuffer(value),
      decode: async (framed) => (await registry.decode(framed, ['progress'])) as never,
    }),
  };
  const log = createKafkaLog({
    ...place,
    schemaIds,
    owner: inputs.owner,
    now,
    randomId: randomUUID,
  });
  const absent = absentIndex(inputs);
  const parts: TenantParts = {
    tenantId,
    topicPrefix,
    hub: inputs.hub,
    log,
    state: inputs.store.tenant(tenantId),
    collections,
    afterschoolIds: tenantConfig.afterschools,
    chains: tenantChains(inputs, { now, absent, collections }),
    schedules: scheduleSettings(inputs, absent),
    encodeReject: (value) => codecs.rejects.toBuffer(value),
    guard: { ...config.deletions.withholdAbove, perDay: config.deletions.perDay },
    deltaOverlapMs: tenantConfig.deltaOverlapMs,
    prepare: async () => {
      await inputs.store.ready();
      await registerSchemas({ registry, schemas, topics, schemaIds });
      await prepareTopics(kafka, topics);
    },
    now,
    random: Math.random,
    randomId: randomUUID,
    sleep,
    emit,
  };
  return { config: tenantConfig, parts, topics, openReadOnlyLog: () => new ReadOnlyLog(place) };
}

/** Days of absences that are known by student even where schedules look less far back. */
const ABSENT_DAYS_AT_LEAST = 31;

/** Null where absences are not mirrored. */
function absentIndex({ store, tenantConfig }: TenantInputs): AbsentIndex | null {
  if (!collectionSettings(tenantConfig, 'absence-changes').enabled) return null;
  const clock = createZoneClock(collectionSettings(tenantConfig, 'schedules').fullPull.timeZone);
  return createAbsentIndex({
    index: store.tenant(tenantConfig.id).collection('absence-versions'),
    dateAt: (ms) => clock.dateAt(ms),
  });
}

function tenantChains(
  { tenantConfig, compiled, registry }: TenantInputs,
  parts: { now: () => number; absent: AbsentIndex | null; collections: readonly TenantCollection[] },
): TenantChains | undefined {
  const { now, absent, collections } = parts;
  const reader = collections.find(({ name }) => name === 'absence-versions')?.reader;
  if (absent === null || reader === undefined) return undefined;
  const { versions, changes } = compiled.codecs;
  // A day more than asked for, as the tenant's zone counts days otherwise.
  const days = Math.max(ABSENT_DAYS_AT_LEAST, tenantConfig.schedules.daysBack) + 1;
  return {
    encodeChange: (value) => changes.toBuffer(value),
    decodeVersion: (body) => versions.fromBuffer(body),
    decode: (framed) => registry.decode(framed, ['absence-versions', 'absence-changes']),
    reader,
    absentSinceMs: () => now() - days * DAY_MS,
    forgetAfterMs: tenantConfig.absences.forgetAfterMs,
    onStudents: (students) => absent.changed(students),
  };
}

function tenantCollection(inputs: TenantInputs, name: CollectionName): TenantCollection {
  const settings = collectionSettings(inputs.tenantConfig, name);
  return {
    name,
    reader: rowReader(inputs, name, settings),
    deltaEveryMs: settings.deltaEveryMs,
    fullPull: settings.fullPull,
  };
}

/** A reader keeps nothing of one row for the next, so tenants can share it. */
function rowReader(
  { config, schemas, compiled }: TenantInputs,
  name: CollectionName,
  { drop, pseudonymise, ignore }: ReturnType<typeof collectionSettings>,
): RowReader {
  const key = JSON.stringify([name, drop, pseudonymise, ignore]);
  const reader =
    compiled.readers.get(key) ??
    createRowReader({
      schema: schemaOf(schemas, name),
      strictFields: strictFieldsOf(name),
      drop,
      pseudonymise,
      pseudonymiseKey: config.pseudonymise?.key.reveal(),
      ignore,
    });
  compiled.readers.set(key, reader);
  return reader;
}

function scheduleSettings(
  { config, tenantConfig, hub }: TenantInputs,
  absent: AbsentIndex | null,
): TenantParts['schedules'] {
  const settings = collectionSettings(tenantConfig, 'schedules');
  if (!settings.enabled) return undefined;
  const { fields, ...rest } = tenantConfig.schedules;
  const reader = createDayReader({
    fields,
    timeZone: settings.fullPull.timeZone,
    drop: settings.drop,
    pseudonymise: settings.pseudonymise,
    pseudonymiseKey: config.pseudonymise?.key.reveal(),
    ignore: settings.ignore,
  });
  return { ...rest, api: hub, absent: absent ?? NOBODY_ABSENT, reader };
}

function schemaOf(schemas: SchemaFiles, suffix: TopicSuffix) {
  const file = schemas.get(suffix);
  if (file === undefined) throw new Error(`there is no schema of ${suffix}`);
  return file.schema;
}
