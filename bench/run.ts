import { availableParallelism, cpus, loadavg } from 'node:os';
import { startStack } from '../stack/start-stack.ts';
import { startHub } from './hub-process.ts';
import { LINES, resultsOf, type LineResult } from './lines.ts';
import type { BenchOptions } from './options.ts';
import { measureParts, type BenchPart, type PartNumbers } from './parts.ts';

/** What one run of the benchmark found. */
export interface BenchNumbers {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** The load of the last minute before the start; above a fraction of the cores the machine was not idle. */
  readonly loadAtStart: number;
  readonly lines: readonly LineResult[];
  readonly parts: PartNumbers;
}

export async function run(
  options: BenchOptions,
  { print, signal }: { print: (line: string) => void; signal: AbortSignal },
): Promise<BenchNumbers> {
  const { rows, rounds, only, profileFolder } = options;
  const loadAtStart = loadavg()[0] ?? Number.NaN;
  await using stack = await startStack({ print, signal });
  print('building the district');
  await using hub = await startHub({ rows, signal });
  const parts = await measureParts({ stack, hub, rounds, profileFolder, print, signal }, partsOf(only));
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    loadAtStart,
    lines: resultsOf(parts, { rows, rounds, loadAtStart, only }),
    parts,
  };
}

function partsOf(only: readonly string[]): ReadonlySet<BenchPart> {
  const wanted = LINES.filter(({ name }) => only.length === 0 || only.includes(name));
  return new Set(wanted.map(({ part }) => part));
}
