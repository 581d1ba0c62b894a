import type { LineResult } from './lines.ts';
import { spread, whole } from './words.ts';

/** The lines as an aligned table: what was measured, what it is to be, and whether it is. */
export function linesAsText(lines: readonly LineResult[]): string {
  const rows = [HEADINGS, ...lines.map(cellsOf)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const text = rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${text.join('\n')}\n`;
}

export function linesAsMarkdown(lines: readonly LineResult[]): string {
  const rows = [HEADINGS, HEADINGS.map(() => '---'), ...lines.map(cellsOf)];
  return rows.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

const HEADINGS = ['line', 'median (least–most)', 'target', 'stretch', '', 'records', 'rows, rounds, load'];

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
