import type { LineResult } from './lines.ts';
import type { GrowthNumbers } from './measure-growth.ts';
import type { PeerNumbers, PullCosts } from './measure-peers.ts';
import { PEER_TITLES, type PeerName } from './peer-contenders.ts';
import type { BenchNumbers } from './run.ts';
import { spread, spreadOf, whole } from './spread.ts';

/** Rows of cells, headings first, with aligned columns. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const columns = rows[0] ?? [];
  const widths = columns.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((cells) => `${line(cells).trimEnd()}\n`).join('');
}

/** The same as Markdown. */
export function markdownTable([headings = [], ...rows]: readonly (readonly string[])[]): string {
  const [head = '', ...body] = [headings, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
  return [head, `|${'---|'.repeat(headings.length)}\n`, ...body].join('');
}

const LINE_HEADINGS = [
  'line',
  'median (least–most)',
  'target',
  'stretch',
  'result',
  'records',
  'rows, rounds, load',
];

/** The lines with their headings: what was measured, what it is to be, and whether it is. */
export function lineCells(lines: readonly LineResult[]): readonly (readonly string[])[] {
  return [LINE_HEADINGS, ...lines.map(cellsOfLine)];
}

function cellsOfLine(line: LineResult): string[] {
  const { name, title, unit, digits, value, target, stretch, verdict, records } = line;
  const limit = (of: number | null): string =>
    of === null ? '' : `${line.better === 'less' ? '≤' : '≥'} ${of} ${unit}`;
  return [
    `${title} (\`${name}\`)`,
    `${spread(value, digits)} ${unit}`,
    limit(target),
    limit(stretch),
    verdict ?? '',
    records === null ? '' : whole(records),
    `${whole(line.rows)}, ${line.rounds}, ${line.loadAtStart.toFixed(1)}`,
  ];
}

/** Sizes side by side, with headings. */
export function growthCells(sizes: readonly GrowthNumbers[]): string[][] {
  const line = (title: string, cell: (of: GrowthNumbers) => string): string[] => [title, ...sizes.map(cell)];
  return [
    line('number of absence records', ({ rows }) => whole(rows)),
    line('plain download with JSON.parse, µs for each row', ({ fetchAndParse }) => spread(fetchAndParse)),
    line('first full sync by a new process, as a multiple of the plain download', ({ first }) =>
      first.toFixed(1),
    ),
    line('records published by this sync', ({ firstRecords }) => whole(firstRecords)),
    line('rows a second in this sync', ({ firstRowsPerSecond }) => whole(firstRowsPerSecond)),
    line('unchanged full sync, as a multiple of the plain download', ({ unchanged }) => spread(unchanged)),
    line('rows a second in an unchanged full sync', ({ unchangedRowsPerSecond }) =>
      whole(unchangedRowsPerSecond.median),
    ),
    line('incremental sync of 100 changed rows, ms of CPU', ({ incrementalCpuMs }) =>
      spread(incrementalCpuMs, 0),
    ),
    line('incremental sync of 100 changed rows, ms until committed', ({ incrementalCommittedMs }) =>
      spread(incrementalCommittedMs, 0),
    ),
    line('peak MiB after the first sync, the unchanged syncs, the incremental syncs', ({ peakMiB }) =>
      [peakMiB.afterFirst, peakMiB.afterUnchanged, peakMiB.atTheEnd].map(whole).join(', '),
    ),
    line('load of the machine', ({ load }) => load.toFixed(1)),
    line('size of a row with its chain in Redis, bytes', ({ redisBytesPerRow }) => whole(redisBytesPerRow)),
  ];
}

const PEER_HEADINGS = [
  'program, with a new process for each pull unless the row says otherwise',
  'first pull, CPU s',
  'peak MiB',
  'rows/s',
  'entries in Kafka',
  'unchanged, CPU s',
  'peak MiB',
  'rows/s',
  'entries',
];

/** Rollcall and its peers with headings; a peer that was not measured has the reason. */
export function peerCells({
  rows,
  floorSeconds,
  measured,
  runningSeconds,
  skipped,
}: PeerNumbers): string[][] {
  const blank = PEER_HEADINGS.slice(2).map(() => '');
  const names = Object.keys(PEER_TITLES) as PeerName[];
  return [
    PEER_HEADINGS,
    ...names.map((name) => {
      const costs = measured[name];
      return [PEER_TITLES[name]].concat(
        costs === undefined
          ? [`left out: ${skipped[name] ?? 'not asked for'}`].concat(blank)
          : pullCells(costs.first).concat(pullCells(costs.unchanged)),
      );
    }),
    ['Rollcall, one record for each row, in a process that already runs']
      .concat(['', '', '', '', spread(spreadOf(runningSeconds), 2)])
      .concat(['', '', '']),
    [
      `plain download of ${whole(rows)} rows with JSON.parse, in a process that already runs`,
      spread(floorSeconds, 2),
      ...blank,
    ],
  ];
}

function pullCells({ cpuSeconds, peakMiB, rowsPerSecond, entries }: PullCosts): string[] {
  return [
    spread(spreadOf(cpuSeconds), 2),
    spread(spreadOf(peakMiB), 0),
    whole(rowsPerSecond.median),
    whole(entries),
  ];
}

/** The tables of docs/performance.md by the name of their place; only those that the numbers have. The report has more columns. */
function tablesByPlace({ lines, growth, parts: { peers } }: BenchNumbers): Readonly<Record<string, string>> {
  return {
    ...(lines.length > 0 && { lines: linesForDocs(lines) }),
    ...(peers !== undefined && { peers: peersForDocs(peers) }),
    ...(growth.length > 0 && { growth: markdownTable(growthCells(growth)) }),
  };
}

/** The lines, and how many rows, rounds and load they were measured with: those measured like most others are not named. */
function linesForDocs(lines: readonly LineResult[]): string {
  const cells = lineCells(lines);
  const groups = [...Map.groupBy(lines, (_, line) => cells[line + 1]?.at(-1))];
  const conditions = groups
    .toSorted(([, one], [, other]) => one.length - other.length)
    .map(([numbers, of], group) => {
      const isRest = group > 0 && group === groups.length - 1;
      const [rows = '', rounds = '', load = ''] = numbers?.split(', ') ?? [];
      const measured = isRest ? 'the other lines' : of.map(({ name }) => name).join(', ');
      return `- ${measured}: ${rows} rows, ${rounds === '1' ? '1 round' : `${rounds} rounds`}, load ${load}`;
    });
  const short = cells.map(([title = '', value = '', target = '', , result = '']) => [
    title,
    value,
    target,
    result,
  ]);
  return `${markdownTable(short)}\nThese lines were measured with this many rows and rounds, and at this load of the machine:\n\n${conditions.join('\n')}\n`;
}

function peersForDocs(peers: PeerNumbers): string {
  const wanted = [0, 1, 2, 5, 6];
  return markdownTable(peerCells(peers).map((cells) => wanted.map((column) => cells[column] ?? '')));
}

/**
 * Puts the tables into their places in a page, which are between `<!-- lines -->` and `<!-- /lines -->`, and so on.
 *
 * @throws Error naming the place that the page does not have
 */
export function withTables(page: string, numbers: BenchNumbers): string {
  let text = page;
  for (const [place, table] of Object.entries(tablesByPlace(numbers))) {
    const [before, rest] = split(text, `<!-- ${place} -->\n`);
    const [, after] = split(rest, `<!-- /${place} -->\n`);
    text = `${before}<!-- ${place} -->\n\n${table}\n<!-- /${place} -->\n${after}`;
  }
  return text;
}

function split(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`the page has no ${mark.trim()}`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
