import { stripVTControlCharacters } from 'node:util';
import picocolors from 'picocolors';
import { createProgressLine, type ProgressLine, type ProgressStream } from './progress-line.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

/** One column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right' | undefined;
}

/** The output of a verb: data on stdout, everything else on stderr. */
export interface Output {
  /** Whether `--json` was given: then only {@link Output.data} writes to stdout. */
  readonly json: boolean;
  /** Colour functions for stdout; without colours they return the text unchanged. */
  readonly colors: Colors;
  /** A line for people, on stdout; nothing with `--json`. */
  line(text?: string): void;
  /** Aligned rows for people, on stdout; nothing with `--json`. */
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): void;
  /** A value for programs: one line of JSON on stdout; nothing without `--json`. */
  data(value: unknown): void;
  /** A remark, on stderr. */
  note(text: string): void;
  /** A progress line on stderr. */
  progress(): ProgressLine;
}

export interface OutputStreams {
  readonly stdout: ProgressStream;
  readonly stderr: ProgressStream;
}

export function createOutput(options: {
  streams: OutputStreams;
  env: Readonly<Record<string, string | undefined>>;
  json: boolean;
  /** False for `--no-color`. */
  color?: boolean | undefined;
  nowMs: () => number;
}): Output {
  const { streams, json, nowMs } = options;
  const colors = picocolors.createColors(wantsColors(streams.stdout, options));
  return {
    json,
    colors,
    line(text = '') {
      if (!json) streams.stdout.write(`${text}\n`);
    },
    table(columns, rows) {
      if (json) return;
      const [titles = '', ...lines] = formatTable(columns, rows);
      streams.stdout.write(`${[colors.dim(titles), ...lines].join('\n')}\n`);
    },
    data(value) {
      if (json) streams.stdout.write(`${JSON.stringify(value)}\n`);
    },
    note(text) {
      streams.stderr.write(`${text}\n`);
    },
    progress: () => createProgressLine({ stream: streams.stderr, nowMs }),
  };
}

/** Whether to use colours: only on a terminal, and not with NO_COLOR (https://no-color.org) or `--no-color`. */
export function wantsColors(
  stream: ProgressStream,
  options: { env: Readonly<Record<string, string | undefined>>; color?: boolean | undefined },
): boolean {
  const noColor = options.env['NO_COLOR'] ?? '';
  if (options.color === false || noColor !== '' || options.env['TERM'] === 'dumb') return false;
  return stream.isTTY === true;
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
