import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Kafka, logLevel } from 'kafkajs';
import { startStack, type Stack } from '../stack/start-stack.ts';
import { startHub, type HubProcess } from './hub-process.ts';

const HELP = `npm run bench:tenants -- [--tenants 100] [--collections all|<name,…>]

Starts \`rollcall run\` twice with that many tenants of one small district, on real Kafka, schema registry and Redis: first
with empty services, then again. Prints when the tenants are served, which errors occur meanwhile, and the maximum
number of sockets and size of memory of the process. docs/performance.md explains the numbers.
`;

const STUDENTS = 8;
const SAMPLE_EVERY_MS = 100;
/** The time in which sockets that only a start needs are closed. */
const QUIET_AFTER_MS = 20_000;
const LONGEST_MS = 900_000;
const PROJECT = join(import.meta.dirname, '..');

interface LogLine {
  readonly level?: number | string;
  readonly msg?: string;
  readonly tenant?: string;
  readonly error?: { readonly code?: string };
}

interface StartNumbers {
  /** Seconds from the start of the process until the first, the median and the last tenant were served. */
  readonly served: readonly number[];
  /** The same for the first complete sync of a tenant. */
  readonly synced: readonly number[];
  /** Lines at level warn or above, by code of the error. */
  readonly trouble: Readonly<Record<string, number>>;
  readonly mostSockets: number;
  readonly socketsAtEnd: number;
  readonly mostMemoryMiB: number;
  readonly cpuSeconds: number;
}

const print = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

function configText(options: {
  stack: Stack;
  hub: HubProcess;
  prefix: string;
  tenants: number;
  collections: string | readonly string[];
}): string {
  const { stack, hub, prefix, tenants, collections } = options;
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  return JSON.stringify({
    tenants: Array.from({ length: tenants }, (_, index) => ({
      id: `t${String(index).padStart(3, '0')}`,
      hub: { baseUrl, tokenUrl, clientId, clientSecret },
      collections,
    })),
    kafka: { brokers: stack.kafkaBrokers, topicPrefix: prefix, replicationFactor: 1, partitions: 1 },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: prefix },
    http: { port: 0 },
  });
}

async function measureStart(options: {
  configFile: string;
  tenants: number;
  signal: AbortSignal;
}): Promise<StartNumbers> {
  const { configFile, tenants, signal } = options;
  const startedAtMs = performance.now();
  const child = spawn(
    process.execPath,
    [join(PROJECT, 'bin', 'rollcall.mjs'), 'run', '--config', configFile],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exited = once(child, 'exit');
  const served = new Map<string, number>();
  const synced = new Map<string, number>();
  const trouble: Record<string, number> = {};
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as LogLine;
    const seconds = (performance.now() - startedAtMs) / 1_000;
    const { tenant = '', msg = '', error } = line;
    if (msg === 'mirroring' && !served.has(tenant)) served.set(tenant, seconds);
    if (msg === 'a sync ended' && !synced.has(tenant)) synced.set(tenant, seconds);
    if (!isTrouble(line)) return;
    const code = error?.code ?? msg;
    trouble[code] = (trouble[code] ?? 0) + 1;
  });
  let most = { sockets: 0, memoryMiB: 0 };
  let last = most;
  while (!signal.aborted && child.exitCode === null && performance.now() - startedAtMs < LONGEST_MS) {
    last = await sample(child.pid ?? 0).catch(() => last);
    most = {
      sockets: Math.max(most.sockets, last.sockets),
      memoryMiB: Math.max(most.memoryMiB, last.memoryMiB),
    };
    if (served.size === tenants) break;
    await delay(SAMPLE_EVERY_MS);
  }
  const cpuSeconds = await cpuOf(child.pid ?? 0).catch(() => 0);
  await delay(QUIET_AFTER_MS, undefined, { signal }).catch(() => undefined);
  last = await sample(child.pid ?? 0).catch(() => last);
  child.kill('SIGTERM');
  await exited;
  return {
    served: spread(served),
    synced: spread(synced),
    trouble,
    mostSockets: most.sockets,
    socketsAtEnd: last.sockets,
    mostMemoryMiB: Math.max(most.memoryMiB, last.memoryMiB),
    cpuSeconds,
  };
}

function isTrouble({ level }: LogLine): boolean {
  return (
    level === 'warn' || level === 'error' || level === 'fatal' || (typeof level === 'number' && level >= 40)
  );
}

function spread(times: ReadonlyMap<string, number>): number[] {
  const sorted = [...times.values()].toSorted((a, b) => a - b);
  return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1), sorted.length].map((each) =>
    Number((each ?? Number.NaN).toFixed(1)),
  );
}

async function sample(pid: number): Promise<{ sockets: number; memoryMiB: number }> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all(
    (await readdir(folder)).map((name) => readlink(join(folder, name)).catch(() => '')),
  );
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
  return {
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    memoryMiB: Math.round(rss / 1_024),
  };
}

async function cpuOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function deleteTopics(stack: Stack, prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...stack.kafkaBrokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(`${prefix}.`));
  for (let at = 0; at < topics.length; at += 100)
    await admin.deleteTopics({ topics: topics.slice(at, at + 100), timeout: 60_000 });
  await admin.disconnect();
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tenants: { type: 'string', default: '100' },
      collections: { type: 'string', default: 'all' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const tenants = Number(values.tenants);
  const collections = values.collections === 'all' ? 'all' : values.collections.split(',');
  const interrupt = new AbortController();
  const { signal } = interrupt;
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort());
  await using stack = await startStack({ print, signal });
  await using hub = await startHub({ rows: 0, students: STUDENTS, signal });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  const prefix = `bench-tenants-${process.pid}-${Date.now()}`;
  try {
    const configFile = join(folder, 'rollcall.json');
    await writeFile(configFile, configText({ stack, hub, prefix, tenants, collections }));
    for (const name of ['first start', 'restart']) {
      signal.throwIfAborted();
      print(name);
      process.stdout.write(
        `${name}: ${JSON.stringify(await measureStart({ configFile, tenants, signal }))}\n`,
      );
    }
  } finally {
    await deleteTopics(stack, prefix).catch((error: unknown) => print(String(error)));
    await rm(folder, { recursive: true });
  }
}

await main();
