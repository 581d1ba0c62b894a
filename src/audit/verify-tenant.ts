import { enabledCollections } from '../config.ts';
import { changeHash } from '../core/absence-change.ts';
import { classStudentsHash, type ClassStudents } from '../core/class-students.ts';
import type { DaySchedule } from '../core/lessons/read-days.ts';
import { RollcallError, isFromHub } from '../errors.ts';
import {
  isChainCollection,
  sourceOf,
  type CollectionName,
  STATE_TOPIC,
  type TopicSuffix,
} from '../model/collections.ts';
import type { ReadOnlyLog } from '../log/read-only-log.ts';
import type { TenantState } from '../state/index-store.ts';
import type { AssembledTenant, Assembly } from '../session/assemble.ts';
import type { TenantParts } from '../session/tenant-parts.ts';
import { RecordCheck } from './record-check.ts';
import { verifyChains, VersionsOfHub } from './verify-chains.ts';
import { verifyRows } from './verify-rows.ts';
import { verifySchedules } from './verify-schedules.ts';
import { RejectsView, type CollectionReport, type VerifyTools } from './verify-tools.ts';

export interface VerifyTenantOptions {
  readonly tenantId: string;
  /** Empty: all mirrored collections. */
  readonly collections: readonly CollectionName[];
  readonly onProgress: VerifyTools['onProgress'];
  readonly onReport?: ((report: CollectionReport) => void) | undefined;
  readonly signal: AbortSignal;
}

export interface TenantVerification {
  readonly collections: readonly CollectionReport[];
  /** Why the index was not compared; null when it was, or when there is no Redis. */
  readonly indexTrouble: string | null;
}

/**
 * Compares a tenant's topics with the hub, collection by collection. It owns nothing and writes nothing, neither to
 * Kafka nor to Redis. Throws `KAFKA_…`, `REGISTRY_…`; a failure of the hub goes to the report of its collection.
 */
export async function verifyTenant(
  assembly: Assembly,
  options: VerifyTenantOptions,
): Promise<TenantVerification> {
  const { signal } = options;
  const tenant = assembly.tenant(options.tenantId);
  await assembly.registry.ping();
  const { state, trouble } = await reachIndex(assembly, tenant);
  const log = tenant.openReadOnlyLog();
  try {
    const tools = toolsOf(assembly, { tenant, log, state, options });
    const wanted = wantedCollections(tenant, options.collections);
    const reports: CollectionReport[] = [];
    for (const collection of tenant.parts.collections) {
      const own = wanted.filter((name) => sourceOf(name) === collection.name);
      if (own.length === 0) continue;
      signal.throwIfAborted();
      for (const report of await verifySource(tools, { tenant, name: collection.name, own, signal })) {
        reports.push(report);
        options.onReport?.(report);
      }
    }
    return { collections: reports, indexTrouble: trouble };
  } finally {
    await log.close();
  }
}

function wantedCollections(
  { config }: AssembledTenant,
  asked: readonly CollectionName[],
): readonly CollectionName[] {
  const enabled = enabledCollections(config).map(({ name }) => name);
  return asked.length === 0 ? enabled : enabled.filter((name) => asked.includes(name));
}

/** Verifies a source collection and those of its derived collections that are wanted. */
async function verifySource(
  tools: VerifyTools,
  options: {
    tenant: AssembledTenant;
    name: CollectionName;
    own: readonly CollectionName[];
    signal: AbortSignal;
  },
): Promise<readonly CollectionReport[]> {
  const { tenant, name, own, signal } = options;
  const { parts } = tenant;
  const collection = parts.collections.find((each) => each.name === name);
  if (collection === undefined) return [];
  try {
    if (name === 'schedules') {
      const { schedules: settings } = parts;
      return settings === undefined ? [] : [await verifySchedules(tools, { collection, settings, signal })];
    }
    const chains = own.some(isChainCollection) ? parts.chains : undefined;
    const hub = chains === undefined ? null : new VersionsOfHub();
    const rows = await verifyRows(tools, collection, { onRow: hub?.take, signal });
    if (chains === undefined || hub === null || rows.outcome !== 'compared') return [rows];
    const { forgetAfterMs } = chains;
    const withheld = new Set(
      rows.differences.flatMap(({ key, state }) => (state === 'withheld' ? [key] : [])),
    );
    const derived = await verifyChains(tools, { collection, hub, forgetAfterMs, withheld, signal });
    return [rows, ...derived].filter((report) => own.includes(report.collection));
  } catch (error) {
    if (!isFromHub(error)) throw error;
    return own.map((each) => notCompared(each, error));
  }
}

function notCompared(collection: CollectionName, error: RollcallError): CollectionReport {
  return {
    collection,
    outcome: error.code === 'HUB_NOT_OFFERED' ? 'not-offered' : 'failed',
    why: error.message,
    remedy: error.remedy,
    foreseen: null,
    hubRows: 0,
    topicKeys: 0,
    equal: 0,
    settled: 0,
    indexSkipped: 0,
    differences: [],
  };
}

async function reachIndex(
  assembly: Assembly,
  { parts }: AssembledTenant,
): Promise<{ state: TenantState | null; trouble: string | null }> {
  if (assembly.config.redis === undefined) return { state: null, trouble: null };
  const [first] = parts.collections;
  try {
    if (first !== undefined) await parts.state.collection(first.name).position();
    return { state: parts.state, trouble: null };
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    return { state: null, trouble: error.message };
  }
}

function toolsOf(
  assembly: Assembly,
  inputs: {
    tenant: AssembledTenant;
    log: ReadOnlyLog;
    state: TenantState | null;
    options: VerifyTenantOptions;
  },
): VerifyTools {
  const { tenant, log, state, options } = inputs;
  const { tenantId, onProgress } = options;
  const check = new RecordCheck({
    tenantId,
    decode: (framed) => assembly.registry.decode(framed),
    hashOf: hashes(tenant.parts),
  });
  const readerParts = { log, topicPrefix: assembly.config.kafka.topicPrefix, tenantId };
  return {
    ...readerParts,
    state,
    parts: tenant.parts,
    check,
    rejects: new RejectsView(readerParts, check),
    onProgress,
  };
}

/** The hash that a record must have; null for a reject, whose hash covers the original row, which the record lacks. */
function hashes(parts: TenantParts): (topic: TopicSuffix, value: object, body: Buffer) => Buffer | null {
  const readers = new Map(parts.collections.map(({ name, reader }) => [name, reader]));
  return (topic, value, body) => {
    switch (topic) {
      case 'rejects':
      case 'progress':
      case STATE_TOPIC:
        return null;
      case 'absence-changes':
        return changeHash(body);
      case 'class-students':
        return classStudentsHash(value as ClassStudents);
      case 'schedules':
        return parts.schedules?.reader.hashOf(value as DaySchedule) ?? null;
      default:
        return readers.get(sourceOf(topic))?.hashOf?.(value) ?? null;
    }
  };
}
