import { PARTS, type Part } from './cpu-profile.ts';
import type { ChainNumbers } from './measure-chains.ts';
import type { Paired } from './paired.ts';
import type { AreaSize } from './tenant-in-redis.ts';
import { spread, whole } from './words.ts';

type Cells = readonly [title: string, ...cells: readonly string[]];

/** Reports the cost of absences and their changes as text. */
export function chainsReport(numbers: ChainNumbers): string[] {
  const { rows, created, index, peakMemoryAtTheEnd: peak } = numbers;
  const mib = (size: number): string => `${size.toFixed(0)} MiB`;
  return [
    `Absences and their changes derived from absence-versions (${whole(rows)} rows), against absence-versions alone, in turns`,
    '',
    ...table([
      ['', 'with', 'without', 'difference', 'times'],
      ...unreplacedLines(numbers),
      ...createdLines(numbers),
      ...replacedLines(numbers),
      ...rebuiltLines(numbers),
      ['peak resident size, first sync', ...memoryCells(created.peakMemory)],
      ['  after all that', mib(peak.with), mib(peak.without), mib(peak.with - peak.without)],
    ]),
    '',
    'Redis, bytes an entry, keys included',
    ...indexLines(index),
    '',
    'Where it goes with absences and changes, µs of the main thread a row',
    ...shareLines(numbers),
  ];
}

function unreplacedLines({ unchanged }: ChainNumbers): Cells[] {
  return [
    ['unchanged, µs a row', ...cells(unchanged.cpuPerRow, 2)],
    ['  of that on the main thread', ...cells(unchanged.mainCpuPerRow, 2)],
  ];
}

function createdLines({ created }: ChainNumbers): Cells[] {
  return [
    ['first full sync, µs a row', ...cells(created.cpuPerRow, 1)],
    ['  µs a record published', ...cells(created.cpuPerRecord, 1)],
    ['  rows a second', ...rateCells(created.rowsPerSecond)],
    ['  changes published', whole(created.changesPublished), '0'],
    ['  absences shown', whole(created.absencesShown), '0'],
  ];
}

function replacedLines({ replaced }: ChainNumbers): Cells[] {
  const lines = replaced.flatMap(({ rows, absences, cpuPerRow, committedMs }): Cells[] => [
    [`${whole(absences)} absences replaced`],
    [`  µs a changed row (${whole(rows)})`, ...cells(cpuPerRow, 1)],
    ['  ms until committed', ...cells(committedMs, 0)],
  ]);
  const [few, many] = replaced.slice(-2);
  if (few === undefined || many === undefined) return lines;
  const growth = (kind: 'with' | 'without'): string =>
    `${(many.cpuPerRow[kind].median / few.cpuPerRow[kind].median).toFixed(2)} times`;
  return [...lines, [`  a row, against ${whole(few.absences)} absences`, growth('with'), growth('without')]];
}

function rebuiltLines({ rebuilt }: ChainNumbers): Cells[] {
  return [
    ['index rebuilt, s', ...cells(rebuilt.seconds, 1)],
    ['  of that without rebuilding', ...cells(rebuilt.ownedSeconds, 1)],
    ['  rows a second', ...rateCells(rebuilt.rowsPerSecond)],
    ['  µs a row', ...cells(rebuilt.cpuPerRow, 1)],
  ];
}

function cells({ with: withChains, without, difference, times }: Paired, digits: number): string[] {
  return [...[withChains, without, difference].map((each) => spread(each, digits)), spread(times, 2)];
}

function rateCells({ with: withChains, without, times }: Paired): string[] {
  return [whole(withChains.median), whole(without.median), '', spread(times, 2)];
}

function memoryCells({ with: withChains, without, difference }: Paired): string[] {
  return [withChains, without, difference].map(({ median }) => `${median.toFixed(0)} MiB`);
}

const AREA_TITLES: Readonly<Record<string, string>> = {
  rows: 'a version, its content hash',
  versions: 'a version, its links',
  absences: 'an absence',
  absent: 'an absence of the last weeks, by student',
  ended: 'an absence published as deleted',
  open: 'a version of an open chain',
};

function indexLines(index: Readonly<Record<string, AreaSize>>): string[] {
  const total = Object.values(index).reduce((sum, { bytes }) => sum + bytes, 0);
  const { rows, ...ofChains } = index;
  const each = ({ bytes }: { bytes: number }): string => whole(bytes / (rows?.entries ?? Number.NaN));
  const chainBytes = Object.values(ofChains).reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    ...table(
      Object.entries(index).map(([area, { entries, bytes }]) => [
        `  ${AREA_TITLES[area] ?? area}`,
        whole(bytes / entries),
        `× ${whole(entries)}`,
      ]),
    ),
    `  a version with all that belongs to it ${each({ bytes: total })}, of which ${each({ bytes: chainBytes })} for absences and changes`,
  ];
}

function shareLines({ created, rebuilt }: ChainNumbers): string[] {
  const shares = (
    of: { shares: Readonly<Record<Part, number>>; mainCpuPerRow: Paired },
    part: Part,
  ): string =>
    `${(of.shares[part] * of.mainCpuPerRow.with.median).toFixed(1)} (${(of.shares[part] * 100).toFixed(0)} %)`;
  const others = ({ cpuPerRow, mainCpuPerRow }: ChainNumbers['rebuilt'] | ChainNumbers['created']): string =>
    (cpuPerRow.with.median - mainCpuPerRow.with.median).toFixed(1);
  return table([
    ['', 'first full sync', 'index rebuilt'],
    ...PARTS.map((part): Cells => [`  ${part}`, shares(created, part), shares(rebuilt, part)]),
    ['  and on other threads', others(created), others(rebuilt)],
  ]);
}

function table(lines: readonly Cells[]): string[] {
  return lines.map(([title, ...rest]) =>
    [title.padEnd(44), ...rest.map((cell) => cell.padEnd(24))].join('').trimEnd(),
  );
}
