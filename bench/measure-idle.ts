import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { startHub } from './hub-process.ts';
import { deleteTopics, runConfig, startRollcall } from './rollcall-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { openTokenGate, type TokenGate } from './token-gate.ts';

/** The cost of a process beside that of its rows. */
export interface IdleNumbers {
  /** CPU time of a process until its first request at the hub, seconds, with an index that is up to date. */
  readonly startCpuSeconds: Spread;
  /** Share of one core in each minute in which nothing changes at the hub, %: one tenant, all collections, `incrementalEvery: 60s`. */
  readonly idlePercent: Spread;
}

const MINUTE_MS = 60_000;
const QUIET_MS = 5_000;
const POLL_MS = 100;

export async function measureIdle(bench: Bench): Promise<IdleNumbers> {
  const { stack, print, signal } = bench;
  await using hub = await startHub({ rows: 0, signal });
  await using gate = await openTokenGate(hub.tokenUrl);
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'));
  const prefix = `bench-idle-${process.pid}-${Date.now()}`;
  try {
    const configFile = join(folder, 'rollcall.json');
    const behindGate = { ...hub, tokenUrl: gate.url };
    await writeFile(configFile, runConfig({ stack, hubOf: () => behindGate, prefix, tenantIds: ['idle'] }));
    print('start: first load');
    await load(configFile, signal);
    return await measureStarts(bench, { configFile, gate });
  } finally {
    await deleteTopics(stack, prefix).catch((error: unknown) => print(String(error)));
    await rm(folder, { recursive: true });
  }
}

async function measureStarts(
  { rounds, print, signal }: Bench,
  { configFile, gate }: { configFile: string; gate: TokenGate },
): Promise<IdleNumbers> {
  const cpuSeconds: number[] = [];
  // The first start compiles the modules.
  for (let round = 0; round <= rounds; round += 1) {
    signal.throwIfAborted();
    print(`start: round ${round} of ${rounds}`);
    await using rollcall = startRollcall(configFile, () => undefined);
    const asked = await gate.next(() => rollcall.cpuSeconds());
    if (round > 0) cpuSeconds.push(asked);
    if (round < rounds) continue;
    await delay(MINUTE_MS, undefined, { signal });
    const percents: number[] = [];
    for (let minute = 1; minute <= rounds; minute += 1) {
      print(`idle: minute ${minute} of ${rounds}`);
      const before = rollcall.cpuSeconds();
      await delay(MINUTE_MS, undefined, { signal });
      percents.push(((rollcall.cpuSeconds() - before) / (MINUTE_MS / 1_000)) * 100);
    }
    return { startCpuSeconds: spreadOf(cpuSeconds), idlePercent: spreadOf(percents) };
  }
  throw new Error('no round was made');
}

/** Starts a process, and ends it when no change has been logged for some seconds. */
async function load(configFile: string, signal: AbortSignal): Promise<void> {
  let lastAtMs = Number.POSITIVE_INFINITY;
  await using rollcall = startRollcall(configFile, ({ msg }) => {
    if (msg === 'a sync ended') lastAtMs = performance.now();
  });
  // Syncs without a change, which come later, are not in the log.
  while (performance.now() - lastAtMs < QUIET_MS) {
    if (rollcall.hasEnded()) throw new Error('rollcall run ended too early');
    await delay(POLL_MS, undefined, { signal });
  }
}
