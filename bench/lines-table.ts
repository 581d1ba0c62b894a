import type { LineResult } from './lines.ts';
import { spread, whole } from './words.ts';

const HEADINGS = ['line', 'median (least–most)', 'target', 'stretch', '', 'records', 'rows, rounds, load'];

/** The lines with their headings: what was measured, what it is to be, and whether it is. */
export function lineCells(lines: readonly LineResult[]): readonly (readonly string[])[] {
  return [HEADINGS, ...lines.map(cellsOf)];
}

function cellsOf(line: LineResult): string[] {
  const { name, title, unit, digits, value, target, stretch, verdict, records } = line;
  const limit = (of: number | null): string =>
    of === null ? '' : `${line.better === 'less' ? '≤' : '≥'} ${of} ${unit}`;
  return [
    `${title} (\`${name}\`)`,
    `${value.min === value.max ? value.median.toFixed(digits) : spread(value, digits)} ${unit}`,
    limit(target),
    limit(stretch),
    verdict ?? '',
    records === null ? '' : whole(records),
    `${whole(line.rows)}, ${line.rounds}, ${line.loadAtStart.toFixed(1)}`,
  ];
}
