import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import type { Stack } from '../stack/start-stack.ts';
import { startHub, type HubProcess } from './hub-process.ts';
import { startRollcall } from './rollcall-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { openTokenGate, type TokenGate } from './token-gate.ts';

/** The cost of a process beside that of its rows. */
export interface IdleNumbers {
  /** CPU time of a process until its first request at the hub, seconds, with an index that is up to date. */
  readonly startCpuSeconds: Spread;
  readonly startSeconds: Spread;
  /** Share of one core in each minute in which nothing changes at the hub, %: one tenant, all collections, `deltaEvery: 60s`. */
  readonly idlePercent: Spread;
  /** Resident size at the end, MiB. */
  readonly idleMiB: number;
}

export interface IdleBench {
  readonly stack: Stack;
  readonly rounds: number;
  /** Minutes to measure an idle process. */
  readonly minutes: number;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

const MINUTE_MS = 60_000;

export async function measureIdle(bench: IdleBench): Promise<IdleNumbers> {
  const { stack, print, signal } = bench;
  await using hub = await startHub({ rows: 0, signal });
  await using gate = await openTokenGate(hub.tokenUrl);
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  const prefix = `bench-idle-${process.pid}-${Date.now()}`;
  try {
    const configFile = join(folder, 'rollcall.json');
    await writeFile(configFile, configText({ stack, hub, gate, prefix }));
    print('start: first load');
    {
      await using first = startRollcall(configFile);
      await first.loaded(signal);
    }
    return await measureStarts(bench, { configFile, gate });
  } finally {
    await deleteTopics(stack, prefix).catch((error: unknown) => print(String(error)));
    await rm(folder, { recursive: true });
  }
}

async function measureStarts(
  { rounds, minutes, print, signal }: IdleBench,
  { configFile, gate }: { configFile: string; gate: TokenGate },
): Promise<IdleNumbers> {
  const cpuSeconds: number[] = [];
  const seconds: number[] = [];
  // The first start compiles the modules.
  for (let round = 0; round <= rounds; round += 1) {
    signal.throwIfAborted();
    print(`start: round ${round} of ${rounds}`);
    const startedAtMs = performance.now();
    await using rollcall = startRollcall(configFile);
    const asked = await gate.next(() => rollcall.cpuSeconds());
    if (round > 0) {
      cpuSeconds.push(asked);
      seconds.push((performance.now() - startedAtMs) / 1_000);
    }
    if (round < rounds) continue;
    await delay(MINUTE_MS, undefined, { signal });
    const percents: number[] = [];
    for (let minute = 1; minute <= minutes; minute += 1) {
      print(`idle: minute ${minute} of ${minutes}`);
      const before = rollcall.cpuSeconds();
      await delay(MINUTE_MS, undefined, { signal });
      percents.push(((rollcall.cpuSeconds() - before) / (MINUTE_MS / 1_000)) * 100);
    }
    return {
      startCpuSeconds: spreadOf(cpuSeconds),
      startSeconds: spreadOf(seconds),
      idlePercent: spreadOf(percents),
      idleMiB: rollcall.residentMiB(),
    };
  }
  throw new Error('no round was made');
}

function configText(options: { stack: Stack; hub: HubProcess; gate: TokenGate; prefix: string }): string {
  const { stack, hub, gate, prefix } = options;
  const { baseUrl, clientId, clientSecret } = hub;
  return JSON.stringify({
    tenants: [{ id: 'idle', hub: { baseUrl, tokenUrl: gate.url, clientId, clientSecret } }],
    kafka: { brokers: stack.kafkaBrokers, topicPrefix: prefix, replicationFactor: 1 },
    registry: { url: stack.registryUrl },
    redis: { url: stack.redisUrl, keyPrefix: prefix },
    http: { port: 0 },
  });
}

async function deleteTopics(stack: Stack, prefix: string): Promise<void> {
  const admin = new Kafka({ brokers: [...stack.kafkaBrokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(`${prefix}.`));
  await admin.deleteTopics({ topics, timeout: 60_000 });
  await admin.disconnect();
}
