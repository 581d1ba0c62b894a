import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig, type Config } from '../src/config.ts';
import { localDate } from '../src/core/daily-time.ts';
import { windowAround, type DayWindow } from '../src/core/lessons/window.ts';
import { describeError } from '../src/errors.ts';
import { STATE_TOPIC } from '../src/model/collections.ts';
import { assemble } from '../src/session/assemble.ts';
import type { PipelineEvent } from '../src/core/pipeline-events.ts';
import { TenantRun } from '../src/worker/tenant-run.ts';
import type { ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import type { Stack } from '../stack/start-stack.ts';
import { Changes } from './changes.ts';
import { compareWithHub, type ComparedTopic } from './compare-with-hub.ts';
import { Progress } from './progress.ts';
import { readUntilNothingIsMissing } from './read-until-nothing-is-missing.ts';
import { count, type Screen } from './screen.ts';
import { watchTopics } from './watch-topics.ts';

const TENANT = 'north';
const STATUS_EVERY_MS = 5_000;

export interface DemoParts {
  /** How long to run, ms; null: until interrupted. */
  readonly forMs: number | null;
  readonly screen: Screen;
  readonly interrupted: AbortSignal;
  readonly stack: Stack;
  readonly hub: ReferenceHub;
}

/** Mirrors the district and shows it; returns the exit code. */
export async function mirrorDistrict(parts: DemoParts): Promise<number> {
  const { screen, interrupted, stack } = parts;
  const config = configFor(parts);
  const ended = new AbortController();
  const opened = Promise.withResolvers<void>();
  let progress: Progress | null = null;
  await using assembly = assemble(config, {
    logger: pino({ level: 'silent' }),
    emit: (_tenant, event) => {
      progress?.note(event);
      if (event.type === 'session-opened') opened.resolve();
      showFailure(screen, event);
    },
  });
  await using tenant = assembly.tenant(TENANT);
  progress = new Progress(tenant.collections.map(({ name }) => name));
  const run = new TenantRun(tenant);
  const publishing = run.mirror(AbortSignal.any([interrupted, ended.signal]));
  await Promise.race([opened.promise, publishing]);
  if (run.session === null) throw run.failure ?? new Error('interrupted');
  const changes = new Changes(screen, { timeZone: tenant.config.fullSync.timeZone });
  // The changelog of the absence view is internal.
  const topics = tenant.topics.flatMap(({ suffix, name }) => (suffix === STATE_TOPIC ? [] : [name]));
  await using _consumer = await watchTopics({
    brokers: stack.kafkaBrokers,
    registryUrl: stack.registryUrl,
    topics,
    onRecords: (records) => changes.show(records),
  });
  const status = setInterval(() => progress.show(screen), STATUS_EVERY_MS);
  try {
    await live(parts, { progress, changes, timeZone: tenant.config.fullSync.timeZone });
    if (parts.forMs === null || interrupted.aborted) return 0;
    const { fullSync, schedules } = tenant.config;
    const days = (): DayWindow => windowAround(localDate(Date.now(), fullSync.timeZone), schedules);
    return await conclude(parts, { run, changes, topics, days, progress });
  } finally {
    clearInterval(status);
    changes.stop();
    ended.abort();
    await publishing.catch(() => undefined);
  }
}

function configFor({ stack, hub }: DemoParts): Config {
  const name = `demo-${Date.now()}`;
  const yaml = `
tenants:
  - id: ${TENANT}
    hub: { baseUrl: "${hub.baseUrl}", tokenUrl: "${hub.tokenUrl}", clientId: "${hub.clientId}", clientSecret: "${hub.clientSecret}" }
    incrementalEvery: 2s
    afterschools: [${hub.district.afterschoolIds().join(', ')}]
    collections: { class-students: { enabled: true } }
kafka: { brokers: ["${stack.kafkaBrokers.join('", "')}"], topicPrefix: "${name}", replicationFactor: ${stack.replicationFactor} }
registry: { url: "${stack.registryUrl}" }
redis: { url: "${stack.redisUrl}", keyPrefix: "${name}" }
`;
  return loadConfig({ path: 'the demo', env: {}, readFile: () => yaml });
}

function showFailure(screen: Screen, event: PipelineEvent): void {
  const { red } = screen.colors;
  if (event.type === 'session-failed') screen.happened(red(describeError(event.error)));
  if (event.type === 'sync-failed')
    screen.happened(red(`${event.collection}: ${describeError(event.error)}`));
}

/** Shows the first load, then changes as they come, and one nightly re-stamp, until the time after the load is over. */
async function live(
  { forMs, screen, interrupted, hub }: DemoParts,
  { progress, changes, timeZone }: { progress: Progress; changes: Changes; timeZone: string },
): Promise<void> {
  const { print, colors } = screen;
  const startedAtMs = performance.now();
  let isLoaded = false;
  let loadedAtMs: number | null = null;
  let restampAtMs = Number.POSITIVE_INFINITY;
  let endAtMs = Number.POSITIVE_INFINITY;
  while (!interrupted.aborted && performance.now() < endAtMs) {
    await delay(200, undefined, { signal: interrupted }).catch(() => undefined);
    if (progress.isComplete) loadedAtMs ??= performance.now();
    if (!isLoaded && loadedAtMs !== null && changes.isSnapshotOver) {
      isLoaded = true;
      const seconds = ((loadedAtMs - startedAtMs) / 1000).toFixed(1);
      print(colors.bold(`── first load complete after ${seconds} s: ${progress.summary}`));
      print(
        `   From here on, changes are news. ${colors.dim(`(Times of absences are those of ${timeZone}; ids are shortened.)`)}`,
      );
      restampAtMs = performance.now() + (forMs === null ? 30_000 : forMs / 4);
      if (forMs !== null) endAtMs = performance.now() + forMs;
    }
    if (performance.now() >= restampAtMs) {
      restampAtMs = Number.POSITIVE_INFINITY;
      hub.district.restamp();
      print(
        colors.bold(
          '── night at the hub: every row gets a new dateLastModified. Watch: no flood of records follows',
        ),
      );
    }
  }
}

interface Ending {
  readonly run: TenantRun;
  readonly changes: Changes;
  readonly topics: readonly string[];
  readonly progress: Progress;
  /** The days whose schedules are mirrored now. */
  readonly days: () => DayWindow;
}

/** Freezes the district, has everything read until nothing is missing, and compares all topics with the hub. */
async function conclude(parts: DemoParts, ending: Ending): Promise<number> {
  const { screen, stack, hub, interrupted } = parts;
  const { print, colors } = screen;
  print(colors.bold(`── ${count(ending.changes.published)} changes of absences published so far`));
  print('   The district stops changing. Full syncs run until every row that left it is removed.');
  hub.living.freeze();
  await readUntilNothingIsMissing(ending.run, {
    signal: interrupted,
    onRound: (missing) => {
      ending.progress.beginAgain();
      if (missing > 0)
        print(`── ${count(missing)} rows that left are removed when another full sync misses them, too`);
    },
  });
  ending.changes.stop();
  const { topics, days } = ending;
  const readAtMs = performance.now();
  print(
    `── all collections are read; comparing ${count(topics.length)} topics with the hub, record by record`,
  );
  let shownAtMs = readAtMs;
  const compared = compareWithHub({
    servers: stack,
    hub,
    topics,
    days: days(),
    onProgress: (done, records) => {
      if (performance.now() - shownAtMs < STATUS_EVERY_MS) return;
      shownAtMs = performance.now();
      print(colors.dim(`   ${count(records)} records ${done}`));
    },
  });
  const different: ComparedTopic[] = [];
  for await (const topic of compared) {
    const { collection, records, rows, verdict, differences } = topic;
    const numbers = `${count(records).padStart(9)} records ${count(rows).padStart(9)} keys`;
    const shown = differences.length === 0 ? colors.green(verdict) : colors.red('differs');
    print(`  ${collection.padEnd(22)} ${numbers}   ${shown}`);
    if (differences.length > 0) different.push(topic);
  }
  print(colors.dim(`  compared in ${((performance.now() - readAtMs) / 1000).toFixed(1)} s`));
  print('');
  return verdictOf(screen, different);
}

function verdictOf({ print, colors }: Screen, different: readonly ComparedTopic[]): number {
  if (different.length === 0) {
    print(colors.green(colors.bold('The topics equal the hub.')));
    return 0;
  }
  print(colors.red(colors.bold('The topics differ from the hub:')));
  for (const { collection, differences } of different) {
    for (const difference of differences) print(`  ${collection} ${difference}`);
  }
  return 1;
}
