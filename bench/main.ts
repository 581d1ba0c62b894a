import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StackError } from '../stack/errors.ts';
import { HELP, readOptions, type BenchOptions } from './options.ts';
import type { PartNumbers } from './parts.ts';
import { reportOf } from './report.ts';
import { run, type BenchNumbers } from './run.ts';
import { withTables } from './tables.ts';

const PAGE = join(import.meta.dirname, '..', 'docs', 'performance.md');

const print = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

async function bench(options: BenchOptions, signal: AbortSignal): Promise<string> {
  const { isJson, fromFiles, isForDocs } = options;
  const numbers = fromFiles.length > 0 ? await merged(fromFiles) : await measured(options, signal);
  if (isForDocs) await writeFile(PAGE, withTables(await readFile(PAGE, 'utf8'), numbers));
  return isJson ? `${JSON.stringify(numbers, null, 2)}\n` : reportOf(numbers);
}

async function measured(options: BenchOptions, signal: AbortSignal): Promise<BenchNumbers> {
  const startedAtMs = performance.now();
  const numbers = await run(options, { print, signal });
  print(`done after ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`);
  return numbers;
}

/** Earlier runs as one: of a line, a size or a part that several have, the last. */
async function merged(files: readonly string[]): Promise<BenchNumbers> {
  const runs = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(file, 'utf8')) as BenchNumbers),
  );
  const last = runs.at(-1);
  if (last === undefined) throw new Error('no file was given');
  const lines = new Map(runs.flatMap((each) => each.lines).map((line) => [line.name, line]));
  const growth = new Map(runs.flatMap((each) => each.growth).map((size) => [size.rows, size]));
  const parts = Object.assign({}, ...runs.map((each) => each.parts)) as PartNumbers;
  return { ...last, lines: [...lines.values()], growth: [...growth.values()], parts };
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
