import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import {
  collectionSettings,
  enabledCollections,
  syncedCollections,
  partitionsOf,
  type Config,
  type TenantConfig,
} from '../config.ts';
import { DayReader } from '../core/lessons/read-days.ts';
import type { TenantHub } from '../hub/create-hub.ts';
import { OWN_TOPICS, STATE_TOPIC, type CollectionName, type TopicSuffix } from '../model/collections.ts';
import { KafkaLog } from '../log/kafka-log.ts';
import type { TenantLog } from '../log/log.ts';
import { progressDecoder } from '../log/progress-reader.ts';
import { ReadOnlyLog } from '../log/read-only-log.ts';
import type { Registry } from '../log/registry.ts';
import { TenantSchemas } from '../log/tenant-schemas.ts';
import { wantedTopics, type WantedTopic } from '../log/manage-topics.ts';
import type { StateStore } from '../state/index-store.ts';
import { ChangedScopes } from '../source/source-scan.ts';
import { boundGarbage } from './bound-garbage.ts';
import { compileSchemas, type CompiledSchemas } from './compiled-schemas.ts';
import { hubOf, kafkaOf, registryOf, storeOf } from './clients.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { prepareTopics, registerSchemas } from './prepare-tenant.ts';
import { sleep } from '../runtime.ts';
import type { TenantCollection, TenantParts } from './tenant-parts.ts';
import type { TenantChains } from '../absences/absence-options.ts';

const DAY_MS = 24 * 3_600_000;
/** A shorter wait changes nothing. */
const THROTTLED_MS = 1_000;

export interface AssemblyOptions {
  readonly logger: Logger;
  readonly emit: (tenantId: string, event: PipelineEvent) => void;
}

/** The parts of the program, assembled as the configuration says. Nothing is connected yet. */
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
  /** Opens the tenant's topics for a reader that does not own the tenant. The caller closes it. */
  readonly openReadOnlyLog: () => ReadOnlyLog;
}

export function assemble(config: Config, options: AssemblyOptions): Assembly {
  boundGarbage();
  const kafka = kafkaOf(config, options.logger);
  const registry = registryOf(config);
  const store = storeOf(config);
  const compiled = compileSchemas(config.pseudonymise?.key.reveal());
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
      const hub = hubOf(tenantConfig, emit);
      const assembled = assembleTenant({
        config,
        tenantConfig,
        hub,
        kafka,
        registry,
        store,
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

interface TenantInputs {
  readonly config: Config;
  readonly tenantConfig: TenantConfig;
  readonly hub: TenantHub;
  readonly kafka: Kafka;
  readonly registry: Registry;
  readonly store: StateStore;
  readonly compiled: CompiledSchemas;
  readonly owner: string;
  readonly emit: (event: PipelineEvent) => void;
}

function assembleTenant(inputs: TenantInputs): AssembledTenant {
  const { config, tenantConfig, registry, kafka, emit } = inputs;
  const { codecs, files: schemas } = inputs.compiled;
  const { topicPrefix, replicationFactor } = config.kafka;
  const tenantId = tenantConfig.id;
  const hasAbsences = collectionSettings(tenantConfig, 'absence-changes').enabled;
  const schedules = scheduleSettings(inputs);
  const collections = syncedCollections(tenantConfig).map(({ name }) => tenantCollection(inputs, name));
  const suffixes: TopicSuffix[] = [
    ...enabledCollections(tenantConfig).map(({ name }) => name),
    ...OWN_TOPICS,
    ...(hasAbsences ? [STATE_TOPIC] : []),
  ];
  const topics = wantedTopics({
    topicPrefix,
    tenantId,
    suffixes,
    partitionsOf: (suffix) => partitionsOf(config.kafka, suffix),
    replicationFactor,
  });
  const ids = new TenantSchemas(registry);
  const now = (): number => Date.now();
  const place = { kafka, topicPrefix, tenantId, decodeProgress: progressDecoder(registry) };
  const log = new KafkaLog({
    ...place,
    encodeProgress: (value) => codecs.progress.toBuffer(value),
    timeZone: zoneOfDays(tenantConfig),
    wanted: topics,
    schemas: ids,
    owner: inputs.owner,
    now,
    randomId: randomUUID,
    onWait: (ms) => (ms < THROTTLED_MS ? undefined : emit({ type: 'throttled', ms })),
  });
  const parts: TenantParts = {
    tenantId,
    topicPrefix,
    hub: inputs.hub,
    log,
    state: inputs.store.tenant(tenantId),
    collections,
    chains: hasAbsences ? tenantChains(inputs, { now, schedules, collections }) : undefined,
    schedules,
    guard: config.deletions.withholdAbove,
    confirmAfterMs: config.deletions.confirmAfterMs,
    scopesAhead: Math.floor(tenantConfig.hub.maxConcurrentRequests / 2),
    prepare: async () => {
      await inputs.store.ready();
      await registerSchemas({ registry, schemas, topics, ids });
      await prepareTopics(kafka, topics);
    },
    runtime: { now, random: Math.random, randomId: randomUUID, sleep },
    emit,
  };
  return { config: tenantConfig, parts, topics, openReadOnlyLog: () => new ReadOnlyLog(place) };
}

/** IANA name of the zone in which the days of `schedules` are counted. */
function zoneOfDays(tenantConfig: TenantConfig): string {
  return collectionSettings(tenantConfig, 'schedules').fullPull.timeZone;
}

/** Without changed absences, an incremental sync of schedules has nothing to do. */
const LESSONS_EVERY_MS = 5_000;

/** Minimum number of past days for which absences are known by student, even if `daysBack` of schedules is smaller. */
const ABSENT_DAYS_AT_LEAST = 31;

function tenantChains(
  { tenantConfig, compiled, registry }: TenantInputs,
  parts: {
    now: () => number;
    schedules: TenantParts['schedules'];
    collections: readonly TenantCollection[];
  },
): TenantChains | undefined {
  const { now, schedules, collections } = parts;
  const reader = collections.find(({ name }) => name === 'absence-versions')?.reader;
  if (reader === undefined) return undefined;
  const { versions, changes, encodeEvent } = compiled.codecs;
  const { drop, pseudonymise } = collectionSettings(tenantConfig, 'absence-versions');
  const hidesStudent = [...drop, ...pseudonymise].includes('student');
  // One day more than configured, because the tenant's time zone counts days differently.
  const days = Math.max(ABSENT_DAYS_AT_LEAST, tenantConfig.schedules.daysBack) + 1;
  return {
    encodeEvent,
    encodeChange: (value) => changes.toBuffer(value),
    decodeVersion: (body) => versions.fromBuffer(body),
    decode: (framed, topics = ['absence-versions', 'absence-changes']) => registry.decode(framed, topics),
    reader,
    absentSinceMs: () => (hidesStudent ? Infinity : now() - days * DAY_MS),
    forgetAfterMs: tenantConfig.absences.forgetAfterMs,
    onStudents: (students) => schedules?.changes.note(students),
  };
}

function tenantCollection({ tenantConfig, compiled }: TenantInputs, name: CollectionName): TenantCollection {
  const settings = collectionSettings(tenantConfig, name);
  return {
    name,
    reader: compiled.reader(name, settings),
    encodeReject: (value) => compiled.codecs.rejects.toBuffer(value),
    deltaEveryMs:
      name === 'schedules' ? Math.min(LESSONS_EVERY_MS, settings.deltaEveryMs) : settings.deltaEveryMs,
    deltaOverlapMs: tenantConfig.deltaOverlapMs,
    fullPull: settings.fullPull,
    parentIds: name === 'afterschool-users' ? tenantConfig.afterschools : undefined,
  };
}

function scheduleSettings({ config, tenantConfig, hub }: TenantInputs): TenantParts['schedules'] {
  const settings = collectionSettings(tenantConfig, 'schedules');
  if (!settings.enabled) return undefined;
  const { fields, ...rest } = tenantConfig.schedules;
  const { timeZone } = settings.fullPull;
  const reader = new DayReader({
    fields,
    timeZone,
    drop: settings.drop,
    pseudonymise: settings.pseudonymise,
    pseudonymiseKey: config.pseudonymise?.key.reveal(),
    ignore: settings.ignore,
  });
  return { ...rest, timeZone, readSchedule: hub.readSchedule, reader, changes: new ChangedScopes() };
}
