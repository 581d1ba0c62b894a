import { stripVTControlCharacters } from 'node:util';
import picocolors from 'picocolors';
import { commandsHere } from '../commands-here.ts';
import { wrapped } from '../core/words.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

/** The output of a verb: data on stdout, everything else on stderr. */
export interface Output {
  /** Colour functions for stdout; without colours they return the text unchanged. */
  readonly colors: Colors;
  /** A line for people, on stdout; nothing with `--json`. */
  line(text?: string): void;
  /** A mark and a text, on as many lines as the terminal needs. */
  item(mark: string, text: string): void;
  /**
   * Aligned rows for people, on stdout; nothing with `--json`. A column of numbers alone is aligned right. `dispensable`: titles of
   * the columns to leave out, one after another, where the terminal is not wide enough.
   */
  table(
    titles: readonly string[],
    rows: readonly (readonly string[])[],
    dispensable?: readonly string[],
  ): void;
  /** A value for programs: one line of JSON on stdout; nothing without `--json`. */
  data(value: unknown): void;
  /** A remark, on stderr. */
  note(text: string): void;
  /** Progress: a line on stderr every few seconds. */
  progress(text: string): void;
}

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  /** The width of a terminal. */
  readonly columns?: number | undefined;
  /** The descriptor of a stream of the process. */
  readonly fd?: number | undefined;
  /** Only a terminal has it. Node knows TERM and NO_COLOR (https://no-color.org). */
  hasColors?(env: NodeJS.ProcessEnv): boolean;
  write(text: string): unknown;
}

/** The part of `process` that the command line uses; a test gives its own. */
export interface Host extends Pick<NodeJS.Process, 'env' | 'exitCode'> {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
}

const PROGRESS_EVERY_MS = 2_000;
/** The width if the stream is not a terminal: nothing is wrapped or left out. */
const WIDEST = 100_000;

export function createOutput(options: {
  host: Pick<Host, 'stdout' | 'stderr' | 'env'>;
  json: boolean;
  /** False for `--no-color`. */
  color?: boolean | undefined;
  /** The file that `--config` names: printed commands name it, too. */
  config?: string | undefined;
  /** A clock that never goes back, ms. */
  nowMs: () => number;
}): Output {
  const { json, config, nowMs } = options;
  const { stdout, stderr, env } = options.host;
  const columns = stdout.isTTY === true ? (stdout.columns ?? WIDEST) : WIDEST;
  const colors = colorsFor(stdout, env, options.color);
  let progressAtMs = Number.NEGATIVE_INFINITY;
  const print = (stream: OutputStream, text: string): void => void stream.write(`${text}\n`);
  const table: Output['table'] = (titles, rows, [least, ...others] = []) => {
    const [first = '', ...lines] = formatTable(titles, rows);
    const isWide = [first, ...lines].some((line) => stripVTControlCharacters(line).length > columns);
    const keep = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => titles[at] !== least);
    if (isWide && least !== undefined) table(keep(titles), rows.map(keep), others);
    else if (!json) print(stdout, commandsHere([colors.dim(first), ...lines].join('\n'), config));
  };
  return {
    colors,
    line(text = '') {
      if (!json) print(stdout, commandsHere(text, config));
    },
    item(mark, text) {
      const [first = '', ...lines] = wrapped(commandsHere(text, config), columns, '    ');
      if (!json) print(stdout, [`${mark} ${first.trimStart()}`, ...lines].join('\n'));
    },
    table,
    data(value) {
      if (json) print(stdout, JSON.stringify(value));
    },
    note(text) {
      print(stderr, commandsHere(text, config));
    },
    progress(text) {
      if (nowMs() - progressAtMs < PROGRESS_EVERY_MS) return;
      progressAtMs = nowMs();
      print(stderr, text);
    },
  };
}

/** Colours on a terminal that shows them. `color`: false for `--no-color`. */
export function colorsFor(stream: OutputStream, env: NodeJS.ProcessEnv, color = true): Colors {
  return picocolors.createColors(color && stream.hasColors?.(env) === true);
}

const COUNT_OR_NONE = /^(-|[\d,]*)$/;

/** Aligned text lines, the titles first; colours in cells do not affect the alignment. */
export function formatTable(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = titles.map((title, at) => {
    const cells = rows.map((row) => stripVTControlCharacters(row[at] ?? ''));
    const width = cells.reduce((most, { length }) => Math.max(most, length), title.length);
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
