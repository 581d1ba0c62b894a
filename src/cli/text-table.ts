import { stripVTControlCharacters } from 'node:util';

/** One column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right' | undefined;
}

/** Aligned text lines, the titles first; colours in cells do not affect the alignment. */
export function formatTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const titles = columns.map(({ title }) => title);
  const widths = columns.map((_column, index) =>
    [titles, ...rows].reduce((widest, row) => Math.max(widest, widthOf(row[index] ?? '')), 0),
  );
  return [titles, ...rows].map((row) =>
    columns
      .map((column, index) => {
        const cell = row[index] ?? '';
        const gap = ' '.repeat((widths[index] ?? 0) - widthOf(cell));
        return column.align === 'right' ? gap + cell : cell + gap;
      })
      .join('  ')
      .trimEnd(),
  );
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
