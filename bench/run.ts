import { availableParallelism, cpus, loadavg } from 'node:os';
import { startStack } from '../stack/start-stack.ts';
import type { Bench } from './bench.ts';
import { startHub } from './hub-process.ts';
import { LINES, resultsOf, type LineResult } from './lines.ts';
import { measureGrowth, type GrowthNumbers } from './measure-growth.ts';
import type { BenchOptions } from './options.ts';
import { measureParts, type BenchPart, type PartNumbers } from './parts.ts';

/** What one run of the benchmark found. */
export interface BenchNumbers {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** Of each topic: as many brokers write every record. */
  readonly replicationFactor: number;
  /** The load of the last minute before the start; above a fraction of the cores the machine was not idle. */
  readonly loadAtStart: number;
  readonly lines: readonly LineResult[];
  readonly parts: PartNumbers;
  /** By size; empty unless sizes were asked for. */
  readonly growth: readonly GrowthNumbers[];
}

export async function run(
  options: BenchOptions,
  { print, signal }: Pick<Bench, 'print' | 'signal'>,
): Promise<BenchNumbers> {
  const { rows, rounds, brokers, only, sizes, profileFolder } = options;
  const loadAtStart = loadavg()[0] ?? Number.NaN;
  await using stack = await startStack({ print, brokers, signal });
  const bench = { stack, rounds, profileFolder, print, signal };
  const growth = await measureGrowth(bench, sizes);
  const parts = sizes.length > 0 ? {} : await measureLines(bench, options);
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    replicationFactor: stack.replicationFactor,
    loadAtStart,
    lines: resultsOf(parts, { rows, rounds, loadAtStart, only }),
    parts,
    growth,
  };
}

async function measureLines(bench: Omit<Bench, 'hub'>, options: BenchOptions): Promise<PartNumbers> {
  bench.print('building the district');
  await using hub = await startHub({ rows: options.rows, signal: bench.signal });
  return await measureParts({ ...bench, hub }, partsOf(options));
}

/** Peers take minutes to build, so they are measured only when they are asked for. */
function partsOf({ only, hasPeers }: BenchOptions): ReadonlySet<BenchPart> {
  const isWanted = ({ name, part }: { name: string; part: BenchPart }): boolean =>
    only.length > 0 ? only.includes(name) : part !== 'peers' || hasPeers;
  return new Set(LINES.filter(isWanted).map(({ part }) => part));
}
