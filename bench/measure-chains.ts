import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { COLLECTION, FULL, startPublisher, TENANT, type Publishers } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import type { Part } from './cpu-profile.ts';
import type { FetchRound } from './floor-process.ts';
import { measureReplaced, type ReplacedNumbers } from './measure-replaced.ts';
import { inTurn, pairedOf, type Kind, type Paired } from './paired.ts';
import { oneSync, perSecond, recordsOf, unchangedSync } from './syncs.ts';
import type { OwnRound, SyncRound, ProfileOwnRequest, ProfileRequest } from './log-process.ts';
import type { AreaSize } from './tenant-in-redis.ts';

/** The cost of publishing `absences` and `absence-changes` besides `absence-versions`. CPU in µs, of all threads. */
export interface ChainNumbers {
  readonly rows: number;
  readonly unchanged: { readonly cpuPerRow: Paired; readonly mainCpuPerRow: Paired };
  /** First full syncs, each by a process that has just started. */
  readonly created: {
    readonly cpuPerRow: Paired;
    readonly mainCpuPerRow: Paired;
    readonly rowsPerSecond: Paired;
    /** Records of all topics except `progress`. */
    readonly cpuPerRecord: Paired;
    /** Times a plain download with `JSON.parse`, measured in the same round. */
    readonly timesFetch: Paired;
    readonly records: Readonly<Record<Kind, number>>;
    readonly changesPublished: number;
    readonly absencesShown: number;
    /** Largest resident size of the process, MiB. */
    readonly peakMemory: Paired;
    /** Shares of the busy time of the main thread with chains. */
    readonly shares: Readonly<Record<Part, number>>;
  };
  /** Absences replaced at the hub and found by an incremental sync, fewest first. */
  readonly replaced: readonly ReplacedNumbers[];
  readonly rebuilt: {
    readonly cpuPerRow: Paired;
    readonly mainCpuPerRow: Paired;
    readonly seconds: Paired;
    readonly rowsPerSecond: Paired;
    /** A take-over with an existing index; a part of the other values. */
    readonly ownedSeconds: Paired;
    readonly shares: Readonly<Record<Part, number>>;
  };
  /** The index of `absence-versions` in Redis after the first sync, by area, with chains. */
  readonly index: Readonly<Record<string, AreaSize>>;
  /** Sizes of the processes that ran all measurements after a first sync, MiB. */
  readonly peakMemoryAtTheEnd: Readonly<Record<Kind, number>>;
}

/** Single syncs differ too much, because of garbage collection: a round adds up this many. */
const TURNS_A_ROUND = 4;
const MOST_FIRST_SYNCS = 3;

export async function measureChains(bench: Bench, floor: Child): Promise<ChainNumbers> {
  const most = Math.min(bench.rounds, MOST_FIRST_SYNCS);
  const shares = await profileChains(bench);
  await using withChains = await startPublisher(bench, 'with');
  await using without = await startPublisher(bench, 'without');
  const publishers: Publishers = { with: withChains.child, without: without.child };
  const created = await measureCreated(bench, { publishers, floor, rounds: most });
  const unchanged = await measureUnchanged(bench, publishers);
  const index = await publishers.with.call<Record<string, AreaSize>>('indexSize', TENANT);
  const rebuilt = await measureRebuilt(bench, { publishers, rounds: most });
  const replaced = await measureReplaced(bench, { publishers, floor, rows: unchanged.rows });
  return {
    rows: unchanged.rows,
    unchanged,
    created: { ...created, shares: shares.created },
    replaced,
    rebuilt: { ...rebuilt, shares: shares.rebuilt },
    index,
    peakMemoryAtTheEnd: {
      with: await publishers.with.call('memory'),
      without: await publishers.without.call('memory'),
    },
  };
}

/** Uses a process that is not measured otherwise, because the profiler takes time and memory itself. */
async function profileChains(bench: Bench): Promise<Record<'created' | 'rebuilt', Record<Part, number>>> {
  bench.print('chains: first sync and rebuild with the profiler');
  await using publisher = await startPublisher(bench, 'with');
  const { child } = publisher;
  await child.call('own', TENANT);
  const created = await child.call<Record<Part, number>>('profile', {
    ...FULL,
    fewestRows: 1,
    saveAs: profilePath(bench, 'chains-first-sync'),
  } satisfies ProfileRequest);
  await child.call('drop', TENANT);
  const rebuilt = await child.call<Record<Part, number>>('profileOwn', {
    tenantId: TENANT,
    saveAs: profilePath(bench, 'chains-rebuild'),
  } satisfies ProfileOwnRequest);
  return { created, rebuilt };
}

/** Measures first syncs of new processes; the last ones are the given publishers, which have also just started. */
async function measureCreated(
  bench: Bench,
  { publishers, floor, rounds }: { publishers: Publishers; floor: Child; rounds: number },
): Promise<Omit<ChainNumbers['created'], 'shares'>> {
  // This round does not count, because V8 compiles hot code then.
  await floor.call('measureFetch', COLLECTION);
  const syncs = { with: [] as FirstRound[], without: [] as FirstRound[] };
  for (let round = 1; round <= rounds; round += 1) {
    bench.print(`chains: first sync by a new process, ${round} of ${rounds}`);
    const { fetchAndParse } = await floor.call<FetchRound>('measureFetch', COLLECTION);
    for (const kind of inTurn(round)) {
      const sync =
        round < rounds ? await firstSyncOfNew(bench, kind) : await firstSync(publishers[kind], kind);
      syncs[kind].push({ ...sync, fetchAndParse });
    }
  }
  return {
    ...costsOf(syncs),
    rowsPerSecond: pairedOf(syncs, perSecond),
    cpuPerRecord: pairedOf(syncs, (round) => round.cpuMicros / recordsOf(round)),
    timesFetch: pairedOf(syncs, (round) => round.cpuMicros / round.rowsSeen / round.fetchAndParse),
    records: { with: recordsOf(syncs.with[0]), without: recordsOf(syncs.without[0]) },
    changesPublished: syncs.with[0]?.changesPublished ?? 0,
    absencesShown: syncs.with[0]?.absencesShown ?? 0,
    peakMemory: pairedOf(syncs, ({ peakMemory }) => peakMemory),
  };
}

type FirstSync = SyncRound & { readonly peakMemory: number };
type FirstRound = FirstSync & Pick<FetchRound, 'fetchAndParse'>;

async function firstSyncOfNew(bench: Bench, kind: Kind): Promise<FirstSync> {
  await using publisher = await startPublisher(bench, kind);
  return await firstSync(publisher.child, kind);
}

async function firstSync(publisher: Child, kind: Kind): Promise<FirstSync> {
  await publisher.call('own', TENANT);
  const round = await oneSync(publisher, FULL);
  if ((kind === 'with') !== round.changesPublished > 0) {
    throw new Error(`${round.changesPublished} changes were published ${kind} chains`);
  }
  return { ...round, peakMemory: await publisher.call('memory') };
}

async function measureUnchanged(
  bench: Bench,
  publishers: Publishers,
): Promise<ChainNumbers['unchanged'] & { readonly rows: number }> {
  const rounds = { with: [] as SyncSum[], without: [] as SyncSum[] };
  // The first round does not count, because V8 compiles hot code then.
  for (let round = 0; round <= bench.rounds; round += 1) {
    bench.print(
      round === 0 ? 'chains: unchanged rows' : `chains: unchanged rows, ${round} of ${bench.rounds}`,
    );
    const syncs = { with: [] as SyncRound[], without: [] as SyncRound[] };
    for (let turn = 0; turn < TURNS_A_ROUND; turn += 1) {
      for (const kind of inTurn(turn)) syncs[kind].push(await unchangedSync(publishers[kind], FULL));
    }
    if (round === 0) continue;
    for (const kind of inTurn(0)) rounds[kind].push(sumOf(syncs[kind]));
  }
  return { rows: (rounds.with[0]?.rowsSeen ?? 0) / TURNS_A_ROUND, ...costsOf(rounds) };
}

type SyncSum = Pick<SyncRound, 'rowsSeen' | 'cpuMicros' | 'mainCpuMicros'>;

function sumOf(syncs: readonly SyncRound[]): SyncSum {
  const sum = (field: keyof SyncSum): number => syncs.reduce((all, sync) => all + sync[field], 0);
  return { rowsSeen: sum('rowsSeen'), cpuMicros: sum('cpuMicros'), mainCpuMicros: sum('mainCpuMicros') };
}

function costsOf(rounds: Readonly<Record<Kind, readonly SyncSum[]>>): {
  readonly cpuPerRow: Paired;
  readonly mainCpuPerRow: Paired;
} {
  return {
    cpuPerRow: pairedOf(rounds, ({ cpuMicros, rowsSeen }) => cpuMicros / rowsSeen),
    mainCpuPerRow: pairedOf(rounds, ({ mainCpuMicros, rowsSeen }) => mainCpuMicros / rowsSeen),
  };
}

/** Drops the index and takes the tenant over again. */
async function measureRebuilt(
  bench: Bench,
  { publishers, rounds }: { publishers: Publishers; rounds: number },
): Promise<Omit<ChainNumbers['rebuilt'], 'shares'>> {
  const owned = { with: [] as OwnRound[], without: [] as OwnRound[] };
  const rebuilt = { with: [] as OwnRound[], without: [] as OwnRound[] };
  for (let round = 0; round < rounds; round += 1) {
    bench.print(`chains: rebuild ${round + 1} of ${rounds}`);
    for (const kind of inTurn(round)) {
      owned[kind].push(await own(publishers[kind], 'current'));
      await publishers[kind].call('drop', TENANT);
      rebuilt[kind].push(await own(publishers[kind], 'rebuilt'));
    }
  }
  // The rebuilt index must equal the lost one.
  for (const kind of inTurn(0)) await unchangedSync(publishers[kind], FULL);
  const seconds = ({ wallMs }: OwnRound): number => wallMs / 1_000;
  return {
    cpuPerRow: pairedOf(rebuilt, ({ cpuMicros, rows }) => cpuMicros / rows),
    mainCpuPerRow: pairedOf(rebuilt, ({ mainCpuMicros, rows }) => mainCpuMicros / rows),
    seconds: pairedOf(rebuilt, seconds),
    rowsPerSecond: pairedOf(rebuilt, (round) => round.rows / seconds(round)),
    ownedSeconds: pairedOf(owned, seconds),
  };
}

async function own(publisher: Child, expected: OwnRound['how']): Promise<OwnRound> {
  const round = await publisher.call<OwnRound>('own', TENANT);
  if (round.how !== expected) throw new Error(`the index was ${round.how}, not ${expected}`);
  return round;
}

function profilePath({ profileFolder }: Bench, name: string): string | null {
  return profileFolder === null ? null : join(profileFolder, `${name}.cpuprofile`);
}
