import { chainsReport } from './chains-report.ts';
import { PARTS } from './cpu-profile.ts';
import { growthCells } from './growth-table.ts';
import { lineCells } from './lines-table.ts';
import type { CollectionNumbers, RowNumbers, SyncNumbers } from './measure.ts';
import { peerCells } from './peers-table.ts';
import type { BenchNumbers } from './run.ts';
import { markdownTable, textTable } from './tables.ts';
import { spread, whole } from './words.ts';

/** If the floor varies more than this within one run, the numbers are unreliable. */
const NOISY_SPREAD = 1.3;
const NOISY_LOAD_PER_CORE = 0.3;

/** Reports the lines, then each part that ran, as text. */
export function reportOf(numbers: BenchNumbers): string {
  const { parts, cores, cpu, node, loadAtStart } = numbers;
  return [
    `${cores} × ${cpu}, Node ${node}, load ${loadAtStart.toFixed(1)} at the start`,
    '',
    ...tablesOf(numbers).map((cells) => textTable(cells)),
    ...(parts.rows === undefined ? [] : [...rowsReport(parts.rows), '']),
    ...(parts.chains === undefined ? [] : [...chainsReport(parts.chains), '']),
    ...noise(numbers),
  ].join('\n');
}

/** The tables of docs/performance.md. */
export function markdownOf(numbers: BenchNumbers): string {
  return tablesOf(numbers)
    .map((cells) => markdownTable(cells))
    .join('\n');
}

function tablesOf({ lines, growth, parts: { peers } }: BenchNumbers): (readonly (readonly string[])[])[] {
  return [
    ...(lines.length > 0 ? [lineCells(lines)] : []),
    ...(peers === undefined ? [] : [peerCells(peers)]),
    ...(growth.length > 0 ? [growthCells(growth)] : []),
  ];
}

function rowsReport({ collections, peakMemory }: RowNumbers): string[] {
  const { redis, memory } = peakMemory;
  const mib = (size: number): string => `${size.toFixed(0)} MiB`;
  const sizes = ({ beforeFirstSync, afterFirstSyncs, atTheEnd }: typeof redis): string =>
    `${mib(beforeFirstSync)} before the first sync, ${mib(afterFirstSyncs)} after the first syncs, ${mib(atTheEnd)} after all rounds`;
  return [
    'µs of CPU a row: the median, and (least–most) of the rounds',
    '',
    ...table(collections),
    '',
    'Peak resident size of the publisher, with one tenant',
    `  index in Redis   ${sizes(redis)}`,
    `  index in memory  ${sizes(memory)}`,
  ];
}

function table(collections: readonly CollectionNumbers[]): string[] {
  const sync = (title: string, of: (numbers: CollectionNumbers) => SyncNumbers): Line[] => [
    [title, (numbers) => spread(of(numbers).cpuPerRow)],
    ['  times JSON.parse', (numbers) => spread(of(numbers).timesParse)],
    ['  times fetch + JSON.parse', (numbers) => spread(of(numbers).timesFetch)],
    ['  rows a second', (numbers) => whole(of(numbers).rowsPerSecond.median)],
  ];
  const lines: Line[] = [
    ['', ({ collection }) => collection],
    ['rows', ({ rows }) => whole(rows)],
    ['bytes a row', ({ bytesPerRow }) => whole(bytesPerRow)],
    ['JSON.parse of the pages', ({ floor }) => spread(floor.parse)],
    ['  keeping large numbers', ({ floor }) => spread(floor.parseLossless)],
    ['  and each row decoded and hashed', ({ floor }) => spread(floor.parseAndRead)],
    ['fetch + JSON.parse', ({ floor }) => spread(floor.fetchAndParse)],
    ...sync('unchanged, index in Redis', ({ unchanged }) => unchanged.redis),
    ...PARTS.filter((part) => collections.some(({ shares }) => shares[part] > 0)).map((part): Line => [
      `    of that ${part}`,
      ({ shares, unchanged }) =>
        `${(shares[part] * unchanged.redis.mainCpuPerRow.median).toFixed(1)} (${(shares[part] * 100).toFixed(0)} %)`,
    ]),
    [
      '    and on other threads',
      ({ unchanged: { redis } }) => (redis.cpuPerRow.median - redis.mainCpuPerRow.median).toFixed(1),
    ],
    ...sync('unchanged, index in memory', ({ unchanged }) => unchanged.memory),
    ...sync('unchanged but re-stamped', ({ restamped }) => restamped),
    ['created', ({ created }) => created.map(({ cpuPerRow }) => cpuPerRow.toFixed(1)).join(', ')],
    ['  rows a second', ({ created }) => created.map((each) => whole(each.rowsPerSecond)).join(', ')],
    ['100 changed rows, ms', ({ deltaMs }) => spread(deltaMs)],
  ];
  return lines.map(([title, cell]) =>
    [title.padEnd(32), ...collections.map((numbers) => cell(numbers).padEnd(26))].join('').trimEnd(),
  );
}

type Line = readonly [title: string, cell: (numbers: CollectionNumbers) => string];

function noise({ parts, cores, loadAtStart }: BenchNumbers): string[] {
  const collections = parts.rows?.collections ?? [];
  const widest = Math.max(0, ...collections.map(({ floor }) => floor.parse.max / floor.parse.min));
  if (widest <= NOISY_SPREAD && loadAtStart <= cores * NOISY_LOAD_PER_CORE) return [];
  return [
    `The machine was not idle (load ${loadAtStart.toFixed(1)} at the start${
      widest > 0 ? `; JSON.parse of the same bytes took up to ${widest.toFixed(1)} times its least` : ''
    }):`,
    'rows a second and ms are hardly reliable, µs a little more, the ratios the most.',
    '',
  ];
}
