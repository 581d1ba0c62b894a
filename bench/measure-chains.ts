import type { Bench } from './bench.ts';
import { COLLECTION, FULL, INCREMENTAL, startPublisher, TENANT, type Kind } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import type { FloorRound } from './floor-process.ts';
import type { OwnRound, SyncRound } from './log-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { nextHubSecond, oneSync, recordsOf, timesFloor, unchangedSync } from './syncs.ts';
import type { AreaSize } from './tenant-in-redis.ts';

/** `absence-versions` with `absences` and `absence-changes`, and alone. Times are those of a plain download with `JSON.parse`. */
export interface ChainNumbers {
  readonly rows: number;
  /** First full syncs, each by a process that has just started; records of all topics except `progress`. */
  readonly created: Readonly<Record<Kind, { readonly timesFetch: Spread; readonly records: number }>>;
  /** Largest resident size of the process after its first sync, MiB. */
  readonly peakMiB: Spread;
  /** Absences replaced at the hub and found by an incremental sync; null at a hub with few of them. */
  readonly replaced: { readonly timesFetch: Spread; readonly records: number } | null;
  readonly rebuiltSeconds: Spread;
  /** The index of `absence-versions` in Redis after the first sync, by area. */
  readonly index: Readonly<Record<string, AreaSize>>;
  /** Size of the process that ran all measurements after a first sync, MiB. */
  readonly peakMiBAtTheEnd: number;
}

const MOST_ROUNDS = 3;
const REPLACED_AT_ONCE = [5_000, 1_000, 100];
/** An incremental sync with most rows of a collection becomes a full sync. */
const FEWEST_ROWS_EACH = 5;

export async function measureChains(bench: Bench, floor: Child): Promise<ChainNumbers> {
  const rounds = Math.min(bench.rounds, MOST_ROUNDS);
  await using publisher = await startPublisher(bench, 'with');
  const { child } = publisher;
  const { rows, created, peakMiB } = await measureCreated(bench, { child, floor, rounds });
  const index = await child.call<Record<string, AreaSize>>('indexSize', TENANT);
  bench.print('chains: unchanged rows');
  for (let round = 0; round < bench.rounds; round += 1) await unchangedSync(child, FULL);
  const rebuiltSeconds = await measureRebuilt(bench, { child, rounds });
  const replaced = await measureReplaced(bench, { child, floor, rows });
  const peakMiBAtTheEnd = await child.call<number>('memory');
  return { rows, created, peakMiB, replaced, rebuiltSeconds, index, peakMiBAtTheEnd };
}

type FirstSync = SyncRound & { readonly peakMiB: number; readonly times: number };

/** Measures first syncs of new processes; the last one with chains is that of the given process, which has also just started. */
async function measureCreated(
  bench: Bench,
  { child, floor, rounds }: { child: Child; floor: Child; rounds: number },
): Promise<Pick<ChainNumbers, 'rows' | 'created' | 'peakMiB'>> {
  // This round does not count, because V8 compiles hot code then.
  await floor.call('measure', COLLECTION);
  const syncs = { with: [] as FirstSync[], without: [] as FirstSync[] };
  for (let round = 1; round <= rounds; round += 1) {
    bench.print(`chains: first sync by a new process, ${round} of ${rounds}`);
    const beside = await floor.call<FloorRound>('measure', COLLECTION);
    const kinds: readonly Kind[] = round % 2 === 0 ? ['with', 'without'] : ['without', 'with'];
    for (const kind of kinds) {
      const isGiven = kind === 'with' && round === rounds;
      const sync = isGiven ? await firstSync(child, kind) : await firstSyncOfNew(bench, kind);
      syncs[kind].push({ ...sync, times: timesFloor(sync, beside) });
    }
  }
  const costs = (kind: Kind): ChainNumbers['created'][Kind] => ({
    timesFetch: spreadOf(syncs[kind].map(({ times }) => times)),
    records: recordsOf(syncs[kind][0]),
  });
  return {
    rows: syncs.with[0]?.rowsSeen ?? 0,
    created: { with: costs('with'), without: costs('without') },
    peakMiB: spreadOf(syncs.with.map((sync) => sync.peakMiB)),
  };
}

async function firstSyncOfNew(bench: Bench, kind: Kind): Promise<Omit<FirstSync, 'times'>> {
  await using publisher = await startPublisher(bench, kind);
  return await firstSync(publisher.child, kind);
}

async function firstSync(publisher: Child, kind: Kind): Promise<Omit<FirstSync, 'times'>> {
  await publisher.call('own', TENANT);
  const round = await oneSync(publisher, FULL);
  if ((kind === 'with') !== round.changesPublished > 0)
    throw new Error(`${round.changesPublished} changes were published ${kind} chains`);
  return { ...round, peakMiB: await publisher.call('memory') };
}

/** Drops the index and takes the tenant over again. */
async function measureRebuilt(
  { print }: Bench,
  { child, rounds }: { child: Child; rounds: number },
): Promise<Spread> {
  const seconds: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    print(`chains: rebuild ${round} of ${rounds}`);
    await child.call('drop', TENANT);
    const { how, wallMs } = await child.call<OwnRound>('own', TENANT);
    if (how !== 'rebuilt') throw new Error(`the index was ${how}, not rebuilt`);
    seconds.push(wallMs / 1_000);
  }
  // The rebuilt index must equal the lost one.
  await unchangedSync(child, FULL);
  return spreadOf(seconds);
}

/** Replaces absences at the hub, then runs an incremental sync at once. Each is replaced only once, so that chains stay short. */
async function measureReplaced(
  bench: Bench,
  { child, floor, rows }: { child: Child; floor: Child; rows: number },
): Promise<ChainNumbers['replaced']> {
  const size = REPLACED_AT_ONCE.find((each) => each * FEWEST_ROWS_EACH <= rows);
  if (size === undefined) return null;
  const current = await floor.call<readonly string[]>('currentAbsences', size * (bench.rounds + 1));
  const rounds = Math.min(bench.rounds, Math.floor(current.length / size) - 1);
  const times: number[] = [];
  let records = 0;
  // V8 compiles in the first round.
  for (let round = 0; round <= rounds; round += 1) {
    bench.print(`chains: ${size} absences replaced, ${round} of ${rounds}`);
    const beside = await floor.call<FloorRound>('measure', COLLECTION);
    const sync = await replace(bench, child, current.slice(round * size, (round + 1) * size));
    records = recordsOf(sync);
    // Both rows count: the new version, and the one that it replaces.
    if (round > 0) times.push(timesFloor(sync, beside, size * 2));
  }
  return { timesFetch: spreadOf(times), records };
}

async function replace({ hub }: Bench, child: Child, ids: readonly string[]): Promise<SyncRound> {
  await nextHubSecond();
  await oneSync(child, INCREMENTAL);
  const changes = { absenceDurationValue: 1_000 };
  await hub.control('district', {
    calls: ids.map((id) => ({ do: 'replaceAbsence', with: [id, { changes }] })),
  });
  const round = await oneSync(child, INCREMENTAL);
  const { rowsCreated, rowsUpdated, changesPublished } = round;
  if ([rowsCreated, rowsUpdated, changesPublished].some((found) => found !== ids.length)) {
    const found = `${rowsCreated} created, ${rowsUpdated} changed, ${changesPublished} published`;
    throw new Error(`of ${ids.length} replaced absences: ${found}`);
  }
  return round;
}
