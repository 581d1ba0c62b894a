import type { GrowthNumbers } from './measure-growth.ts';
import { spread, whole } from './words.ts';

/** Sizes side by side, with headings. */
export function growthCells(sizes: readonly GrowthNumbers[]): string[][] {
  const line = (title: string, cell: (of: GrowthNumbers) => string): string[] => [title, ...sizes.map(cell)];
  return [
    line('absence records, with absences and changes', ({ rows }) => whole(rows)),
    line('fetch + JSON.parse, µs a row', ({ fetchAndParse }) => spread(fetchAndParse)),
    line('first full pull by a new process, times that', ({ first }) => first.toFixed(1)),
    line('records published', ({ firstRecords }) => whole(firstRecords)),
    line('rows a second', ({ firstRowsPerSecond }) => whole(firstRowsPerSecond)),
    line('unchanged full pull, times that', ({ unchanged }) => spread(unchanged)),
    line('rows a second', ({ unchangedRowsPerSecond }) => whole(unchangedRowsPerSecond.median)),
    line('100 changed rows, ms of CPU', ({ deltaCpuMs }) => spread(deltaCpuMs, 0)),
    line('100 changed rows, ms until committed', ({ deltaCommittedMs }) => spread(deltaCommittedMs, 0)),
    line('peak MiB after the first pull', ({ peakMiB }) => whole(peakMiB.afterFirst)),
    line('after unchanged pulls', ({ peakMiB }) => whole(peakMiB.afterUnchanged)),
    line('after incremental syncs', ({ peakMiB }) => whole(peakMiB.atTheEnd)),
    line('load of the machine', ({ load }) => load.toFixed(1)),
    line('Redis, bytes a row with its chain', ({ redisBytesPerRow }) => whole(redisBytesPerRow)),
  ];
}
