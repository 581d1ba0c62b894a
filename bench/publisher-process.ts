import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { loadConfig } from '../src/config.ts';
import type { CollectionName } from '../src/model/collections.ts';
import type { PassMode } from '../src/model/progress.ts';
import { assemble, type Assembly } from '../src/pipeline/assemble.ts';
import { openSession, passOnce, type TenantSession } from '../src/pipeline/tenant.ts';
import { serveCommands } from './child-process.ts';
import { recordProfile, sharesOf, type Part } from './cpu-profile.ts';

/** What one pass of one collection took. */
export interface PassRound {
  readonly rowsSeen: number;
  readonly rowsUnchanged: number;
  readonly rowsCreated: number;
  readonly rowsUpdated: number;
  /** µs, user and system, of all threads of this process. */
  readonly cpuMicros: number;
  /** Of that, the main thread's; the rest is garbage collection and compiling beside it, and unpacking. */
  readonly mainCpuMicros: number;
  readonly wallMs: number;
  /** From the pass's start until its last transaction with records was committed; null when there was none. */
  readonly committedMs: number | null;
}

export interface PassRequest {
  readonly tenantId: string;
  readonly collection: CollectionName;
  readonly mode: PassMode;
}

export type ProfileRequest = PassRequest & { readonly saveAs: string | null };

const stopping = new AbortController();
const sessions = new Map<string, TenantSession>();
let assembly: Assembly | null = null;
let committedAtMs: number | null = null;

function assembled(): Assembly {
  if (assembly === null) throw new Error('not opened');
  return assembly;
}

async function open(configText: string): Promise<void> {
  const config = loadConfig({ path: 'the benchmark', env: {}, readFile: () => configText });
  assembly = assemble(config, {
    logger: pino({ level: 'silent' }),
    emit: (_tenant, event) => {
      if (event.type === 'committed' && event.records > 0) committedAtMs = performance.now();
    },
  });
}

async function own(tenantId: string): Promise<void> {
  sessions.set(tenantId, await openSession(assembled().tenant(tenantId).parts, stopping.signal));
}

async function pass({ tenantId, collection, mode }: PassRequest): Promise<PassRound> {
  const session = sessions.get(tenantId);
  if (session === undefined) throw new Error(`${tenantId} is not owned`);
  committedAtMs = null;
  const startedAtMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const mainBefore = process.threadCpuUsage();
  const [outcome] = await passOnce(session, { collections: [collection], mode, signal: stopping.signal });
  const cpu = process.cpuUsage(cpuBefore);
  const main = process.threadCpuUsage(mainBefore);
  const wallMs = performance.now() - startedAtMs;
  if (outcome === undefined || outcome.error !== null) throw outcome?.error;
  const stats = outcome.result?.stats;
  if (stats === undefined || outcome.result?.kind !== 'complete' || stats.mode !== mode) {
    throw new Error(`a ${mode} pass of ${collection} ended as ${outcome.result?.kind} ${stats?.mode}`);
  }
  return {
    rowsSeen: stats.rowsSeen,
    rowsUnchanged: stats.rowsUnchanged,
    rowsCreated: stats.rowsCreated,
    rowsUpdated: stats.rowsUpdated,
    cpuMicros: cpu.user + cpu.system,
    mainCpuMicros: main.user + main.system,
    wallMs,
    committedMs: committedAtMs === null ? null : committedAtMs - startedAtMs,
  };
}

/** Enough for the shares of small collections to hold still. */
const PROFILED_ROWS = 50_000;

/** Passes with the profiler on, which makes them slower: only the shares are of use. */
async function profile(request: ProfileRequest): Promise<Record<Part, number>> {
  const recorded = await recordProfile(async () => {
    for (let rows = 0; rows < PROFILED_ROWS;) rows += (await pass(request)).rowsSeen;
  });
  if (request.saveAs !== null) {
    mkdirSync(join(request.saveAs, '..'), { recursive: true });
    writeFileSync(request.saveAs, JSON.stringify(recorded));
  }
  return sharesOf(recorded);
}

/** Largest resident size so far, MiB. */
async function memory(): Promise<number> {
  return process.resourceUsage().maxRSS / 1024;
}

/** Services that were given are left as they were found. */
async function cleanUp(): Promise<void> {
  const all = assembled();
  const { config, kafka } = all;
  const admin = kafka.admin();
  await admin.connect();
  const topics = [...sessions.keys()].flatMap((id) => all.tenant(id).topics.map(({ name }) => name));
  await admin.deleteTopics({ topics });
  await admin.disconnect();
  if (config.redis === undefined) return;
  const redis = new Redis(config.redis.url, { lazyConnect: true });
  await redis.connect();
  for await (const keys of redis.scanStream({ match: `{${config.redis.keyPrefix}:*`, count: 1_000 })) {
    if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
  }
  redis.disconnect();
}

serveCommands({
  handlers: { open, own, pass, profile, memory, cleanUp },
  interrupt: () => stopping.abort(),
  atEnd: async () => {
    stopping.abort();
    await assembly?.[Symbol.asyncDispose]();
  },
});
