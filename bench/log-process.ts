import { subscribe } from 'node:diagnostics_channel';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../src/config.ts';
import { deleteTopic } from '../src/log/topic-settings.ts';
import { collectionNamed, type CollectionName } from '../src/model/collections.ts';
import type { SyncMode } from '../src/model/progress.ts';
import { assemble, type Assembly } from '../src/session/assemble.ts';
import { openSession, type TenantSession } from '../src/session/open-session.ts';
import { syncOnce } from '../test/integration/support/sync-once.ts';
import type { Tenant } from '../src/table/tenant.ts';
import { serveCommands } from './child-process.ts';
import { recordProfile, sharesOf, type Part } from './cpu-profile.ts';
import { HUB_STARTS_AT } from './hub-process.ts';
import { dropAll, dropTenant, indexSizes } from './tenant-in-redis.ts';

/** The cost of one sync of one collection. */
export interface SyncRound {
  readonly rowsSeen: number;
  readonly rowsUnchanged: number;
  readonly rowsCreated: number;
  readonly rowsUpdated: number;
  /** µs, user and system, of all threads of this process. */
  readonly cpuMicros: number;
  readonly wallMs: number;
  /** From the start of the sync to the commit of its last transaction with records; null when there was none. */
  readonly committedMs: number | null;
  /** Events published in `absence-changes`. */
  readonly changesPublished: number;
  /** Records published in `absences`. */
  readonly absencesShown: number;
}

/** A take-over. */
export interface OwnRound {
  readonly wallMs: number;
  /** How the index of `absence-versions` was brought up to date; null if that collection is not mirrored. */
  readonly how: 'current' | 'resumed' | 'rebuilt' | null;
}

export interface SyncRequest {
  readonly tenantId: string;
  readonly collection: CollectionName;
  readonly mode: SyncMode;
}

/** `sync` null: a take-over. */
export interface ProfileRequest {
  readonly sync: SyncRequest | null;
  readonly tenantId: string;
  readonly saveAs: string;
}

const processStartedAtMs = Date.now();
const stopping = new AbortController();
const sessions = new Map<string, TenantSession>();
let assembly: Assembly | null = null;
let committedAtMs: number | null = null;
/** When the hub answered the first request for rows of the current sync, ms since 1970. */
let answeredAtMs: number | null = null;
let requestedPath = '';
let how: OwnRound['how'] = null;

subscribe('undici:request:headers', (message) => {
  const { request } = message as { request: { path: string } };
  if (request.path.includes(requestedPath)) answeredAtMs ??= performance.timeOrigin + performance.now();
});

function assembled(): Assembly {
  if (assembly === null) throw new Error('not opened');
  return assembly;
}

async function open(configText: string): Promise<void> {
  const config = loadConfig({ path: 'the benchmark', env: {}, readFile: () => configText });
  assembly = assemble(config, (_tenant, event) => {
    if (event.type === 'committed' && event.records > 0) committedAtMs = performance.now();
    if (event.type === 'caught-up' && event.collection === 'absence-versions') how = event.how;
  });
}

async function own(tenantId: string): Promise<OwnRound> {
  how = null;
  const startedAtMs = performance.now();
  sessions.set(tenantId, await openSession(onHubDay(assembled().tenant(tenantId)), stopping.signal));
  return { wallMs: performance.now() - startedAtMs, how };
}

/** The index has the absences of the last weeks by student; this counts weeks by the hub's clock, not this machine's. */
function onHubDay(tenant: Tenant): Tenant {
  const { absences } = tenant;
  if (absences === undefined) return tenant;
  const aheadMs = Date.parse(HUB_STARTS_AT) - processStartedAtMs;
  return {
    ...tenant,
    absences: { ...absences, absentSinceMs: () => (absences.absentSinceMs() ?? Infinity) + aheadMs },
  };
}

/** Drops the index as if Redis was lost; afterwards the tenant must be taken over again. */
async function drop(tenantId: string): Promise<void> {
  await dropTenant(assembled().config, tenantId);
}

async function indexSize(tenantId: string): Promise<Awaited<ReturnType<typeof indexSizes>>> {
  return indexSizes(assembled().config, tenantId);
}

async function sync({ tenantId, collection, mode }: SyncRequest): Promise<SyncRound> {
  const session = sessions.get(tenantId);
  if (session === undefined) throw new Error(`${tenantId} is not owned`);
  committedAtMs = null;
  answeredAtMs = null;
  requestedPath = collectionNamed(collection).path;
  const startedAtMs = performance.now();
  const before = process.cpuUsage();
  const [outcome] = await syncOnce(session, { collections: [collection], mode, signal: stopping.signal });
  const { user, system } = process.cpuUsage(before);
  const wallMs = performance.now() - startedAtMs;
  if (outcome === undefined || outcome.error !== null) throw outcome?.error;
  const stats = outcome.result?.stats;
  if (stats === undefined || outcome.result?.kind !== 'complete' || stats.mode !== mode) {
    throw new Error(`a ${mode} sync of ${collection} ended as ${outcome.result?.kind} ${stats?.mode}`);
  }
  const { created, replaced, deleted, restored, shown } = stats.absences;
  return {
    rowsSeen: stats.rowsSeen,
    rowsUnchanged: stats.rowsUnchanged,
    rowsCreated: stats.rowsCreated,
    rowsUpdated: stats.rowsUpdated,
    cpuMicros: user + system,
    wallMs,
    committedMs: committedAtMs === null ? null : committedAtMs - startedAtMs,
    changesPublished: created + replaced + deleted + restored,
    absencesShown: shown,
  };
}

/** The profiler makes everything slower, so only the shares are useful. */
async function profile({ sync: request, tenantId, saveAs }: ProfileRequest): Promise<Record<Part, number>> {
  const recorded = await recordProfile(() => (request === null ? own(tenantId) : sync(request)));
  mkdirSync(join(saveAs, '..'), { recursive: true });
  writeFileSync(saveAs, JSON.stringify(recorded));
  return sharesOf(recorded);
}

async function answeredAt(): Promise<number> {
  if (answeredAtMs === null) throw new Error('no sync asked the hub for rows');
  return answeredAtMs;
}

/** The name of the topic with the rows of a collection. */
async function rowsTopic({ tenantId, collection }: SyncRequest): Promise<string> {
  const topic = assembled()
    .tenant(tenantId)
    .topics.find(({ suffix }) => suffix === collection);
  if (topic === undefined) throw new Error(`there is no topic of ${collection}`);
  return topic.name;
}

/** Largest resident size so far, MiB. */
async function memory(): Promise<number> {
  return process.resourceUsage().maxRSS / 1024;
}

/** Removes all topics and keys, since other programs may use the services. */
async function cleanUp(): Promise<void> {
  const all = assembled();
  const { config, kafka } = all;
  const topics = [...sessions.keys()].flatMap((id) => all.tenant(id).topics.map(({ name }) => name));
  for (const topic of topics) await deleteTopic(kafka, topic);
  await dropAll(config);
}

serveCommands({
  handlers: {
    open,
    own,
    drop,
    sync,
    answeredAt,
    rowsTopic,
    indexSize,
    profile,
    memory,
    cleanUp,
  },
  interrupt: () => stopping.abort(),
  atEnd: async () => {
    stopping.abort();
    await assembly?.[Symbol.asyncDispose]();
  },
});
