import { stripVTControlCharacters } from 'node:util';
import picocolors from 'picocolors';
import { createProgressLine, type ProgressLine, type ProgressStream } from './progress-line.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

/** The output of a verb: data on stdout, everything else on stderr. */
export interface Output {
  /** Whether `--json` was given: then only {@link Output.data} writes to stdout. */
  readonly json: boolean;
  /** Colour functions for stdout; without colours they return the text unchanged. */
  readonly colors: Colors;
  /** A line for people, on stdout; nothing with `--json`. */
  line(text?: string): void;
  /** Aligned rows for people, on stdout; nothing with `--json`. A column of numbers alone is aligned right. */
  table(titles: readonly string[], rows: readonly (readonly string[])[]): void;
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
    table(titles, rows) {
      if (json) return;
      const [first = '', ...lines] = formatTable(titles, rows);
      streams.stdout.write(`${[colors.dim(first), ...lines].join('\n')}\n`);
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

const COUNT_OR_NONE = /^(-|[\d,]*)$/;

/** Aligned text lines, the titles first; colours in cells do not affect the alignment. */
export function formatTable(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = titles.map((title, at) => {
    const cells = rows.map((row) => stripVTControlCharacters(row[at] ?? ''));
    const width = Math.max(title.length, ...cells.map(({ length }) => length));
    return { width, isRight: cells.every((cell) => COUNT_OR_NONE.test(cell)) };
  });
  const aligned = (row: readonly string[]): string =>
    columns
      .map(({ width, isRight }, at) => {
        const cell = row[at] ?? '';
        const gap = ' '.repeat(width - stripVTControlCharacters(cell).length);
        return isRight ? gap + cell : cell + gap;
      })
      .join('  ');
  return [titles, ...rows].map((row) => aligned(row).trimEnd());
}
