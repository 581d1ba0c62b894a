import type { Hub } from '../../../../../src/hub/hub.ts';
import { catchUp } from '../../../../../src/pipeline/catch-up.ts';
import type { CollectionRunner } from '../../../../../src/pipeline/collection-runner.ts';
import type { PipelineEvent } from '../../../../../src/pipeline/events.ts';
import type { TenantChains, TenantParts } from '../../../../../src/pipeline/tenant.ts';
import type { TenantLog } from '../../../../../src/publisher/log.ts';
import type { CollectionIndex } from '../../../../../src/state/index-store.ts';
import { MemoryDeletions } from '../../../../../src/state/memory-deletions.ts';
import { seededRandom } from '../seeded-random.ts';
import { SimulatedIndex } from '../simulated-index.ts';
import { SimulatedLog } from '../simulated-log.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import { SCOPE, SimulatedTopics } from '../simulated-topics.ts';
import type { Surroundings } from '../surroundings.ts';
import { VirtualTime } from '../virtual-time.ts';
import { changeCodec, decodeFramed, rejectCodec, versionCodec, versionReader } from './chain-codecs.ts';
import { ChainHub, type ChainsKind } from './chain-hub.ts';
import { contentOfValue } from './hub-version.ts';

/** A mistake put between the code under test and a simulated part, to see that the checks find it. */
export interface ChainMistake {
  readonly hub?: (hub: Hub) => Hub;
  readonly log?: (log: TenantLog, world: ChainWorld) => TenantLog;
  readonly index?: (index: CollectionIndex) => CollectionIndex;
}

export interface ChainWorld {
  readonly at: Surroundings;
  readonly hub: ChainHub;
  readonly topics: SimulatedTopics;
  readonly index: SimulatedIndex;
  readonly processes: readonly SimulatedProcess[];
  /** How many transactions were committed while absences were not mirrored, by position: these told nothing. */
  readonly unmirrored: ReadonlySet<number>;
  /** An index made from the topics alone, in the end. */
  readonly rebuilt: SimulatedIndex;
  /** Number of transactions when the hub had come to rest and all was read. */
  readonly quietSince: number;
  readonly forgetAfterMs: number;
  readonly absentSinceMs: () => number;
  readonly happened: ReadonlyMap<string, number>;
}

export interface ChainHistoryOptions {
  readonly seed: number;
  readonly chains: ChainsKind;
  readonly kind: 'restarts' | 'take-overs';
  readonly mistake?: ChainMistake | undefined;
}

/** 09:00 UTC, far from the daily full pass. */
const START_MS = Date.UTC(2026, 2, 2, 9);
const DAY_MS = 24 * 3_600_000;
const TROUBLES = [0, 0.1, 0.5, 1];
const TROUBLED_MS = 3_000;
const CATCH_UP_WITHIN_MS = 10_000;
const NOTICED_WITHIN_MS = 10_000;
const OVERLAP_MS = 1;
const LONGEST_SLEEP_MS = 20;
const ABSENT_DAYS = 3;

/** A history of absence chains by chance, told by its seed; see tellHistory. `check` is called in the end. */
export async function tellChainHistory(
  options: ChainHistoryOptions,
  check: (world: ChainWorld) => void,
): Promise<void> {
  const time = new VirtualTime(START_MS);
  const random = seededRandom(options.seed);
  const history = new ChainHistory({ time, random, trouble: random.pick(TROUBLES) }, options);
  await time.run(async () => {
    await history.trouble();
    await history.settle();
    check(history);
  });
}

class ChainHistory implements ChainWorld {
  readonly at: Surroundings;
  readonly hub: ChainHub;
  readonly topics: SimulatedTopics;
  readonly index: SimulatedIndex;
  readonly rebuilt: SimulatedIndex;
  readonly processes: SimulatedProcess[] = [];
  readonly happened = new Map<string, number>();
  readonly unmirrored = new Set<number>();
  readonly forgetAfterMs: number;
  quietSince = 0;
  readonly #options: ChainHistoryOptions;
  readonly #deletions = new MemoryDeletions();
  readonly #hubLives: Promise<void>;
  readonly #withoutUntilMs: number;
  #ids = 0;

  constructor(at: Surroundings, options: ChainHistoryOptions) {
    const { random, time } = at;
    this.at = at;
    this.#options = options;
    this.forgetAfterMs = random.pick([1, 3, 30]) * DAY_MS;
    this.topics = new SimulatedTopics(at);
    this.hub = new ChainHub(at, {
      kind: options.chains,
      hasUuids: random.chance(0.5),
      published: (id) => this.#published(id),
    });
    this.index = new SimulatedIndex(at);
    this.rebuilt = new SimulatedIndex(at);
    this.#withoutUntilMs = random.chance(0.2) ? time.now() + random.below(TROUBLED_MS) : 0;
    this.#hubLives = this.hub.live();
  }

  readonly absentSinceMs = (): number => this.at.time.now() - ABSENT_DAYS * DAY_MS;

  async trouble(): Promise<void> {
    if (this.#options.kind === 'restarts') await this.#restart();
    else await this.#takeOver();
  }

  /** All is well, and the hub stands still: what was missed comes, and then nothing more. */
  async settle(): Promise<void> {
    const { random } = this.at;
    this.at.trouble = 0;
    this.hub.freeze();
    await this.#hubLives;
    const process = await this.#open();
    await runnerOf(process).demand('DELTA');
    await runnerOf(process).demand('FULL');
    await runnerOf(process).demand('FULL');
    this.quietSince = this.topics.transactions.length;
    this.hub.restampAll();
    await runnerOf(process).demand('DELTA');
    await this.#stop(process);
    if (random.chance(0.4)) this.index.flush();
    const again = await this.#open();
    this.hub.restampAll();
    await runnerOf(again).demand('FULL');
    await this.#stop(again);
    await this.#rebuild();
  }

  async #restart(): Promise<void> {
    const { random, time } = this.at;
    let leftMs = TROUBLED_MS;
    while (leftMs > 0) {
      const process = this.#start();
      const watchedMs = Math.min(leftMs, 150 + random.below(800));
      await this.#watch(process, time.now() + watchedMs);
      await this.#stop(process);
      leftMs -= watchedMs;
      this.#disturbIndex({ flush: 0.2, restore: 0.25 });
      if (random.chance(0.3)) time.skip((1 + random.below(random.chance(0.1) ? 36 : 6)) * (DAY_MS / 4));
    }
  }

  async #takeOver(): Promise<void> {
    const { random, time } = this.at;
    const untilMs = time.now() + TROUBLED_MS;
    while (time.now() < untilMs) {
      const process = this.#start();
      await this.#watch(process, Math.min(untilMs, time.now() + 60 + random.below(300)));
      if (random.chance(0.3)) {
        process.stop();
        if (random.chance(0.5)) await process.ended;
      }
      this.#disturbIndex({ flush: 0.15, restore: 0.2 });
    }
    this.at.trouble = 0;
    const isAlone = (): boolean =>
      !this.processes.some(({ number, fate }) => fate === 'running' && this.topics.isSuperseded(number));
    await this.#until(NOTICED_WITHIN_MS, isAlone);
    for (const process of this.processes) process.stop();
    await Promise.all(this.processes.map(({ ended }) => ended));
  }

  /** Meanwhile people demand passes. */
  async #watch(process: SimulatedProcess, untilMs: number): Promise<void> {
    const { random, time } = this.at;
    while (time.now() < untilMs) {
      await time.sleep(20);
      if (!random.chance(0.3)) continue;
      process.runner?.demand(random.chance(0.6) ? 'FULL' : 'DELTA').catch(() => undefined);
    }
  }

  #disturbIndex(chances: { flush: number; restore: number }): void {
    const { random } = this.at;
    if (random.chance(chances.flush)) {
      this.index.flush();
      this.#count('index flushed');
    } else if (random.chance(chances.restore)) {
      this.index.restore();
      this.#count('index restored');
    }
  }

  async #until(withinMs: number, isSo: () => boolean): Promise<void> {
    const { time } = this.at;
    const untilMs = time.now() + withinMs;
    while (!isSo() && time.now() < untilMs) await time.sleep(5);
  }

  #start(): SimulatedProcess {
    const number = this.processes.length + 1;
    const process = new SimulatedProcess(number, this.#partsFor(number), 'absence-versions');
    this.processes.push(process);
    return process;
  }

  async #open(): Promise<SimulatedProcess> {
    const process = this.#start();
    await this.#until(CATCH_UP_WITHIN_MS, () => process.runner !== null || process.fate !== 'running');
    return process;
  }

  async #stop(process: SimulatedProcess): Promise<void> {
    process.stop();
    await process.ended;
  }

  async #rebuild(): Promise<void> {
    const { signal } = new AbortController();
    const number = this.processes.length + 1;
    const parts = this.#partsFor(number);
    const log = new SimulatedLog(this.at, this.topics, number);
    const state = { collection: () => this.rebuilt, deletions: new MemoryDeletions() };
    const ownership = await log.own();
    const collections = ['absence-versions'] as const;
    await catchUp({ ...parts, log, state, collections, dayOf: () => 'today', emit: () => undefined }, ownership, signal);
  }

  #partsFor(process: number): TenantParts {
    const { time, random } = this.at;
    const { mistake = {} } = this.#options;
    const log = new SimulatedLog(this.at, this.topics, process);
    const index = mistake.index?.(this.index) ?? this.index;
    const isMirrored = time.now() >= this.#withoutUntilMs;
    return {
      ...SCOPE,
      hub: mistake.hub?.(this.hub) ?? this.hub,
      log: this.#noting(mistake.log?.(log, this) ?? log, isMirrored),
      state: { collection: () => index, deletions: this.#deletions },
      collections: [
        {
          name: 'absence-versions',
          reader: versionReader,
          deltaEveryMs: 3,
          fullPull: { at: '00:00', timeZone: 'UTC' },
        },
      ],
      afterschoolIds: [],
      chains: isMirrored ? this.#chains() : undefined,
      encodeReject: (value) => rejectCodec.toBuffer(value),
      guard: { rows: 1_000, ratio: 1, perDay: false },
      deltaOverlapMs: OVERLAP_MS,
      prepare: () => Promise.resolve(),
      now: time.now,
      random: () => random.next(),
      randomId: () => (this.#ids += 1).toString(16).padStart(8, '0'),
      sleep: (ms, signal) => time.sleep(Math.min(ms, LONGEST_SLEEP_MS), signal),
      emit: (event) => this.#note(event),
    };
  }

  #chains(): TenantChains {
    return {
      encodeChange: (value) => changeCodec.toBuffer(value),
      decodeVersion: (body) => versionCodec.fromBuffer(body),
      decode: decodeFramed,
      absentSinceMs: this.absentSinceMs,
      forgetAfterMs: this.forgetAfterMs,
      onStudents: () => undefined,
    };
  }

  #published(id: string): string | undefined {
    const body = this.topics.recordsOf('absence-versions').findLast(({ key }) => key === id)?.body ?? null;
    return body === null ? undefined : contentOfValue(versionCodec.fromBuffer(body));
  }

  #note(event: PipelineEvent): void {
    this.#count(event.type);
    if (event.type === 'caught-up') this.#count(event.how);
    if (event.type === 'pass-ended') this.#count('rows removed', event.stats.rowsRemoved);
    if (event.type === 'deletion') this.#count(event.event.kind);
    if (event.type === 'session-failed' && !(event.error as { code?: string }).code) this.#count(`crash: ${String((event.error as Error).stack)}`);
    if (event.type !== 'chains-told') return;
    this.#count('told open', event.toldOpen);
    for (const [what, times] of Object.entries(event.tally)) this.#count(what, times);
  }

  #count(what: string, times = 1): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + times);
  }
}

function runnerOf(process: SimulatedProcess): CollectionRunner {
  if (process.runner === null) throw new Error(`the last process does not own the tenant: ${process.fate}`);
  return process.runner;
}
