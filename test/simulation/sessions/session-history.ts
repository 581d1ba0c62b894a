import { TransactionSize } from '../../../src/core/transaction-size.ts';
import type { Hub } from '../../../src/hub/hub.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type { CollectionIndex } from '../../../src/state/index-store.ts';
import { MemoryDeletions } from '../../../src/state/memory-state.ts';
import { LivingHub } from './living-hub.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import { SimulatedIndex } from '../parts/simulated-index.ts';
import { SimulatedLog } from '../parts/simulated-log.ts';
import { SimulatedProcess } from '../parts/simulated-process.ts';
import { takeOvers } from '../parts/take-overs.ts';
import { simulatedReader } from './simulated-row.ts';
import { SCOPE, SimulatedTopics } from '../parts/simulated-topics.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { VirtualTime } from '../parts/virtual-time.ts';

/** One process at a time, each stopped before the next begins, or each taking over from the last. */
export type HistoryKind = 'restarts' | 'take-overs';

/** A mistake put between the code under test and a simulated part, to check that it is found. */
export interface Mistake {
  readonly hub?: (hub: Hub) => Hub;
  readonly log?: (log: TenantLog, world: World, process: number) => TenantLog;
  readonly index?: (index: CollectionIndex) => CollectionIndex;
}

export interface World {
  readonly at: Surroundings;
  readonly hub: LivingHub;
  readonly topics: SimulatedTopics;
  readonly index: SimulatedIndex;
  readonly processes: readonly SimulatedProcess[];
  /** Numbers of processes that were superseded and went on nevertheless. */
  readonly unnoticed: readonly number[];
  /** Counts of events of the pipeline by type, of numbers in them, and of troubles of index and processes. */
  readonly happened: ReadonlyMap<string, number>;
}

/** 09:00 UTC, far from the daily full sync. */
const START_MS = Date.UTC(2026, 2, 2, 9);
const TROUBLES = [0.05, 0.3, 1];
const MIRRORED = 'users';
const NOTICED_WITHIN_MS = 10_000;
const TROUBLED_MS = 3_000;
const CATCH_UP_WITHIN_MS = 10_000;
/** A change in the same millisecond after a page was looked up has the same time as the page. */
const OVERLAP_MS = 1;
/** Replaces the real pauses, during which most of a history would sleep. */
const LONGEST_SLEEP_MS = 20;

/**
 * Plays the random history of a seed: processes come and go while the hub changes and every part fails at times.
 * Then nothing fails any more and the hub does not change: a last process makes an incremental sync (`afterDelta` is called then) and
 * a full sync. The hub changes once more without a stamp, and after two more full syncs `afterFull` is called.
 */
export async function playHistory(
  options: { seed: number; kind: HistoryKind; mistake?: Mistake | undefined },
  check: { afterDelta: (world: World) => void; afterFull: (world: World) => void },
): Promise<void> {
  const time = new VirtualTime(START_MS);
  const random = seededRandom(options.seed);
  // Where less fails, syncs last long enough to overlap.
  const history = new History({ time, random, trouble: random.pick(TROUBLES) }, options.mistake ?? {});
  await time.run(async () => {
    await (options.kind === 'restarts' ? history.restart() : history.takeOver());
    await history.settle(check);
  });
}

class History implements World {
  readonly at: Surroundings;
  readonly hub: LivingHub;
  readonly topics: SimulatedTopics;
  readonly index: SimulatedIndex;
  readonly processes: SimulatedProcess[] = [];
  readonly happened = new Map<string, number>();
  unnoticed: readonly number[] = [];
  readonly #mistake: Mistake;
  readonly #misusedHub: Hub;
  readonly #misusedIndex: CollectionIndex;
  readonly #deletions = new MemoryDeletions();
  readonly #hubLives: Promise<void>;
  #ids = 0;

  constructor(at: Surroundings, mistake: Mistake) {
    this.at = at;
    this.#mistake = mistake;
    this.hub = new LivingHub(at);
    this.topics = new SimulatedTopics(at);
    this.index = new SimulatedIndex(at);
    this.#misusedHub = mistake.hub?.(this.hub) ?? this.hub;
    this.#misusedIndex = mistake.index?.(this.index) ?? this.index;
    this.#hubLives = this.hub.live();
  }

  async restart(): Promise<void> {
    const { random, time } = this.at;
    const untilMs = time.now() + TROUBLED_MS;
    while (time.now() < untilMs) {
      const process = this.#start();
      await this.#watch(process, Math.min(untilMs - time.now(), 150 + random.below(800)));
      process.stop();
      await process.ended;
      this.#disturbIndex({ flush: 0.2, restore: 0.25 });
    }
  }

  async takeOver(): Promise<void> {
    this.unnoticed = await takeOvers(
      {
        at: this.at,
        processes: this.processes,
        noticedWithinMs: NOTICED_WITHIN_MS,
        start: () => this.#start(),
        watch: (process, forMs) => this.#watch(process, forMs),
        disturb: () => this.#disturbIndex({ flush: 0.15, restore: 0.2 }),
        isSuperseded: (number) => this.topics.isSuperseded(number),
      },
      TROUBLED_MS,
    );
  }

  async settle(check: {
    afterDelta: (world: World) => void;
    afterFull: (world: World) => void;
  }): Promise<void> {
    this.at.trouble = 0;
    this.hub.freeze();
    await this.#hubLives;
    const process = this.#start();
    await this.at.time.until(
      CATCH_UP_WITHIN_MS,
      () => process.session !== null || process.fate !== 'running',
    );
    await process.runner(MIRRORED).request('INCREMENTAL');
    check.afterDelta(this);
    await process.runner(MIRRORED).request('FULL');
    this.hub.changeUnstamped();
    await process.runner(MIRRORED).request('FULL');
    await process.runner(MIRRORED).request('FULL');
    await this.#approveAll(process);
    process.stop();
    await process.ended;
    for (const { fate } of this.processes) this.#count(fate);
    this.#count('pages recognised', this.hub.pagesKnown);
    check.afterFull(this);
  }

  /** The guard holds what is many rows of so small a collection: a person approves. */
  async #approveAll(process: SimulatedProcess): Promise<void> {
    const keys = new Set((await this.#deletions.missing(MIRRORED))?.keys.keys());
    if (keys.size === 0) return;
    const given = { digest: '', atMs: this.at.time.now(), by: '', from: '', reason: null, listed: keys.size };
    await process.runner(MIRRORED).request('FULL', { approved: { keys, given } });
  }

  #start(): SimulatedProcess {
    const number = this.processes.length + 1;
    const process = new SimulatedProcess(number, this.#partsFor(number));
    this.processes.push(process);
    return process;
  }

  /** People request syncs meanwhile. */
  async #watch(process: SimulatedProcess, forMs: number): Promise<void> {
    const { random, time } = this.at;
    const untilMs = time.now() + forMs;
    while (time.now() < untilMs) {
      await time.sleep(20);
      if (!random.chance(0.4)) continue;
      process.session?.runners
        .get(MIRRORED)
        ?.request(random.chance(0.7) ? 'FULL' : 'INCREMENTAL')
        .catch(() => undefined);
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

  #partsFor(process: number): Tenant {
    const { time, random } = this.at;
    const log = new SimulatedLog(this.at, this.topics, process);
    return {
      ...SCOPE,
      owner: 'a process',
      hub: this.#misusedHub,
      log: this.#mistake.log?.(log, this, process) ?? log,
      state: {
        collection: () => this.#misusedIndex,
        deletions: this.#deletions,
        forget: () => Promise.resolve(),
      },
      collections: [
        {
          name: 'users',
          reader: simulatedReader,
          encodeReject: () => Buffer.alloc(1),
          deltaEveryMs: 3,
          deltaOverlapMs: OVERLAP_MS,
          fullPull: { at: '00:00', timeZone: 'UTC' },
          size: new TransactionSize(),
        },
      ],
      absences: undefined,
      guard: { rows: 1_000, ratio: 1 },
      confirmAfterMs: 10,
      scopesAhead: 0,
      prepare: () => Promise.resolve(),
      runtime: {
        now: time.now,
        random: () => random.next(),
        randomId: () => (this.#ids += 1).toString(16).padStart(8, '0'),
        sleep: (ms, signal) => time.sleep(Math.min(ms, LONGEST_SLEEP_MS), signal),
      },
      emit: (event) => this.#note(event),
    };
  }

  #note(event: PipelineEvent): void {
    this.#count(event.type);
    if (event.type === 'caught-up') this.#count(event.how);
    if (event.type === 'sync-ended') this.#count('stale rows', event.stats.rowsStale);
    if (event.type === 'sync-ended') this.#count('rows removed', event.stats.rowsRemoved);
  }

  #count(what: string, times = 1): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + times);
  }
}
