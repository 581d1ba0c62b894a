/**
 * npm run -s example -- examples/postgres-sink [--for 60s] [--postgres <url>] [--students 400] [--changes-per-minute 90]
 *
 * Starts Kafka, registry and Redis, an invented school district that changes, Rollcall, Kafka Connect with Debezium's JDBC sink,
 * and PostgreSQL. Then it shows the answers to some questions. Ctrl-C stops the example. It needs Java 17, Maven and PostgreSQL.
 *
 *   --for <duration>            let the example end by itself, for example 30s or 2m after the first load. At the end, the
 *                               district stops changing, and the tables are compared with the hub. The exit code is 0 if
 *                               they are equal, and 1 if not
 *   --postgres <url>            use this server instead of starting one. The user must have the right to create a database.
 *                               For example postgresql://user:password@host:5432/postgres
 *   --students <n>              the number of students in the district
 *   --changes-per-minute <n>    how often the district changes
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { mirrorHub, TENANT, type MirroredHub } from '../../../demo/mirror-hub.ts';
import { readUntilNothingIsMissing } from '../../../demo/read-until-nothing-is-missing.ts';
import { runProgram } from '../../../demo/run-program.ts';
import { createScreen } from '../../../demo/screen.ts';
import { startReferenceHub, type ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { startStack } from '../../../stack/start-stack.ts';
import { durationMs, readOptions, wholeNumber } from '../../support/read-options.ts';
import { compareTables } from './compare-tables.ts';
import { fetchConnect, startConnect } from './connect.ts';
import { openDatabase } from './postgres.ts';
import { addressesOf, EXAMPLE, takePositions, until, untilTaken, type Sink } from './sink.ts';

/** The longest time for which a timer can be set. */
const FOREVER_MS = 2 ** 31 - 1;

const options = readOptions(import.meta.filename, {
  for: { type: 'string' },
  postgres: { type: 'string' },
  students: { type: 'string', default: '400' },
  'changes-per-minute': { type: 'string', default: '90' },
});
const forMs = durationMs('--for', options.for);
const students = wholeNumber('--students', options.students);
const changesPerMinute = wholeNumber('--changes-per-minute', options['changes-per-minute']);

const { print, doing, colors } = createScreen(process.stdout, process.env);

/** Shows what the program waits for. Call the function that this returns to show how far along that is. */
function waiting(what: string): (state: string) => void {
  let now = what;
  doing(() => now);
  return (state) => {
    now = `${what}: ${state}`;
  };
}

async function example(signal: AbortSignal): Promise<number> {
  await fetchConnect({ signal, onWait: waiting('fetching Kafka Connect with Maven') });
  doing(() => 'starting Kafka, registry and Redis');
  await using stack = await startStack({ print: (line) => print(`  stack  ${line}`), signal });
  doing(() => 'starting PostgreSQL');
  await using database = await openDatabase(options.postgres ?? null, signal);
  print(`  PostgreSQL  psql ${database.url.href}`);
  await database.runFile(join(EXAMPLE, 'tables.sql'));
  const hub = await startReferenceHub({ students, live: true, changesPerMinute });
  try {
    const prefix = `sink-${Date.now()}`;
    print(`  Rollcall    topics ${prefix}.${TENANT}.*`);
    doing(() => 'creating the topics');
    const onFailure = (failure: string): void => print(`Rollcall: ${failure}`);
    await using mirrored = await mirrorHub({ stack, hub, prefix, signal, onFailure });
    const show = async (): Promise<number> => {
      doing(() => `loading the district: ${mirrored.progress.describe(colors)}`);
      await until(signal, () => mirrored.progress.isComplete);
      const env = addressesOf(stack, `${prefix}.${TENANT}`, database);
      const onWait = waiting('starting Kafka Connect');
      await using connect = await startConnect(env, { signal, onWait });
      print(`  Connect     ${connect.url}/connectors?expand=status`);
      return await watch({ connect, database }, { mirrored, hub, signal });
    };
    return await Promise.race([show(), mirrored.over]);
  } finally {
    doing(null);
    await hub.stop();
  }
}

interface Watched {
  readonly mirrored: MirroredHub;
  readonly hub: ReferenceHub;
  readonly signal: AbortSignal;
}

/** Shows the answers after the first load and after some changes, and compares at the end; returns the exit code. */
async function watch(sink: Sink, { mirrored, hub, signal }: Watched): Promise<number> {
  const { run, progress } = mirrored;
  await untilTakenNow(sink, mirrored, signal);
  await sink.database.runFile(join(EXAMPLE, 'lives.sql'));
  print('\n── the tables hold the first load; from here on, changes are news');
  await answer(sink);
  if (forMs === null) print('This goes on until Ctrl-C.');
  doing(forMs === null ? null : () => 'letting the district change');
  await delay(forMs ?? FOREVER_MS, undefined, { signal });
  print('── the district stops changing; full syncs run until every row that left it is removed');
  hub.living.freeze();
  doing(() => `running full syncs: ${progress.describe(colors)}`);
  await readUntilNothingIsMissing(run, { signal, onRound: () => progress.beginAgain() });
  await untilTakenNow(sink, mirrored, signal);
  await answer(sink);
  return compare(sink, hub);
}

/** Waits until the tables hold all that Rollcall has published by now. */
async function untilTakenNow(sink: Sink, { run }: MirroredHub, signal: AbortSignal): Promise<void> {
  const published = [...(run.session?.writers.values() ?? [])].flatMap(({ progress }) => progress ?? []);
  await untilTaken(sink, published, { signal, onWait: waiting('filling the tables') });
}

async function answer(sink: Sink): Promise<void> {
  doing(() => 'asking the questions');
  await takePositions(sink);
  print(await sink.database.show(join(EXAMPLE, 'questions.sql')));
}

const REMOVED = 'SELECT sum(n_tup_del) AS removed FROM pg_stat_user_tables';

async function compare(sink: Sink, hub: ReferenceHub): Promise<number> {
  doing(() => 'comparing the tables with the hub');
  let isEqual = true;
  for await (const { table, rows, differences } of compareTables(sink.database, hub)) {
    print(
      `  ${table.padEnd(22)} ${String(rows).padStart(7)} rows   ${differences.length === 0 ? 'equals the hub' : 'differs'}`,
    );
    for (const difference of differences) print(`    ${difference}`);
    isEqual &&= differences.length === 0;
  }
  const [{ removed } = { removed: 0 }] = await sink.database.rows<{ removed: number }>(REMOVED);
  print(`  ${removed} rows were removed meanwhile`);
  print(isEqual ? '\nThe tables equal the hub.' : '\nThe tables differ from the hub.');
  return isEqual ? 0 : 1;
}

await runProgram(example);
