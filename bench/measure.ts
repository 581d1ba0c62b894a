import { join } from 'node:path';
import type { CollectionName } from '../src/model/collections.ts';
import type { Bench } from './bench.ts';
import { startChild, type Child } from './child-process.ts';
import { configText } from './config-text.ts';
import type { Part } from './cpu-profile.ts';
import type { FloorRound } from './floor-process.ts';
import type { SyncRequest, SyncRound, ProfileRequest } from './log-process.ts';
import { nextHubSecond, oneSync, perSecond, unchangedSync } from './syncs.ts';
import { spreadOf, type Spread } from './spread.ts';
import { SUBJECTS, type Subject } from './subjects.ts';

/** CPU in µs a row, all threads of the process. */
export interface CollectionNumbers {
  readonly collection: CollectionName;
  readonly rows: number;
  readonly bytesPerRow: number;
  readonly floor: {
    readonly parse: Spread;
    readonly parseLossless: Spread;
    readonly parseAndRead: Spread;
    readonly fetchAndParse: Spread;
  };
  readonly unchanged: Readonly<Record<IndexKind, SyncNumbers>>;
  readonly restamped: SyncNumbers;
  /** Syncs into empty topics; the first is that of a process that has just started. */
  readonly created: readonly { readonly cpuPerRow: number; readonly rowsPerSecond: number }[];
  /** Shares of the busy time of the main thread in an unchanged sync with the index in Redis. */
  readonly shares: Readonly<Record<Part, number>>;
  /** From 100 rows changed at the hub until their records are committed. */
  readonly deltaMs: Spread;
}

export interface SyncNumbers {
  readonly cpuPerRow: Spread;
  /** The main thread's part of it. */
  readonly mainCpuPerRow: Spread;
  /** Times `JSON.parse` of the same pages, measured just before. */
  readonly timesParse: Spread;
  /** Times a plain download with `JSON.parse`, measured just before. */
  readonly timesFetch: Spread;
  readonly rowsPerSecond: Spread;
}

export interface RowNumbers {
  readonly collections: readonly CollectionNumbers[];
  /** Largest resident size of the publisher so far, MiB. */
  readonly peakMemory: Readonly<Record<IndexKind, PeakMemory>>;
}

export interface PeakMemory {
  readonly beforeFirstSync: number;
  readonly afterFirstSyncs: number;
  readonly atTheEnd: number;
}

export type IndexKind = 'redis' | 'memory';
const KINDS: readonly IndexKind[] = ['redis', 'memory'];
/** The others serve only to measure first syncs again, in a process that has warmed up. */
const TENANTS = ['first', 'second', 'third'] as const;
const ROWS_CHANGED = 100;
/** Enough rounds to make the shares of small collections stable. */
const PROFILED_ROWS = 50_000;

interface Processes {
  readonly floor: Child;
  readonly publishers: Readonly<Record<IndexKind, Child>>;
}

export async function measureRows(bench: Bench, floor: Child): Promise<RowNumbers> {
  const { stack, hub, signal } = bench;
  await using redis = startChild(new URL('log-process.ts', import.meta.url), signal);
  await using memory = startChild(new URL('log-process.ts', import.meta.url), signal);
  const publishers = { redis, memory };
  const collections = SUBJECTS.map(({ collection }) => collection);
  for (const kind of KINDS) {
    const hasRedis = kind === 'redis';
    await publishers[kind].call(
      'open',
      configText({ stack, hub, name: kind, tenantIds: TENANTS, collections, hasRedis }),
    );
  }
  try {
    return await measureAll(bench, { floor, publishers });
  } finally {
    for (const kind of KINDS) {
      await publishers[kind]
        .call('cleanUp')
        .catch(() => bench.print(`the topics and keys of the ${kind} publisher could not be removed`));
    }
  }
}

async function measureAll(bench: Bench, processes: Processes): Promise<RowNumbers> {
  const { publishers } = processes;
  const [tenantId] = TENANTS;
  for (const kind of KINDS) await publishers[kind].call('own', tenantId);
  const beforeFirstSync = await peaks(processes);
  const created = new Map<CollectionName, SyncRound[]>(SUBJECTS.map(({ collection }) => [collection, []]));
  for (const { collection } of SUBJECTS) {
    bench.print(`${collection}: first sync`);
    for (const kind of KINDS) {
      const round = await oneSync(publishers[kind], { tenantId, collection, mode: 'FULL' });
      if (kind === 'redis') created.get(collection)?.push(round);
    }
  }
  const afterFirstSyncs = await peaks(processes);
  const unchanged = new Map<CollectionName, Awaited<ReturnType<typeof measureUnchanged>>>();
  for (const subject of SUBJECTS) {
    unchanged.set(subject.collection, await measureUnchanged(bench, processes, subject));
  }
  const atTheEnd = await peaks(processes);
  for (const tenant of TENANTS.slice(1)) {
    bench.print('first sync again, for another tenant');
    await publishers.redis.call('own', tenant);
    for (const { collection } of SUBJECTS) {
      const round = await oneSync(publishers.redis, { tenantId: tenant, collection, mode: 'FULL' });
      created.get(collection)?.push(round);
    }
  }
  return {
    collections: SUBJECTS.map(({ collection }) =>
      Object.assign({}, unchanged.get(collection) as Awaited<ReturnType<typeof measureUnchanged>>, {
        created: (created.get(collection) ?? []).map((round) => ({
          cpuPerRow: round.cpuMicros / round.rowsSeen,
          rowsPerSecond: perSecond(round),
        })),
      }),
    ),
    peakMemory: {
      redis: memoryOf('redis', { beforeFirstSync, afterFirstSyncs, atTheEnd }),
      memory: memoryOf('memory', { beforeFirstSync, afterFirstSyncs, atTheEnd }),
    },
  };
}

function memoryOf(
  kind: IndexKind,
  peaks: Readonly<Record<keyof PeakMemory, Record<IndexKind, number>>>,
): PeakMemory {
  const { beforeFirstSync, afterFirstSyncs, atTheEnd } = peaks;
  return {
    beforeFirstSync: beforeFirstSync[kind],
    afterFirstSyncs: afterFirstSyncs[kind],
    atTheEnd: atTheEnd[kind],
  };
}

async function peaks({ publishers }: Processes): Promise<Record<IndexKind, number>> {
  return { redis: await publishers.redis.call('memory'), memory: await publishers.memory.call('memory') };
}

/** Floor and syncs take turns, so that other load of the machine affects all of them. */
async function measureUnchanged(
  bench: Bench,
  processes: Processes,
  subject: Subject,
): Promise<Omit<CollectionNumbers, 'created'>> {
  const { collection } = subject;
  const { floor, publishers } = processes;
  const floors: FloorRound[] = [];
  const syncs = { redis: [] as SyncRound[], memory: [] as SyncRound[], restamped: [] as SyncRound[] };
  const request: SyncRequest = { tenantId: TENANTS[0], collection, mode: 'FULL' };
  // This round does not count, because V8 compiles hot code then.
  await floor.call('measure', collection);
  for (let round = 1; round <= bench.rounds; round += 1) {
    bench.print(`${collection}: round ${round} of ${bench.rounds}`);
    floors.push(await floor.call<FloorRound>('measure', collection));
    for (const kind of KINDS) syncs[kind].push(await unchangedSync(publishers[kind], request));
    await bench.hub.control('restamp', {});
    syncs.restamped.push(await unchangedSync(publishers.redis, request));
  }
  const { profileFolder } = bench;
  const saveAs = profileFolder === null ? null : join(profileFolder, `${collection}.cpuprofile`);
  const shares = await publishers.redis.call<Record<Part, number>>('profile', {
    ...request,
    fewestRows: PROFILED_ROWS,
    saveAs,
  } satisfies ProfileRequest);
  const deltaMs = await measureDelta(bench, publishers.redis, subject);
  const [first] = floors;
  if (first === undefined) throw new Error('no round was made');
  return {
    collection,
    rows: first.rows,
    bytesPerRow: first.bytes / first.rows,
    floor: {
      parse: spreadOf(floors.map(({ parse }) => parse)),
      parseLossless: spreadOf(floors.map(({ parseLossless }) => parseLossless)),
      parseAndRead: spreadOf(floors.map(({ parseAndRead }) => parseAndRead)),
      fetchAndParse: spreadOf(floors.map(({ fetchAndParse }) => fetchAndParse)),
    },
    unchanged: {
      redis: numbersOf(syncs.redis, floors),
      memory: numbersOf(syncs.memory, floors),
    },
    restamped: numbersOf(syncs.restamped, floors),
    shares,
    deltaMs,
  };
}

function numbersOf(syncs: readonly SyncRound[], floors: readonly FloorRound[]): SyncNumbers {
  const cpuPerRow = syncs.map(({ cpuMicros, rowsSeen }) => cpuMicros / rowsSeen);
  const times = (of: 'parse' | 'fetchAndParse'): Spread =>
    spreadOf(cpuPerRow.map((micros, round) => micros / (floors[round]?.[of] ?? Number.NaN)));
  return {
    cpuPerRow: spreadOf(cpuPerRow),
    mainCpuPerRow: spreadOf(syncs.map(({ mainCpuMicros, rowsSeen }) => mainCpuMicros / rowsSeen)),
    timesParse: times('parse'),
    timesFetch: times('fetchAndParse'),
    rowsPerSecond: spreadOf(syncs.map(perSecond)),
  };
}

/** Changes rows at the hub, then runs an incremental sync at once: the interval of polls is left out. */
async function measureDelta(bench: Bench, publisher: Child, subject: Subject): Promise<Spread> {
  const { hub, rounds, print } = bench;
  const { collection, hubName, change } = subject;
  const ids = (await hub.control<string[]>(`ids/${hubName}`)).slice(0, ROWS_CHANGED);
  const request: SyncRequest = { tenantId: TENANTS[0], collection, mode: 'INCREMENTAL' };
  await nextHubSecond();
  await oneSync(publisher, { ...request, mode: 'FULL' });
  print(`${collection}: ${ids.length} changed rows`);
  const latenciesMs: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    await nextHubSecond();
    await oneSync(publisher, request);
    const operations = ids.map((id) => ({ op: 'patch', collection: hubName, id, fields: change(round) }));
    await hub.control('mutate', { operations });
    const { rowsUpdated, committedMs } = await oneSync(publisher, request);
    if (rowsUpdated !== ids.length || committedMs === null) {
      throw new Error(`${rowsUpdated} of ${ids.length} changed rows of ${collection} were found`);
    }
    // V8 compiles in the first round.
    if (round > 0) latenciesMs.push(committedMs);
  }
  return spreadOf(latenciesMs);
}
