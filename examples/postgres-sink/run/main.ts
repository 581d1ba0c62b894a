/**
 * npm run -s example -- examples/postgres-sink [--for 60s] [--postgres <url>] [--students 400] [--changes-per-minute 90]
 *
 * Starts Kafka, registry and Redis, an invented school district that changes, Rollcall, Kafka Connect with Debezium's JDBC sink,
 * and PostgreSQL; shows the answers to some questions. Ctrl-C stops it. Needs Java 17 and Maven, and PostgreSQL.
 *
 *   --for <duration>            stop by itself, 30s or 2m after the first load: freeze the district, and compare the tables
 *                               with the hub. Exit code 0 if they are equal, 1 if not
 *   --postgres <url>            a server on which the user may create a database, instead of one that is started:
 *                               postgresql://user:password@host:5432/postgres
 *   --students <n>              size of the district
 *   --changes-per-minute <n>    how often it changes
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Progress } from '../../../demo/progress.ts';
import { readUntilNothingIsMissing } from '../../../demo/read-until-nothing-is-missing.ts';
import { startReferenceHub, type ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { loadConfig, type Config } from '../../../src/config.ts';
import { describeError, RollcallError } from '../../../src/errors.ts';
import { assemble } from '../../../src/session/assemble.ts';
import { TenantRun } from '../../../src/worker/tenant-run.ts';
import { StackError } from '../../../stack/errors.ts';
import { startStack, type Stack } from '../../../stack/start-stack.ts';
import { misused, readOptions } from '../../support/read-options.ts';
import { compareTables } from './compare-tables.ts';
import { fetchConnect, startConnect } from './connect.ts';
import { openDatabase } from './postgres.ts';
import { addressesOf, EXAMPLE, takePositions, untilTaken, type Published, type Sink } from './sink.ts';

const TENANT = 'north';
/** The longest time that a timer takes. */
const FOREVER_MS = 2 ** 31 - 1;

const options = readOptions(import.meta.filename, {
  for: { type: 'string' },
  postgres: { type: 'string' },
  students: { type: 'string', default: '400' },
  'changes-per-minute': { type: 'string', default: '90' },
});
const forMs = options.for === undefined ? null : durationMs(options.for);

function durationMs(text: string): number {
  const [, number, unit] = /^(\d{1,6})(s|m)$/.exec(text) ?? [];
  if (number === undefined) return misused(`--for takes a duration such as 60s or 2m, not ${text}`);
  return Number(number) * (unit === 'm' ? 60_000 : 1_000);
}

const print = (line: string): void => console.log(line);
const interrupt = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());

function configFor(stack: Stack, hub: ReferenceHub, name: string): Config {
  const yaml = `
tenants:
  - id: ${TENANT}
    hub: { baseUrl: "${hub.baseUrl}", tokenUrl: "${hub.tokenUrl}", clientId: "${hub.clientId}", clientSecret: "${hub.clientSecret}" }
    incrementalEvery: 2s
kafka: { brokers: ["${stack.kafkaBrokers.join('", "')}"], topicPrefix: "${name}", replicationFactor: ${stack.replicationFactor} }
registry: { url: "${stack.registryUrl}" }
redis: { url: "${stack.redisUrl}", keyPrefix: "${name}" }
`;
  return loadConfig({ path: 'the example', env: {}, readFile: () => yaml });
}

/** What Rollcall has published by now. */
function publishedBy(run: TenantRun): Published[] {
  return [...(run.session?.writers.values() ?? [])].flatMap(({ progress }) => progress ?? []);
}

async function answer(sink: Sink): Promise<void> {
  await takePositions(sink);
  print(await sink.database.show(join(EXAMPLE, 'questions.sql')));
}

const REMOVED = 'SELECT sum(n_tup_del) AS removed FROM pg_stat_user_tables';

async function compare(sink: Sink, hub: ReferenceHub): Promise<number> {
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

/** Mirrors the district until the signal aborts, while `work` runs. */
async function mirror<Result>(
  config: Config,
  signal: AbortSignal,
  work: (run: TenantRun, firstLoad: Promise<void>) => Promise<Result>,
): Promise<Result> {
  const ended = new AbortController();
  const loaded = Promise.withResolvers<void>();
  let progress: Progress | null = null;
  await using assembly = assemble(config, {
    logger: pino({ level: 'silent' }),
    emit: (_tenant, event) => {
      progress?.note(event);
      if (progress?.isComplete === true) loaded.resolve();
      if (event.type === 'session-failed') print(`Rollcall: ${describeError(event.error)}`);
    },
  });
  await using tenant = assembly.tenant(TENANT);
  progress = new Progress(tenant.collections.map(({ name }) => name));
  const run = new TenantRun(tenant);
  const publishing = run.mirror(AbortSignal.any([signal, ended.signal]));
  try {
    const failed = publishing.then((failure) => {
      throw failure ?? new Error('interrupted');
    });
    return await Promise.race([work(run, loaded.promise), failed]);
  } finally {
    ended.abort();
    await publishing.catch(() => undefined);
  }
}

async function example(signal: AbortSignal): Promise<number> {
  await fetchConnect(signal);
  await using stack = await startStack({ print: (line) => print(`  stack  ${line}`), signal });
  await using database = await openDatabase(options.postgres ?? null, signal);
  print(`  PostgreSQL  psql ${database.url.href}`);
  await database.runFile(join(EXAMPLE, 'tables.sql'));
  const hub = await startReferenceHub({
    students: Number(options.students),
    live: true,
    changesPerMinute: Number(options['changes-per-minute']),
  });
  try {
    const name = `sink-${Date.now()}`;
    print(`  Rollcall    topics ${name}.${TENANT}.*`);
    return await mirror(configFor(stack, hub, name), signal, async (run, firstLoad) => {
      await firstLoad;
      await using connect = await startConnect(addressesOf(stack, `${name}.${TENANT}`, database), signal);
      print(`  Connect     ${connect.url}/connectors?expand=status`);
      return await watch({ connect, database }, { run, hub, signal });
    });
  } finally {
    await hub.stop();
  }
}

interface Watched {
  readonly run: TenantRun;
  readonly hub: ReferenceHub;
  readonly signal: AbortSignal;
}

/** Shows the answers after the first load and after some changes, and compares at the end; returns the exit code. */
async function watch(sink: Sink, { run, hub, signal }: Watched): Promise<number> {
  await untilTaken(sink, publishedBy(run), signal);
  await sink.database.runFile(join(EXAMPLE, 'lives.sql'));
  print('\n── the tables hold the first load; from here on, changes are news');
  await answer(sink);
  await delay(forMs ?? FOREVER_MS, undefined, { signal });
  print('── the district stops changing; full syncs run until every row that left it is removed');
  hub.living.freeze();
  await readUntilNothingIsMissing(run, { signal, onRound: () => undefined });
  await untilTaken(sink, publishedBy(run), signal);
  await answer(sink);
  return compare(sink, hub);
}

try {
  process.exitCode = await example(interrupt.signal);
} catch (error) {
  if (!interrupt.signal.aborted) {
    const isKnown = error instanceof StackError || error instanceof RollcallError;
    process.stderr.write(`✗ ${isKnown ? error.message : String((error as Error).stack ?? error)}\n`);
    process.exitCode = 1;
  }
}
