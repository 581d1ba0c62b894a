import { chainsReport } from './chains-report.ts';
import { PARTS } from './cpu-profile.ts';
import type { BenchNumbers, CollectionNumbers, SyncNumbers } from './measure.ts';
import { spread, whole } from './words.ts';

/** If the floor varies more than this within one run, the numbers are unreliable. */
const NOISY_SPREAD = 1.3;
const NOISY_LOAD_PER_CORE = 0.3;

/** Reports the numbers as text. */
export function reportOf(numbers: BenchNumbers): string {
  const { collections, peakMemory, cores, cpu, node, loadAtStart } = numbers;
  const { redis, memory } = peakMemory;
  const mib = (size: number): string => `${size.toFixed(0)} MiB`;
  const sizes = ({ beforeFirstSync, afterFirstSyncs, atTheEnd }: typeof redis): string =>
    `${mib(beforeFirstSync)} before the first sync, ${mib(afterFirstSyncs)} after the first syncs, ${mib(atTheEnd)} after all rounds`;
  return [
    `${cores} × ${cpu}, Node ${node}, load ${loadAtStart.toFixed(1)} at the start`,
    'µs of CPU a row: the median, and (least–most) of the rounds',
    '',
    ...table(collections),
    '',
    'Peak resident size of the publisher, with one tenant',
    `  index in Redis   ${sizes(redis)}`,
    `  index in memory  ${sizes(memory)}`,
    '',
    ...chainsReport(numbers.chains),
    ...noise(numbers),
    '',
  ].join('\n');
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

function noise({ collections, cores, loadAtStart }: BenchNumbers): string[] {
  const widest = Math.max(...collections.map(({ floor }) => floor.parse.max / floor.parse.min));
  if (widest <= NOISY_SPREAD && loadAtStart <= cores * NOISY_LOAD_PER_CORE) return [];
  return [
    '',
    `The machine was not idle (load ${loadAtStart.toFixed(1)} at the start; JSON.parse of the same bytes took up to`,
    `${widest.toFixed(1)} times its least): rows a second and ms are hardly reliable, µs a little more, the ratios the most.`,
  ];
}
