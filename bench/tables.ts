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
  const all = [headings, headings.map(() => '---'), ...rows];
  return all.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
