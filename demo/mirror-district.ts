import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig, type Config } from '../src/config.ts';
import { localDate } from '../src/core/full-pull-time.ts';
import { windowAround, type DayWindow } from '../src/core/lessons/window.ts';
import { describeError } from '../src/errors.ts';
import { STATE_TOPIC } from '../src/model/collections.ts';
import { assemble } from '../src/session/assemble.ts';
import type { PipelineEvent } from '../src/core/pipeline-events.ts';
import { TenantRun } from '../src/worker/worker.ts';
import type { TenantSession } from '../src/session/open-session.ts';
import type { ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import type { Stack } from '../stack/start-stack.ts';
import { Changes } from './changes.ts';
import { compareWithHub, type ComparedTopic } from './compare-with-hub.ts';
import { Progress } from './progress.ts';
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
  const { session } = run;
  if (session === null) throw run.failure ?? new Error('interrupted');
  const changes = new Changes(screen, { timeZone: tenant.config.fullPull.timeZone });
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
    await live(parts, { progress, changes, timeZone: tenant.config.fullPull.timeZone });
    if (parts.forMs === null || interrupted.aborted) return 0;
    const { fullPull, schedules } = tenant.config;
    const days = (): DayWindow => windowAround(localDate(Date.now(), fullPull.timeZone), schedules);
    return await conclude(parts, { session, changes, topics, days, progress });
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
    deltaEvery: 2s
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

/** Shows the first load, then changes as they come, and one nightly re-stamp, until the time is over. */
async function live(
  { forMs, screen, interrupted, hub }: DemoParts,
  { progress, changes, timeZone }: { progress: Progress; changes: Changes; timeZone: string },
): Promise<void> {
  const { print, colors } = screen;
  const startedAtMs = performance.now();
  const isOver = (): boolean =>
    interrupted.aborted || (forMs !== null && performance.now() - startedAtMs >= forMs);
  let isLoaded = false;
  let loadedAtMs: number | null = null;
  let restampAtMs = Number.POSITIVE_INFINITY;
  while (!isOver()) {
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
  readonly session: TenantSession;
  readonly changes: Changes;
  readonly topics: readonly string[];
  readonly progress: Progress;
  /** The days whose schedules are mirrored now. */
  readonly days: () => DayWindow;
}

/** Freezes the district, runs two more full syncs, reads all topics and compares them with the hub. */
async function conclude({ screen, stack, hub }: DemoParts, ending: Ending): Promise<number> {
  const { print, colors } = screen;
  print(
    colors.bold(
      `── ${count(ending.changes.published)} changes of absences published so far. The district stops changing; two more full syncs of ${count(ending.session.runners.size)} collections run, then the demo compares everything`,
    ),
  );
  ending.progress.beginAgain();
  hub.living.freeze();
  const runners = [...ending.session.runners.values()];
  // A row that left during the first load may be shown to no incremental sync: two full ones in a row must miss it.
  for (let sync = 1; sync <= 2; sync += 1) {
    // Collections whose rows others need come first.
    for (const hasParents of [false, true]) {
      const syncs = runners.filter((runner) => (runner.parents !== undefined) === hasParents);
      await Promise.all(syncs.map((runner) => runner.request('FULL')));
    }
  }
  const { topics, days } = ending;
  const readAtMs = performance.now();
  print(
    `── all collections are read; comparing ${count(topics.length)} topics with the hub, record by record`,
  );
  const compared = await compareWithHub({ servers: stack, hub, topics, days: days() });
  ending.changes.stop();
  print(colors.dim(`   compared in ${((performance.now() - readAtMs) / 1000).toFixed(1)} s`));
  print('');
  for (const { collection, records, rows, verdict, differences } of compared) {
    const numbers = `${count(records).padStart(9)} records ${count(rows).padStart(9)} keys`;
    const shown = differences.length === 0 ? colors.green(verdict) : colors.red('differs');
    print(`  ${collection.padEnd(22)} ${numbers}   ${shown}`);
  }
  print('');
  return verdictOf(screen, compared);
}

function verdictOf({ print, colors }: Screen, compared: readonly ComparedTopic[]): number {
  const different = compared.filter(({ differences }) => differences.length > 0);
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
