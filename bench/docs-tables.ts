import { growthCells } from './growth-table.ts';
import { lineCells } from './lines-table.ts';
import { peerCells } from './peers-table.ts';
import type { BenchNumbers } from './run.ts';
import { markdownTable } from './tables.ts';

/** The tables of docs/performance.md by the name of their place; only those that the numbers have. */
function tablesByPlace({ lines, growth, parts: { peers } }: BenchNumbers): Readonly<Record<string, string>> {
  return {
    ...(lines.length > 0 && { lines: markdownTable(lineCells(lines)) }),
    ...(peers !== undefined && { peers: markdownTable(peerCells(peers)) }),
    ...(growth.length > 0 && { growth: markdownTable(growthCells(growth)) }),
  };
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
