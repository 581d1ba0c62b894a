import { loadavg } from 'node:os';
import type { Bench } from './bench.ts';
import { COLLECTION, INCREMENTAL, FULL, startPublisher, TENANT } from './chain-publishers.ts';
import { startChild, type Child } from './child-process.ts';
import type { FloorRound, FloorHub } from './floor-process.ts';
import { startHub, type HubProcess } from './hub-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { nextHubSecond, oneSync, perSecond, recordsOf, unchangedSync } from './syncs.ts';
import type { AreaSize } from './tenant-in-redis.ts';

/** The cost of a collection of one size, with absences and their changes. */
export interface GrowthNumbers {
  readonly rows: number;
  /** The load of the last minute before it was measured. */
  readonly load: number;
  /** A plain download with `JSON.parse`, µs of CPU a row. */
  readonly fetchAndParse: Spread;
  /** Times that download: CPU of a first full sync by a new process. */
  readonly first: number;
  readonly firstRecords: number;
  readonly firstRowsPerSecond: number;
  /** Times that download. */
  readonly unchanged: Spread;
  readonly unchangedRowsPerSecond: Spread;
  /** Of an incremental sync that finds 100 changed rows: CPU ms, and ms until the commit. */
  readonly incrementalCpuMs: Spread;
  readonly incrementalCommittedMs: Spread;
  readonly peakMiB: {
    readonly afterFirst: number;
    readonly afterUnchanged: number;
    readonly atTheEnd: number;
  };
  /** Bytes of the index in Redis for each row. */
  readonly redisBytesPerRow: number;
}

const MOST_ROUNDS = 3;
const ROWS_CHANGED = 100;

/** Measures one size after another, each with a hub of its own. */
export async function measureGrowth(
  bench: Omit<Bench, 'hub'>,
  sizes: readonly number[],
): Promise<GrowthNumbers[]> {
  const found: GrowthNumbers[] = [];
  for (const size of sizes) {
    bench.print(`building a district with ${size} absence records`);
    await using hub = await startHub({ rows: size, isDense: true, signal: bench.signal });
    found.push(await measureSize({ ...bench, hub }));
  }
  return found;
}

async function measureSize(bench: Bench): Promise<GrowthNumbers> {
  const load = loadavg()[0] ?? Number.NaN;
  const rounds = Math.min(bench.rounds, MOST_ROUNDS);
  const { baseUrl, tokenUrl, clientId, clientSecret } = bench.hub;
  await using floor = startChild(new URL('floor-process.ts', import.meta.url), bench.signal);
  await floor.call('open', { baseUrl, tokenUrl, clientId, clientSecret } satisfies FloorHub);
  await using publisher = await startPublisher(bench, 'with');
  const { child } = publisher;
  await child.call('own', TENANT);
  await download(floor);
  bench.print('growth: first full sync');
  const beside = await download(floor);
  const first = await oneSync(child, FULL);
  const afterFirst = await child.call<number>('memory');
  const downloads = [beside];
  const unchanged: { times: number; rate: number }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    bench.print(`growth: unchanged full sync, ${round} of ${rounds}`);
    const floorRound = await download(floor);
    downloads.push(floorRound);
    const sync = await unchangedSync(child, FULL);
    unchanged.push({
      times: sync.cpuMicros / sync.rowsSeen / floorRound.fetchAndParse,
      rate: perSecond(sync),
    });
  }
  const afterUnchanged = await child.call<number>('memory');
  const incrementals = await measureIncrementals(bench, { child, floor, rounds });
  return {
    rows: beside.rows,
    load,
    fetchAndParse: spreadOf(downloads.map(({ fetchAndParse }) => fetchAndParse)),
    first: first.cpuMicros / first.rowsSeen / beside.fetchAndParse,
    firstRecords: recordsOf(first),
    firstRowsPerSecond: perSecond(first),
    unchanged: spreadOf(unchanged.map(({ times }) => times)),
    unchangedRowsPerSecond: spreadOf(unchanged.map(({ rate }) => rate)),
    ...incrementals,
    peakMiB: { afterFirst, afterUnchanged, atTheEnd: await child.call<number>('memory') },
    redisBytesPerRow: (await indexBytes(child)) / beside.rows,
  };
}

function download(floor: Child): Promise<FloorRound> {
  return floor.call<FloorRound>('measure', COLLECTION);
}

async function measureIncrementals(
  { hub, print }: { hub: HubProcess; print: Bench['print'] },
  { child, floor, rounds }: { child: Child; floor: Child; rounds: number },
): Promise<Pick<GrowthNumbers, 'incrementalCpuMs' | 'incrementalCommittedMs'>> {
  const ids = await floor.call<readonly string[]>('currentAbsences', ROWS_CHANGED);
  const cpuMs: number[] = [];
  const committedMs: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    print(`growth: ${ids.length} changed rows`);
    await nextHubSecond();
    await oneSync(child, INCREMENTAL);
    const fields = { absenceDurationValue: 1_000 + round };
    const calls = ids.map((id) => ({ do: 'patch', with: ['absences', id, fields] }));
    await hub.control('district', { calls });
    const sync = await oneSync(child, INCREMENTAL);
    if (sync.rowsUpdated !== ids.length || sync.committedMs === null)
      throw new Error(`${sync.rowsUpdated} of ${ids.length} changed rows were found`);
    // V8 compiles in the first round.
    if (round === 0) continue;
    cpuMs.push(sync.cpuMicros / 1_000);
    committedMs.push(sync.committedMs);
  }
  return { incrementalCpuMs: spreadOf(cpuMs), incrementalCommittedMs: spreadOf(committedMs) };
}

async function indexBytes(child: Child): Promise<number> {
  const areas = await child.call<Readonly<Record<string, AreaSize>>>('indexSize', TENANT);
  return Object.values(areas).reduce((sum, { bytes }) => sum + bytes, 0);
}
