import type { Bench } from './bench.ts';
import { COLLECTION, INCREMENTAL, type Publishers } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import type { FetchRound } from './floor-process.ts';
import { inTurn, pairedOf, type Kind, type Paired } from './paired.ts';
import { nextHubSecond, oneSync, recordsOf } from './syncs.ts';
import type { SyncRound } from './log-process.ts';

export interface ReplacedNumbers {
  readonly absences: number;
  /** Both rows count: the new version, and the one that it replaces. */
  readonly rows: number;
  readonly cpuPerRow: Paired;
  /** A changed row, times a plain download with `JSON.parse` of one row of the collection, measured in the same round. */
  readonly timesFetch: Paired;
  /** Records of a round with chains. */
  readonly records: number;
  readonly committedMs: Paired;
}

type ReplacedRound = SyncRound & Pick<FetchRound, 'fetchAndParse'>;

const REPLACED_AT_ONCE = [100, 1_000, 5_000];
/** An incremental sync with most rows of a collection becomes a full sync. */
const FEWEST_ROWS_EACH = 5;

/** Replaces absences at the hub, then runs an incremental sync at once. Each is replaced only once, so that chains stay short. */
export async function measureReplaced(
  bench: Bench,
  parts: { publishers: Publishers; floor: Child; rows: number },
): Promise<readonly ReplacedNumbers[]> {
  const sizes = REPLACED_AT_ONCE.filter((size) => size * FEWEST_ROWS_EACH <= parts.rows);
  const eachRound = sizes.reduce((sum, size) => sum + size, 0);
  const current = await parts.floor.call<readonly string[]>(
    'currentAbsences',
    eachRound * (bench.rounds + 1),
  );
  const rounds = Math.min(bench.rounds, Math.floor(current.length / eachRound) - 1);
  let used = 0;
  const syncs = new Map(
    sizes.map((size) => [size, { with: [] as ReplacedRound[], without: [] as ReplacedRound[] }]),
  );
  // V8 compiles in the first round.
  for (let round = 0; round <= rounds; round += 1) {
    const { fetchAndParse } = await parts.floor.call<FetchRound>('measureFetch', COLLECTION);
    for (const [size, found] of syncs) {
      bench.print(`chains: ${size} absences replaced${round === 0 ? '' : `, ${round} of ${rounds}`}`);
      const ids = current.slice(used, used + size);
      used += size;
      const replaced = await replace(bench, { ...parts, ids, round });
      if (round === 0) continue;
      for (const kind of inTurn(0)) found[kind].push({ ...replaced[kind], fetchAndParse });
    }
  }
  return [...syncs].map(([absences, found]) => ({
    absences,
    rows: absences * 2,
    cpuPerRow: pairedOf(found, ({ cpuMicros }) => cpuMicros / (absences * 2)),
    timesFetch: pairedOf(found, ({ cpuMicros, fetchAndParse }) => cpuMicros / (absences * 2) / fetchAndParse),
    records: recordsOf(found.with[0]),
    committedMs: pairedOf(found, ({ committedMs }) => committedMs ?? Number.NaN),
  }));
}

async function replace(
  { hub }: Bench,
  parts: { publishers: Publishers; ids: readonly string[]; round: number },
): Promise<Record<Kind, SyncRound>> {
  const { publishers, ids, round } = parts;
  await nextHubSecond();
  for (const kind of inTurn(0)) await oneSync(publishers[kind], INCREMENTAL);
  const changes = { absenceDurationValue: 1_000 + round };
  const operations = ids.map((id) => ({ op: 'replace-absence', id, changes }));
  await hub.control('mutate', { operations });
  const found: Partial<Record<Kind, SyncRound>> = {};
  for (const kind of inTurn(round)) {
    found[kind] = foundAll(await oneSync(publishers[kind], INCREMENTAL), { kind, absences: ids.length });
  }
  return found as Record<Kind, SyncRound>;
}

function foundAll(round: SyncRound, { kind, absences }: { kind: Kind; absences: number }): SyncRound {
  const { rowsCreated, rowsUpdated, changesPublished } = round;
  const expected = kind === 'with' ? absences : 0;
  if (rowsCreated === absences && rowsUpdated === absences && changesPublished === expected) return round;
  const found = `${rowsCreated} created, ${rowsUpdated} changed, ${changesPublished} published`;
  throw new Error(`of ${absences} replaced absences ${kind} chains: ${found}`);
}
