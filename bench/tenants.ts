import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { brokerCount } from '../stack/broker-count.ts';
import { startStack } from '../stack/start-stack.ts';
import { startHub } from './hub-process.ts';
import { deleteTopics, runConfig, startRollcall } from './rollcall-process.ts';
import { sickHubs, sicknessOf } from './sick-hubs.ts';

const HELP = `npm run bench:tenants -- [--tenants 100] [--collections all|<name,…>] [--idle <seconds>] [--every <duration>] [--sick] [--brokers 3|1]

Measures one process with many tenants, on a real Kafka, schema registry and Redis. Each tenant has the same small district.
The benchmark starts \`rollcall run\` twice: first with empty services, and then again. For each start it prints when the
tenants are served, which errors occur meanwhile, how many sockets the process has at most to each service, and how much
memory it takes at most. docs/scale.md explains the numbers.

  --tenants <n>        the number of tenants
  --collections <…>    the collections of each tenant: all, or names separated by commas
  --idle <seconds>     after each start, also measure for this time the CPU time of the idle process. At the end, print the
                       age of the oldest watermark of a tenant whose hub works, and what an answer of \`/metrics\` costs
  --every <duration>   incrementalEvery of the tenants; the default is 60s. Use more if the brokers share a small machine
  --sick               let the hubs of some tenants fail. Of twenty tenants, the hubs of two do not answer, the hub of one
                       answers with errors, and one has a wrong secret
  --brokers <n>        how many brokers Kafka has: 3, or 1
`;

const STUDENTS = 8;
const SAMPLE_EVERY_MS = 100;
/** The time in which sockets that only a start needs are closed. */
const QUIET_AFTER_MS = 20_000;
const LONGEST_MS = 900_000;

type Sockets = Readonly<Record<string, number>>;

interface StartNumbers {
  /** Seconds from the start of the process until the first, the median and the last tenant were served. */
  readonly served: readonly number[];
  /** The same for the first complete sync of a tenant. */
  readonly synced: readonly number[];
  /** Lines at level warn or above, by code of the error. */
  readonly trouble: Readonly<Record<string, number>>;
  readonly mostSockets: Sockets;
  readonly socketsAtEnd: Sockets;
  readonly mostMemoryMiB: number;
  readonly cpuSeconds: number;
  readonly idle?: IdleNumbers;
}

interface IdleNumbers {
  /** Share of one core, %. */
  readonly cpuPercent: number;
  readonly memoryMiB: number;
  readonly oldestWatermarkSeconds: number;
  readonly metricsBytes: number;
  readonly metricsMs: number;
}

const print = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

async function measureStart(options: {
  configFile: string;
  tenants: number;
  /** By port. */
  services: ReadonlyMap<number, string>;
  idleSeconds: number;
  isSick: (tenant: string) => boolean;
  signal: AbortSignal;
}): Promise<StartNumbers> {
  const { configFile, tenants, services, idleSeconds, isSick, signal } = options;
  const startedAtMs = performance.now();
  const served = new Map<string, number>();
  const synced = new Map<string, number>();
  const trouble: Record<string, number> = {};
  let statusPort = 0;
  await using rollcall = startRollcall(configFile, ({ level = '', tenant = '', msg = '', error, port }) => {
    const seconds = (performance.now() - startedAtMs) / 1_000;
    statusPort ||= port ?? 0;
    if (msg === 'mirroring' && !served.has(tenant)) served.set(tenant, seconds);
    if (msg === 'a sync ended' && !synced.has(tenant) && !isSick(tenant)) synced.set(tenant, seconds);
    if (!['warn', 'error', 'fatal'].includes(level)) return;
    const code = error?.code ?? msg;
    trouble[code] = (trouble[code] ?? 0) + 1;
  });
  const mostSockets: Record<string, number> = {};
  let mostMemoryMiB = 0;
  const sockets = (): Sockets => {
    const named = [...rollcall.sockets()].map(
      ([port, count]) => [services.get(port) ?? 'others', count] as const,
    );
    const totals: Record<string, number> = {};
    for (const [name, count] of named) totals[name] = (totals[name] ?? 0) + count;
    return totals;
  };
  const sample = (): void => {
    for (const [name, count] of Object.entries(sockets()))
      mostSockets[name] = Math.max(mostSockets[name] ?? 0, count);
    mostMemoryMiB = Math.max(mostMemoryMiB, Math.round(rollcall.residentMiB()));
  };
  while (!rollcall.hasEnded() && performance.now() - startedAtMs < LONGEST_MS && served.size < tenants) {
    sample();
    await delay(SAMPLE_EVERY_MS, undefined, { signal });
  }
  const cpuSeconds = rollcall.cpuSeconds();
  await delay(QUIET_AFTER_MS, undefined, { signal });
  sample();
  const idle = idleSeconds > 0 ? await measureIdle() : undefined;
  return {
    served: spread(served),
    synced: spread(synced),
    trouble,
    mostSockets,
    socketsAtEnd: sockets(),
    mostMemoryMiB,
    cpuSeconds,
    ...(idle ? { idle } : {}),
  };

  async function measureIdle(): Promise<IdleNumbers> {
    const before = rollcall.cpuSeconds();
    await delay(idleSeconds * 1_000, undefined, { signal });
    const cpuPercent = Math.round(((rollcall.cpuSeconds() - before) / idleSeconds) * 1_000) / 10;
    const askedAtMs = performance.now();
    const text = await (await fetch(`http://127.0.0.1:${statusPort}/metrics`)).text();
    const metricsMs = Math.round(performance.now() - askedAtMs);
    const ages = [...text.matchAll(/^rollcall_watermark_timestamp_seconds\{tenant="([^"]+)".*\} (\S+)$/gm)]
      .filter(([, tenant = '']) => !isSick(tenant))
      .map(([, , at]) => Date.now() / 1_000 - Number(at));
    return {
      cpuPercent,
      memoryMiB: Math.round(rollcall.residentMiB()),
      oldestWatermarkSeconds: Math.round(Math.max(...ages)),
      metricsBytes: text.length,
      metricsMs,
    };
  }
}

function spread(times: ReadonlyMap<string, number>): number[] {
  const sorted = [...times.values()].toSorted((a, b) => a - b);
  return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1), sorted.length].map((each) =>
    Number((each ?? Number.NaN).toFixed(1)),
  );
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tenants: { type: 'string', default: '100' },
      collections: { type: 'string', default: 'all' },
      idle: { type: 'string', default: '0' },
      every: { type: 'string', default: '60s' },
      brokers: { type: 'string', default: '3' },
      sick: { type: 'boolean', default: false },
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
  await using stack = await startStack({
    print,
    brokers: brokerCount(values.brokers),
    isLongRun: true,
    signal,
  });
  await using hub = await startHub({ rows: 0, students: STUDENTS, signal });
  await using sick = await sickHubs();
  const services = new Map([
    ...stack.kafkaBrokers.map((broker) => [Number(broker.split(':').at(-1)), 'kafka'] as const),
    [portOf(stack.registryUrl), 'registry'],
    [portOf(stack.redisUrl), 'redis'],
    [portOf(hub.baseUrl), 'hub'],
    [portOf(sick.url), 'sick hubs'],
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  const prefix = `bench-tenants-${process.pid}-${Date.now()}`;
  try {
    const configFile = join(folder, 'rollcall.json');
    const tenantIds = Array.from({ length: tenants }, (_, at) => `t${String(at).padStart(3, '0')}`);
    const isSick = (id: string) => values.sick && sicknessOf(id) !== null;
    const hubOf = (id: string) => (isSick(id) ? sick.hubOf(id, hub) : hub);
    const idleSeconds = Number(values.idle);
    const incrementalEvery = values.every;
    await writeFile(
      configFile,
      runConfig({ stack, hubOf, prefix, tenantIds, collections, partitions: 1, incrementalEvery }),
    );
    const measured = { configFile, tenants, services, idleSeconds, isSick, signal };
    for (const name of ['first start', 'restart']) {
      signal.throwIfAborted();
      print(name);
      process.stdout.write(`${name}: ${JSON.stringify(await measureStart(measured))}\n`);
    }
  } finally {
    await deleteTopics(stack, prefix).catch((error: unknown) => print(String(error)));
    await rm(folder, { recursive: true });
  }
}

await main();
