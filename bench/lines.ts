import type { PeerNumbers } from './measure-peers.ts';
import type { BenchPart, PartNumbers } from './parts.ts';
import type { PeerName } from './peer-contenders.ts';
import { spreadOf, type Spread } from './spread.ts';

/** A promise about speed: what is measured for it, and what it is to be. */
export interface Line {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  /** The part of the benchmark that measures it. */
  readonly part: BenchPart;
  readonly unit: string;
  readonly digits: number;
  readonly better: 'less' | 'more';
  /** Null: only measured. Of some it depends on the number of rows. */
  readonly target: (rows: number) => number | null;
  readonly stretch: number | null;
  /** Undefined: that part was not measured. */
  readonly value: (numbers: PartNumbers) => LineValue | undefined;
}

export interface LineValue {
  readonly spread: Spread;
  /** Published in one round; undefined: the line is not about records. */
  readonly records?: number | undefined;
}

/** A measured line, as programs read it. */
export interface LineResult {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
  readonly better: Line['better'];
  readonly target: number | null;
  readonly stretch: number | null;
  readonly value: Spread;
  readonly records: number | null;
  readonly verdict: 'met' | 'falls short' | null;
  /** Approximate number of absence records at the hub. */
  readonly rows: number;
  readonly rounds: number;
  readonly loadAtStart: number;
}

const MB_IN_MIB = 1.048576;
/** Times fetch and `JSON.parse` of the same pages. */
const FLOOR = '×';

/** The memory that a process may take depends little on the number of rows: it is to stay flat. */
const MEMORY_TARGETS: readonly (readonly [rows: number, megabytes: number])[] = [
  [100_000, 180],
  [1_000_000, 200],
  [Number.POSITIVE_INFINITY, 220],
];

const MEGABYTES = {
  unit: 'MB',
  digits: 0,
  target: (rows: number) => MEMORY_TARGETS.find(([most]) => rows <= most)?.[1] ?? null,
  stretch: 130,
} satisfies Partial<Line>;

export const LINES: readonly Line[] = [
  {
    ...line('unchanged', 'an unchanged full sync', { part: 'unchanged', target: 1.2, stretch: 0.8 }),
    value: ({ unchanged }) => unchanged && { spread: unchanged.timesFetch, records: 0 },
  },
  {
    ...line('first', 'a first full sync with one record for each row', {
      part: 'chains',
      target: 7,
      stretch: 5,
    }),
    value: ({ chains }) => chains && valueOf(chains.created.without),
  },
  {
    ...line('first-with-changes', 'a first full sync with absences and their changes', {
      part: 'chains',
      target: 20,
      stretch: 14,
    }),
    value: ({ chains }) => chains && valueOf(chains.created.with),
  },
  {
    ...line('replaced', 'an incremental sync of replaced absences, for each changed row', {
      part: 'chains',
      target: 20,
    }),
    value: ({ chains }) => (chains?.replaced ? valueOf(chains.replaced) : undefined),
  },
  {
    ...line('rebuild', 'rebuilding the index of 100,000 rows', {
      part: 'chains',
      target: 2,
      stretch: 0.5,
    }),
    unit: 's',
    digits: 1,
    value: ({ chains }) =>
      chains && { spread: scaled(chains.rebuiltSeconds, 100_000 / chains.rows), records: 0 },
  },
  {
    ...line('peak', 'peak resident size in a first full sync with absences and changes', { part: 'chains' }),
    ...MEGABYTES,
    value: ({ chains }) => chains && { spread: scaled(chains.peakMiB, MB_IN_MIB) },
  },
  {
    ...line('peak-later', 'peak resident size in all syncs, the first and later ones', {
      part: 'chains',
    }),
    ...MEGABYTES,
    value: ({ chains }) => chains && { spread: scaled(spreadOf([chains.peakMiBAtTheEnd]), MB_IN_MIB) },
  },
  {
    ...line(
      'pages',
      'speed-up of an unchanged full sync by sending 8 requests at once instead of one at a time, if each page takes 200 ms',
      {
        part: 'pages',
        target: 7,
        stretch: 7.8,
      },
    ),
    better: 'more',
    value: ({ pages }) => pages && { spread: pages.unchangedTimes, records: 0 },
  },
  {
    ...line('pages-first', 'the same speed-up for a first full sync', { part: 'pages' }),
    better: 'more',
    value: ({ pages }) => pages && { spread: pages.firstTimes, records: pages.rows },
  },
  {
    ...line('delay-p50', 'delay of 100 changed rows from the answer of the hub to a consumer, p50', {
      part: 'delay',
      target: 30,
    }),
    unit: 'ms',
    digits: 0,
    value: ({ delay }) => delay && { spread: spreadOf([delay.p50]), records: delay.records },
  },
  {
    ...line('delay-p99', 'the same delay, p99', { part: 'delay', target: 120 }),
    unit: 'ms',
    digits: 0,
    value: ({ delay }) => delay && { spread: spreadOf([delay.p99]), records: delay.records },
  },
  {
    ...line('idle', 'share of a core while idle, with one tenant and all collections', {
      part: 'idle',
      target: 0.5,
    }),
    unit: '%',
    digits: 2,
    value: ({ idle }) => idle && { spread: idle.idlePercent },
  },
  {
    ...line('start', 'CPU time from the start of the process to its first request', {
      part: 'idle',
      target: 0.7,
    }),
    unit: 'CPU s',
    digits: 2,
    value: ({ idle }) => idle && { spread: idle.startCpuSeconds },
  },
  {
    ...line('redis-row', 'size of a row in Redis', { part: 'chains', target: 62, stretch: 41 }),
    unit: 'bytes',
    digits: 0,
    value: ({ chains }) => bytesEach(chains?.index, ['rows']),
  },
  {
    ...line('redis-version', 'size of a version with its chain in Redis', { part: 'chains', target: 150 }),
    unit: 'bytes',
    digits: 0,
    value: ({ chains }) => chains && bytesEach(chains.index, Object.keys(chains.index)),
  },
  {
    ...line('peers-first', 'CPU of a first pull, as a multiple of that of Redpanda Connect, safe', {
      part: 'peers',
      target: 0.4,
    }),
    digits: 2,
    value: ({ peers }) =>
      peerTimes(peers, 'first', {
        seconds: peers?.measured.rollcall?.first.cpuSeconds,
        others: ['connect-safe'],
      }),
  },
  {
    ...line(
      'peers-peak',
      'peak resident size of a first pull, as a multiple of that of Redpanda Connect, safe',
      {
        part: 'peers',
        target: 1,
      },
    ),
    digits: 2,
    value: ({ peers }) => peerMemory(peers),
  },
  {
    ...line(
      'peers-unchanged',
      'CPU of an unchanged pull by a running process, as a multiple of that of the best other program',
      {
        part: 'peers',
        target: 0.12,
      },
    ),
    digits: 2,
    value: ({ peers }) =>
      peerTimes(peers, 'unchanged', {
        seconds: peers?.runningSeconds,
        others: ['connect-safe', 'connect-stock', 'dlt'],
      }),
  },
];

/** CPU of Rollcall in each round, times the least of others in it. */
function peerTimes(
  peers: PeerNumbers | undefined,
  pull: 'first' | 'unchanged',
  { seconds, others }: { seconds: readonly number[] | undefined; others: readonly PeerName[] },
): LineValue | undefined {
  const beside = others.flatMap((name) => peers?.measured[name] ?? []);
  if (seconds === undefined || beside.length === 0) return undefined;
  const least = (round: number): number =>
    Math.min(...beside.map((peer) => peer[pull].cpuSeconds[round] ?? Number.NaN));
  return { spread: spreadOf(seconds.map((own, round) => own / least(round))) };
}

function peerMemory(peers: PeerNumbers | undefined): LineValue | undefined {
  const rollcall = peers?.measured.rollcall;
  const peer = peers?.measured['connect-safe'];
  if (rollcall === undefined || peer === undefined) return undefined;
  const times = rollcall.first.peakMiB.map((size, round) => size / (peer.first.peakMiB[round] ?? Number.NaN));
  return { spread: spreadOf(times) };
}

function line(
  name: string,
  title: string,
  { part, target, stretch }: { part: BenchPart; target?: number; stretch?: number },
): Omit<Line, 'value'> {
  return {
    name,
    title,
    part,
    unit: FLOOR,
    digits: 1,
    better: 'less',
    target: () => target ?? null,
    stretch: stretch ?? null,
  };
}

function valueOf({ timesFetch, records }: { timesFetch: Spread; records: number }): LineValue {
  return { spread: timesFetch, records };
}

function scaled({ min, median, max }: Spread, by: number): Spread {
  return { min: min * by, median: median * by, max: max * by };
}

/** Bytes of some areas of the index for each of its rows. */
function bytesEach(
  index: Readonly<Record<string, { entries: number; bytes: number }>> | undefined,
  areas: readonly string[],
): LineValue | undefined {
  const rows = index?.['rows'];
  if (rows === undefined) return undefined;
  const bytes = areas.reduce((sum, area) => sum + (index?.[area]?.bytes ?? 0), 0);
  return { spread: spreadOf([bytes / rows.entries]) };
}

/** The result of each line that was measured and, when names are given, is among them. */
export function resultsOf(
  numbers: PartNumbers,
  of: { rows: number; rounds: number; loadAtStart: number; only: readonly string[] },
): LineResult[] {
  const { only, ...run } = of;
  return LINES.filter(({ name }) => only.length === 0 || only.includes(name)).flatMap((each) => {
    const value = each.value(numbers);
    return value === undefined ? [] : [resultOf(each, value, run)];
  });
}

function resultOf(
  { name, title, unit, digits, better, stretch, ...of }: Line,
  { spread, records }: LineValue,
  run: { rows: number; rounds: number; loadAtStart: number },
): LineResult {
  const target = of.target(run.rows);
  return {
    name,
    title,
    unit,
    digits,
    better,
    target,
    stretch,
    value: spread,
    records: records ?? null,
    verdict: target === null ? null : isMet(spread.median, { better, target }) ? 'met' : 'falls short',
    ...run,
  };
}

function isMet(median: number, { better, target }: { better: Line['better']; target: number }): boolean {
  return better === 'less' ? median <= target : median >= target;
}
