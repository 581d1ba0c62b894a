import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Kafka, logLevel, type Admin } from 'kafkajs';
import type { Bench } from './bench.ts';
import { buildDlt, buildRedpandaConnect, type BuiltPeer } from './build-peers.ts';
import { COLLECTION, FULL, startPublisher, TENANT } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import type { FloorRound } from './floor-process.ts';
import {
  connectContender,
  dltContender,
  rollcallContender,
  type Contender,
  type PeerMirror,
  type PeerName,
} from './peer-contenders.ts';
import { spreadOf, type Spread } from './spread.ts';
import { oneSync, unchangedSync } from './syncs.ts';
import { timedRun } from './timed-process.ts';

/** Rollcall beside what one would pick instead: each a command that mirrors the same absences into the same Kafka. */
export interface PeerNumbers {
  readonly rows: number;
  /** A plain download with `JSON.parse` by a running process, CPU seconds. */
  readonly floorSeconds: Spread;
  readonly measured: Readonly<Partial<Record<PeerName, PeerCosts>>>;
  /** An unchanged pull of a Rollcall that runs, as it does between pulls, CPU seconds; one value a round. */
  readonly runningSeconds: readonly number[];
  /** Why a peer was left out. */
  readonly skipped: Readonly<Partial<Record<PeerName, string>>>;
}

export interface PeerCosts {
  readonly first: PullCosts;
  readonly unchanged: PullCosts;
}

/** Of a new process, from its start to its end. */
export interface PullCosts {
  /** One value a round, in the same order for all peers. */
  readonly cpuSeconds: readonly number[];
  readonly peakMiB: readonly number[];
  readonly rowsPerSecond: Spread;
  /** Entries that the log grew by, Rollcall's transaction markers and progress included. */
  readonly entries: number;
}

interface Pull {
  readonly cpuSeconds: number;
  readonly peakMiB: number;
  readonly wallMs: number;
  readonly entries: number;
}

type Pulls = Readonly<Record<keyof PeerCosts, Pull>>;

/** Each round starts every contender twice. */
const MOST_ROUNDS = 3;
const PARTITIONS = 3;

export async function measurePeers(bench: Bench, floor: Child): Promise<PeerNumbers> {
  const { contenders, skipped } = await contendersOf(bench);
  const kafka = new Kafka({ brokers: bench.stack.kafkaBrokers, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await using running = await startPublisher(bench, 'without');
  await running.child.call('own', TENANT);
  await oneSync(running.child, FULL);
  const runningSeconds: number[] = [];
  const floors: FloorRound[] = [];
  const pulls = new Map<PeerName, Pulls[]>(contenders.map(({ name }) => [name, []]));
  try {
    // Neither the first download of a process nor the first pages that the hub builds count.
    await floor.call<FloorRound>('measure', COLLECTION);
    await unchangedSync(running.child, FULL);
    for (let round = 0; round < Math.min(bench.rounds, MOST_ROUNDS); round += 1) {
      floors.push(await floor.call<FloorRound>('measure', COLLECTION));
      runningSeconds.push((await unchangedSync(running.child, FULL)).cpuMicros / 1e6);
      for (const contender of rotated(contenders, round)) {
        bench.print(`peers: ${contender.name}, round ${round + 1}`);
        pulls.get(contender.name)?.push(await bothPulls(bench, { contender, admin, floor: floors[0] }));
      }
    }
  } finally {
    await admin.disconnect();
  }
  const rows = floors[0]?.rows ?? 0;
  return {
    rows,
    floorSeconds: spreadOf(floors.map(({ fetchAndParse }) => (fetchAndParse * rows) / 1e6)),
    measured: Object.fromEntries(
      [...pulls].map(([name, all]) => [
        name,
        {
          first: costsOf(
            all.map(({ first }) => first),
            rows,
          ),
          unchanged: costsOf(
            all.map(({ unchanged }) => unchanged),
            rows,
          ),
        },
      ]),
    ),
    runningSeconds,
    skipped,
  };
}

async function contendersOf(bench: Bench): Promise<{
  contenders: readonly Contender[];
  skipped: Partial<Record<PeerName, string>>;
}> {
  const connect = await buildRedpandaConnect(bench);
  const dlt = await buildDlt(bench);
  const skipped: Partial<Record<PeerName, string>> = {};
  const note = (name: PeerName, built: BuiltPeer): void => {
    if ('reason' in built) skipped[name] = built.reason;
  };
  note('connect-safe', connect);
  note('connect-stock', connect);
  note('dlt', dlt);
  for (const [name, reason] of Object.entries(skipped)) bench.print(`${name} is left out: ${reason}`);
  return {
    contenders: [
      rollcallContender(bench, 'rollcall'),
      rollcallContender(bench, 'rollcall-changes'),
      ...('program' in connect
        ? [
            connectContender(bench, { name: 'connect-safe', ...connect }),
            connectContender(bench, { name: 'connect-stock', ...connect }),
          ]
        : []),
      ...('program' in dlt ? [dltContender(bench, dlt)] : []),
    ],
    skipped,
  };
}

function rotated<T>(all: readonly T[], by: number): readonly T[] {
  const start = by % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}

/** A first pull and an unchanged one, each by a process of its own, into topics of their own. */
async function bothPulls(
  bench: Bench,
  { contender, admin, floor }: { contender: Contender; admin: Admin; floor: FloorRound | undefined },
): Promise<Pulls> {
  const name = `bench-peers-${contender.name}-${process.pid}-${Date.now()}`;
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  const mirror = { name, folder };
  try {
    if (contender.schemaFile !== null) await prepareTopic(bench, { name, file: contender.schemaFile, admin });
    const first = await onePull(bench, { contender, mirror, admin });
    const unchanged = await onePull(bench, { contender, mirror, admin });
    const rows = floor?.rows ?? 0;
    if (first.entries < rows) throw new Error(`${contender.name} published ${first.entries} of ${rows} rows`);
    // The progress of a few transactions is all that Rollcall may write.
    if (unchanged.entries > rows / 10) throw new Error(`${contender.name} published unchanged rows`);
    return { first, unchanged };
  } finally {
    await rm(folder, { recursive: true });
    await removeAll(bench, { name, admin }).catch((error: unknown) => bench.print(String(error)));
  }
}

async function onePull(
  bench: Bench,
  { contender, mirror, admin }: { contender: Contender; mirror: PeerMirror; admin: Admin },
): Promise<Pull> {
  const { program, args, env } = await contender.command(mirror);
  const before = await entriesOf(admin, mirror.name);
  const { cpuSeconds, peakMiB, wallMs } = await timedRun(program, args, { env, signal: bench.signal });
  const entries = (await entriesOf(admin, mirror.name)) - before;
  return { cpuSeconds, peakMiB: peakMiB ?? Number.NaN, wallMs, entries };
}

function costsOf(pulls: readonly Pull[], rows: number): PullCosts {
  return {
    cpuSeconds: pulls.map(({ cpuSeconds }) => cpuSeconds),
    peakMiB: pulls.map(({ peakMiB }) => peakMiB),
    rowsPerSecond: spreadOf(pulls.map(({ wallMs }) => rows / (wallMs / 1_000))),
    entries: pulls[0]?.entries ?? 0,
  };
}

async function prepareTopic(
  { stack }: Bench,
  { name, file, admin }: { name: string; file: string; admin: Admin },
): Promise<void> {
  const topics = [{ topic: name, numPartitions: PARTITIONS, replicationFactor: stack.replicationFactor }];
  await admin.createTopics({ topics, waitForLeaders: true });
  const answer = await fetch(`${stack.registryUrl}/subjects/${name}-value/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: await readFile(file, 'utf8') }),
  });
  if (!answer.ok) throw new Error(`the registry answered ${answer.status} to the schema of ${name}`);
}

async function topicsOf(admin: Admin, name: string): Promise<string[]> {
  return (await admin.listTopics()).filter((topic) => topic === name || topic.startsWith(`${name}.`));
}

async function entriesOf(admin: Admin, name: string): Promise<number> {
  let entries = 0;
  for (const topic of await topicsOf(admin, name))
    for (const { high, low } of await admin.fetchTopicOffsets(topic)) entries += Number(high) - Number(low);
  return entries;
}

async function removeAll({ stack }: Bench, { name, admin }: { name: string; admin: Admin }): Promise<void> {
  const topics = await topicsOf(admin, name);
  if (topics.length > 0) await admin.deleteTopics({ topics });
  const redis = new Redis(stack.redisUrl);
  try {
    for await (const keys of redis.scanStream({ match: `*${name}*`, count: 1_000 }))
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]));
  } finally {
    redis.disconnect();
  }
}
