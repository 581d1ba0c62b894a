import { readFile, writeFile } from 'node:fs/promises';
import { StackError } from '../stack/errors.ts';
import type { LineResult } from './lines.ts';
import { linesAsMarkdown, linesAsText } from './lines-table.ts';
import { HELP, readOptions, type BenchOptions } from './options.ts';
import { reportOf } from './report.ts';
import { run, type BenchNumbers } from './run.ts';

const print = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

async function bench(options: BenchOptions, signal: AbortSignal): Promise<string> {
  const { format, outFile, fromFiles } = options;
  if (fromFiles.length > 0) return shown(await linesOf(fromFiles), format);
  const startedAtMs = performance.now();
  const numbers = await run(options, { print, signal });
  print(`done after ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`);
  const json = `${JSON.stringify(numbers, null, 2)}\n`;
  if (outFile !== null) await writeFile(outFile, json);
  if (format === 'text') return reportOf(numbers);
  return format === 'json' ? json : linesAsMarkdown(numbers.lines);
}

/** The lines of earlier runs, in the order in which they were first measured; a later file replaces a line. */
async function linesOf(files: readonly string[]): Promise<LineResult[]> {
  const byName = new Map<string, LineResult>();
  for (const file of files) {
    const { lines } = JSON.parse(await readFile(file, 'utf8')) as Pick<BenchNumbers, 'lines'>;
    for (const line of lines) byName.set(line.name, line);
  }
  return [...byName.values()];
}

function shown(lines: readonly LineResult[], format: BenchOptions['format']): string {
  if (format === 'json') return `${JSON.stringify({ lines }, null, 2)}\n`;
  return format === 'markdown' ? linesAsMarkdown(lines) : linesAsText(lines);
}

async function main(): Promise<number> {
  let options: BenchOptions | null;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    print(`${(error as Error).message}. See npm run bench -- --help`);
    return 2;
  }
  if (options === null) {
    process.stdout.write(HELP);
    return 0;
  }
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());
  try {
    process.stdout.write(await bench(options, interrupt.signal));
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) return 130;
    print(error instanceof StackError ? error.message : String((error as Error).stack));
    return 1;
  }
}

process.exitCode = await main();
