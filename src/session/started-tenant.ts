import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { syncedCollections, type Config, type TenantConfig } from '../config.ts';
import { DayReader } from '../core/lessons/read-days.ts';
import { OWN_FIELDS } from '../core/rows/mapping-rules.ts';
import { DAY_MS } from '../core/zone-clock.ts';
import { UnmetSettings } from '../core/rows/unmet-settings.ts';
import { type TenantHub, createHub } from '../hub/create-hub.ts';
import type { ReadSchedule } from '../hub/hub.ts';
import type { CollectionName } from '../model/collections.ts';
import type { KafkaConnections } from '../log/wire/kafka-connections.ts';
import { KafkaLog } from '../log/kafka-log.ts';
import { ReadOnlyLog } from '../log/read-only-log.ts';
import type { Registry } from '../log/registry/registry.ts';
import { requireRights, type UsedResources } from '../log/rights.ts';
import { tenantSchemas } from '../log/registry/tenant-schemas.ts';
import {
  createMissingTopics,
  inspectTopics,
  topicMismatch,
  type WantedTopic,
} from '../log/topic-settings.ts';
import type { StateStore } from '../state/index-store.ts';
import { ChangedScopes, type Tenant, type TenantAbsences, type TenantCollection } from '../table/tenant.ts';
import type { CompiledSchemas, SchemaFiles } from './compiled-schemas.ts';
import type { HubHosts } from './hub-hosts.ts';
import { topicsOf, usedResources } from './used-in-kafka.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { Emit } from '../core/pipeline-events.ts';
import { sleep, turn } from '../runtime.ts';
import { TransactionSize } from '../core/transaction-size.ts';

/** A wait for a quota is reported only if it is at least this long. */
const THROTTLED_MS = 1_000;

/** The parts of a process that all its tenants share. */
export interface Shared {
  /** If the configuration file is followed, the tenants in it change while the process runs. */
  readonly config: Config;
  readonly kafka: KafkaConnections;
  readonly registry: Registry;
  readonly store: StateStore;
  readonly compiled: CompiledSchemas;
  readonly hostOf: HubHosts;
}

/** A tenant that {@link startTenant} has made. Disposing of it closes its hub. */
export interface StartedTenant extends Tenant, AsyncDisposable {
  readonly config: TenantConfig;
  readonly topics: readonly WantedTopic[];
  /** Opens the tenant's topics for a reader that does not own the tenant. */
  readonly openReadOnlyLog: () => ReadOnlyLog;
}

interface TenantInputs extends Shared {
  readonly tenantConfig: TenantConfig;
  readonly hub: TenantHub;
}

/** Makes a tenant's hub, log and state; nothing is connected yet. The caller disposes of it. */
export function startTenant(shared: Shared, tenantConfig: TenantConfig, emit: Emit): StartedTenant {
  const { config, registry, kafka } = shared;
  const { codecs } = shared.compiled;
  const { permits, fullSyncs } = shared.hostOf(tenantConfig.hub);
  const onEvent = (event: HubEvent): void => emit({ type: 'hub', event });
  const hub = createHub(tenantConfig.hub, { onEvent, host: permits });
  const inputs = { ...shared, tenantConfig, hub };
  const { topicPrefix } = config.kafka;
  const tenantId = tenantConfig.id;
  const hasAbsences = tenantConfig.collections['absence-changes'].enabled;
  const collections = syncedCollections(tenantConfig).map(({ name }) => tenantCollection(inputs, name));
  const schedules = scheduleSettings(inputs, collections.find(({ name }) => name === 'schedules')?.unmet);
  const topics = topicsOf(config, tenantConfig);
  const schemas = tenantSchemas({ registry, topics, files: shared.compiled.files });
  const now = (): number => Date.now();
  const owner = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const place = { kafka, topicPrefix, tenantId, registry };
  const log = new KafkaLog({
    ...place,
    encodeProgress: (value) => codecs.progress.toBuffer(value),
    timeZone: tenantConfig.collections.schedules.fullSync.timeZone,
    wanted: topics,
    schemas,
    owner,
    now,
    randomId: randomUUID,
    onThrottled: (ms) => (ms < THROTTLED_MS ? undefined : emit({ type: 'throttled', ms })),
  });
  return {
    config: tenantConfig,
    owner,
    topics,
    tenantId,
    topicPrefix,
    hub,
    fullSyncs,
    log,
    state: shared.store.tenant(tenantId),
    collections,
    absences: hasAbsences ? tenantAbsences(inputs, { now, schedules, collections }) : undefined,
    schedules,
    guard: config.deletions.holdAbove,
    confirmAfterMs: config.deletions.confirmAfterMs,
    scopesAhead: Math.floor(tenantConfig.hub.maxConcurrentRequests / 2),
    prepare: async () => {
      await shared.store.ready();
      await schemas.register();
      await prepareTopics(kafka, topics, usedResources(config, [tenantConfig]));
    },
    runtime: { now, random: Math.random, randomId: randomUUID, sleep, turn },
    emit,
    openReadOnlyLog: () => new ReadOnlyLog(place),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
}

/**
 * The longest interval between incremental syncs of `schedules`. It is short, because such a sync has nothing to do if
 * no absence has changed.
 */
const LESSONS_EVERY_MS = 5_000;

/** The minimum number of past days for which absences are known by student, even if `daysBack` of schedules is smaller. */
const ABSENT_DAYS_AT_LEAST = 31;

function tenantAbsences(
  { tenantConfig, compiled, registry }: TenantInputs,
  of: {
    now: () => number;
    schedules: Tenant['schedules'];
    collections: readonly TenantCollection[];
  },
): TenantAbsences | undefined {
  const { now, schedules, collections } = of;
  const reader = collections.find(({ name }) => name === 'absence-versions')?.reader;
  if (reader === undefined) return undefined;
  const { changes, encodeEvent } = compiled.codecs;
  const { drop, pseudonymise } = tenantConfig.collections['absence-versions'];
  const hidesStudent = [...drop, ...pseudonymise].includes('student');
  // One day more than configured, because a day in the tenant's time zone begins earlier or later than a day in UTC.
  const days = Math.max(ABSENT_DAYS_AT_LEAST, tenantConfig.schedules.daysBack) + 1;
  return {
    encodeEvent,
    encodeChange: (value) => changes.toBuffer(value),
    decode: (framed, topics) => registry.decode(framed, topics),
    reader,
    absentSinceMs: () => (hidesStudent ? null : now() - days * DAY_MS),
    forgetAfterMs: tenantConfig.absences.forgetAfterMs,
    onStudents: (students) => schedules?.changedScopes.note(students),
  };
}

/**
 * Returns an object that gets the rows of a collection one by one, and finds the settings of this collection to which
 * nothing at the hub corresponds.
 */
export function unmetSettingsOf(
  files: SchemaFiles,
  { collections, schedules }: TenantConfig,
  name: CollectionName,
): UnmetSettings {
  const ofLessons = Object.values(schedules.fields).map((path) => path.replace(/\..*/, ''));
  return new UnmetSettings(collections[name], name === 'schedules' ? ofLessons : typedFields(files, name));
}

/** The fields of the specification in the rows of a collection. */
function typedFields(files: SchemaFiles, name: CollectionName): readonly string[] {
  const fields = files.get(name)?.fields.map((field) => field.name) ?? [];
  return fields.filter((field) => field !== 'additionalFields' && !OWN_FIELDS.has(field));
}

function tenantCollection({ tenantConfig, compiled }: TenantInputs, name: CollectionName): TenantCollection {
  const settings = tenantConfig.collections[name];
  const unmet = unmetSettingsOf(compiled.files, tenantConfig, name);
  const reader = compiled.reader(name, settings);
  return {
    name,
    unmet,
    // Tenants share the reader. Which settings are unmet depends on the tenant's hub, so this is noted separately.
    reader: {
      ...reader,
      read(row) {
        unmet.noteRow(row);
        return reader.read(row);
      },
    },
    encodeReject: (value) => compiled.codecs.rejects.toBuffer(value),
    incrementalEveryMs:
      name === 'schedules'
        ? Math.min(LESSONS_EVERY_MS, settings.incrementalEveryMs)
        : settings.incrementalEveryMs,
    incrementalOverlapMs: tenantConfig.incrementalOverlapMs,
    fullSync: settings.fullSync,
    size: new TransactionSize(),
    parentIds: name === 'afterschool-users' ? tenantConfig.afterschools : undefined,
  };
}

function scheduleSettings(
  { config, tenantConfig, hub }: TenantInputs,
  unmet: UnmetSettings | undefined,
): Tenant['schedules'] {
  const settings = tenantConfig.collections.schedules;
  if (!settings.enabled) return undefined;
  const { fields, ...rest } = tenantConfig.schedules;
  const { timeZone } = settings.fullSync;
  const pseudonymiseKey = config.pseudonymise?.key.reveal();
  const reader = new DayReader({ ...settings, fields, timeZone, pseudonymiseKey });
  const readSchedule: ReadSchedule = async (request) => {
    const answer = await hub.readSchedule(request);
    for (const lesson of answer.lessons) unmet?.noteRow(lesson);
    return answer;
  };
  return { ...rest, timeZone, readSchedule, reader, changedScopes: new ChangedScopes() };
}

/** Creates missing topics. Refuses to go on if a right is missing, or if a topic differs from the contract. Never alters a topic. */
async function prepareTopics(
  kafka: KafkaConnections,
  topics: readonly WantedTopic[],
  used: UsedResources,
): Promise<void> {
  await requireRights(kafka, used);
  const findings = await inspectTopics(kafka, topics);
  const mismatch = topicMismatch(findings);
  if (mismatch !== null) throw mismatch;
  await createMissingTopics(kafka, findings);
}
