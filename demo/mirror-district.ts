import { setTimeout as delay } from 'node:timers/promises';
import { zoneClock } from '../src/core/zone-clock.ts';
import { windowAround, type DayWindow } from '../src/core/lessons/window.ts';
import { STATE_TOPIC } from '../src/model/collections.ts';
import type { TenantRun } from '../src/worker/tenant-run.ts';
import type { ReferenceHub } from '../reference-hub/start-reference-hub.ts';
import type { Stack } from '../stack/start-stack.ts';
import { Changes } from './changes.ts';
import { compareWithHub, type ComparedTopic } from './compare-with-hub.ts';
import { mirrorHub } from './mirror-hub.ts';
import type { Progress } from './progress.ts';
import { readUntilNothingIsMissing } from './read-until-nothing-is-missing.ts';
import { count, type Screen } from './screen.ts';
import { watchTopics } from './watch-topics.ts';

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
  const { screen, interrupted, stack, hub } = parts;
  screen.doing(() => 'creating the topics');
  await using mirrored = await mirrorHub({
    stack,
    hub,
    prefix: `demo-${Date.now()}`,
    settings: [
      `afterschools: [${hub.district.afterschoolIds().join(', ')}]`,
      'collections: { class-students: { enabled: true } }',
    ],
    signal: interrupted,
    onFailure: (failure) => screen.happened(screen.colors.red(failure)),
  });
  const { tenant, run, progress } = mirrored;
  const { fullSync, schedules } = tenant.config;
  const changes = new Changes(screen, { timeZone: fullSync.timeZone });
  // The changelog of the absence view is internal.
  const topics = tenant.topics.flatMap(({ suffix, name }) => (suffix === STATE_TOPIC ? [] : [name]));
  screen.doing(() => 'joining the consumer group that reads the topics');
  await using _consumer = await watchTopics({
    brokers: stack.kafkaBrokers,
    registryUrl: stack.registryUrl,
    topics,
    onRecords: (records) => changes.show(records),
  });
  const status = setInterval(() => {
    if (!progress.isComplete) screen.print(`── ${progress.describe(screen.colors)}`);
  }, STATUS_EVERY_MS);
  try {
    const shown = live(parts, { progress, changes, timeZone: fullSync.timeZone });
    await Promise.race([shown, mirrored.over]);
    if (parts.forMs === null || interrupted.aborted) return 0;
    await Promise.race([settle(parts, { run, changes, progress }), mirrored.over]);
    // The comparison leaves Rollcall no time.
    await mirrored[Symbol.asyncDispose]();
    const days = windowAround(zoneClock(fullSync.timeZone).dateAt(Date.now()), schedules);
    return await compare(parts, { topics, days });
  } finally {
    screen.doing(null);
    clearInterval(status);
    changes.stop();
  }
}

/** Shows the first load, then changes as they come, and one nightly re-stamp, until the time after the load is over. */
async function live(
  { forMs, screen, interrupted, hub }: DemoParts,
  { progress, changes, timeZone }: { progress: Progress; changes: Changes; timeZone: string },
): Promise<void> {
  const { print, doing, colors } = screen;
  const startedAtMs = performance.now();
  doing(() => `loading the district: ${progress.describe(colors)}`);
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
      doing(() => 'waiting for changes in the district');
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

interface Mirrored {
  readonly run: TenantRun;
  readonly changes: Changes;
  readonly progress: Progress;
}

/** Freezes the district, and has everything read until nothing is missing. */
async function settle(parts: DemoParts, { run, changes, progress }: Mirrored): Promise<void> {
  const { screen, hub, interrupted } = parts;
  const { print, doing, colors } = screen;
  print(colors.bold(`── ${count(changes.published)} changes of absences published so far`));
  print('   The district stops changing. Full syncs run until every row that left it is removed.');
  doing(() => `running full syncs: ${progress.describe(colors)}`);
  hub.living.freeze();
  await readUntilNothingIsMissing(run, {
    signal: interrupted,
    onRound: (missing) => {
      progress.beginAgain();
      if (missing > 0)
        print(`── ${count(missing)} rows that left are removed when another full sync misses them, too`);
    },
  });
  changes.stop();
}

/** Compares all topics with the hub; returns the exit code. `days`: the days whose schedules are mirrored. */
async function compare(
  { screen, stack, hub }: DemoParts,
  { topics, days }: { topics: readonly string[]; days: DayWindow },
): Promise<number> {
  const { print, doing, colors } = screen;
  const readAtMs = performance.now();
  print(
    `── all collections are read; comparing ${count(topics.length)} topics with the hub, record by record`,
  );
  let done = 'reading the topics';
  doing(() => done);
  const compared = compareWithHub({
    servers: stack,
    hub,
    topics,
    days,
    onStep: (step) => {
      done = step;
      screen.stillDoing();
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
    print(colors.dim('Go on with "Run it piece by piece" and "Play with it" in README.md.'));
    return 0;
  }
  print(colors.red(colors.bold('The topics differ from the hub:')));
  for (const { collection, differences } of different) {
    for (const difference of differences) print(`  ${collection} ${difference}`);
  }
  return 1;
}
