import { parseArgs } from 'node:util';
import { RollcallError } from '../src/errors.ts';
import { startReferenceHub, type ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import { brokerCount, type BrokerCount } from '../stack/broker-count.ts';
import { StackError } from '../stack/errors.ts';
import { startStack } from '../stack/start-stack.ts';
import { mirrorDistrict } from './mirror-district.ts';
import { count, createScreen, type Screen } from './screen.ts';

const HELP = `npm run demo -- [--for 60s] [--students 400] [--seed 1] [--changes-per-minute 90] [--brokers 3]

Starts real Kafka, schema registry and Redis, an invented school district that changes, and Rollcall between them;
shows what a consumer of the topics gets, decoded: each change of an absence with its times and class, other records
one by one while they are few. Ctrl-C stops it.

  --for <duration>            stop by itself, 30s or 2m after the first load: freeze the district, run full syncs until
                              every row that left is removed, and compare all topics with the hub. Exit code 0 if
                              they are equal, 1 if not
  --students <n>              size of the district
  --seed <n>                  another district
  --changes-per-minute <n>    how often it changes
  --brokers <n>               how many brokers Kafka has: 3, or 1, which needs less memory
`;

interface Options {
  readonly forMs: number | null;
  readonly students: number;
  readonly seed: number;
  readonly changesPerMinute: number;
  readonly brokers: BrokerCount;
}

function readOptions(): Options | null {
  const { values } = parseArgs({
    options: {
      for: { type: 'string' },
      students: { type: 'string', default: '400' },
      seed: { type: 'string', default: '1' },
      'changes-per-minute': { type: 'string', default: '90' },
      brokers: { type: 'string', default: '3' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  return {
    forMs: values.for === undefined ? null : durationMs(values.for),
    students: wholeNumber('--students', values.students),
    seed: wholeNumber('--seed', values.seed),
    changesPerMinute: wholeNumber('--changes-per-minute', values['changes-per-minute']),
    brokers: brokerCount(values.brokers),
  };
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new Error(`${name} takes a whole number, not ${text}`);
}

function durationMs(text: string): number {
  const [, number, unit] = /^(\d{1,6})(s|m)$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`--for takes a duration such as 60s or 2m, not ${text}`);
  return Number(number) * (unit === 'm' ? 60_000 : 1_000);
}

async function demo(options: Options, screen: Screen, interrupted: AbortSignal): Promise<number> {
  const { print, colors } = screen;
  print(
    colors.bold('Rollcall') +
      ': a school district in, Kafka topics out. Everything here is real except the district.',
  );
  await using stack = await startStack({
    print: (line) => print(colors.dim(`  stack  ${line}`)),
    brokers: options.brokers,
    signal: interrupted,
  });
  const hub = await startReferenceHub({
    students: options.students,
    seed: options.seed,
    live: true,
    changesPerMinute: options.changesPerMinute,
  });
  try {
    print(colors.dim(`  hub    ${count(rowsOf(hub))} rows of an invented district at ${hub.baseUrl}`));
    return await mirrorDistrict({ forMs: options.forMs, screen, interrupted, stack, hub });
  } finally {
    await hub.stop();
  }
}

function rowsOf(hub: ReferenceHub): number {
  return Object.values(hub.district.counts()).reduce((sum, rows) => sum + rows, 0);
}

async function main(): Promise<number> {
  const screen = createScreen(process.stdout, process.env);
  let options: Options | null;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(
      `✗ ${error instanceof Error ? error.message : String(error)}\n→ npm run demo -- --help\n`,
    );
    return 2;
  }
  if (options === null) {
    screen.print(HELP);
    return 0;
  }
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());
  try {
    return await demo(options, screen, interrupt.signal);
  } catch (error) {
    if (interrupt.signal.aborted) return 0;
    const known = error instanceof StackError || error instanceof RollcallError;
    process.stderr.write(`✗ ${known ? error.message : String((error as Error).stack ?? error)}\n`);
    if (error instanceof RollcallError) process.stderr.write(`→ ${error.remedy}\n`);
    return 1;
  }
}

process.exitCode = await main();
