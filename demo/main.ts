/**
 * npm run demo -- [--for 60s] [--students 400] [--seed 1] [--changes-per-minute 90] [--brokers 3]
 *
 * Starts a real Kafka, schema registry and Redis, an invented school district that changes, and Rollcall between them.
 * Then it shows what a consumer of the topics gets, decoded. It prints each change of an absence, with its times and
 * class. It prints other records one by one as long as they are few. Ctrl-C stops the demo.
 *
 *   --for <duration>            let the demo end by itself, for example 30s or 2m after the first load. At the end, the
 *                               district stops changing, full syncs run until every row that left the hub is removed,
 *                               and the demo compares all topics with the hub. The exit code is 0 if they are equal,
 *                               and 1 if not
 *   --students <n>              the number of students in the district
 *   --seed <n>                  a number from which the district is made: another number makes another district
 *   --changes-per-minute <n>    how often the district changes
 *   --brokers <n>               how many brokers Kafka has: 3, or 1, which needs less memory
 */
import { checked, durationMs, readOptions, wholeNumber } from '../examples/support/read-options.ts';
import { startReferenceHub, type ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import { brokerCount } from '../stack/broker-count.ts';
import { startStack } from '../stack/start-stack.ts';
import { mirrorDistrict } from './mirror-district.ts';
import { runProgram } from './run-program.ts';
import { count, createScreen } from './screen.ts';

const values = readOptions(import.meta.filename, {
  for: { type: 'string' },
  students: { type: 'string', default: '400' },
  seed: { type: 'string', default: '1' },
  'changes-per-minute': { type: 'string', default: '90' },
  brokers: { type: 'string', default: '3' },
});
const forMs = durationMs('--for', values.for);
const students = wholeNumber('--students', values.students);
const seed = wholeNumber('--seed', values.seed);
const changesPerMinute = wholeNumber('--changes-per-minute', values['changes-per-minute']);
const brokers = checked(() => brokerCount(values.brokers));

const screen = createScreen(process.stdout, process.env);

async function demo(interrupted: AbortSignal): Promise<number> {
  const { print, doing, colors } = screen;
  print(
    colors.bold('Rollcall') +
      ': a school district in, Kafka topics out. Everything here is real except the district.',
  );
  doing(() => 'starting Kafka, registry and Redis');
  await using stack = await startStack({
    print: (line) => print(colors.dim(`  stack  ${line}`)),
    brokers,
    signal: interrupted,
  });
  const hub = await startReferenceHub({ students, seed, live: true, changesPerMinute });
  try {
    print(colors.dim(`  hub    ${count(rowsOf(hub))} rows of an invented district at ${hub.baseUrl}`));
    return await mirrorDistrict({ forMs, screen, interrupted, stack, hub });
  } finally {
    await hub.stop();
  }
}

function rowsOf(hub: ReferenceHub): number {
  return Object.values(hub.district.counts()).reduce((sum, rows) => sum + rows, 0);
}

await runProgram(demo);
