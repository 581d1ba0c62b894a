import { StackError } from '../stack/errors.ts';
import { startStack } from '../stack/start-stack.ts';
import { startHub } from './hub-process.ts';
import { loadNow, measure, type BenchNumbers } from './measure.ts';
import { HELP, readOptions, type BenchOptions } from './options.ts';
import { reportOf } from './report.ts';

const print = (line: string): void => void process.stderr.write(`bench: ${line}\n`);

async function bench(options: BenchOptions, signal: AbortSignal): Promise<BenchNumbers> {
  const loadAtStart = loadNow();
  await using stack = await startStack({ print, signal });
  print('building the district');
  await using hub = await startHub({ rows: options.rows, signal });
  const { rounds, profileFolder } = options;
  return await measure({ stack, hub, rounds, profileFolder, loadAtStart, print, signal });
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
    const startedAtMs = performance.now();
    const numbers = await bench(options, interrupt.signal);
    print(`done after ${((performance.now() - startedAtMs) / 1_000).toFixed(0)} s`);
    process.stdout.write(options.json ? `${JSON.stringify(numbers, null, 2)}\n` : reportOf(numbers));
    return 0;
  } catch (error) {
    if (interrupt.signal.aborted) return 130;
    print(error instanceof StackError ? error.message : String((error as Error).stack));
    return 1;
  }
}

process.exitCode = await main();
