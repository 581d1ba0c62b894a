import { describeError } from '../../../src/errors.ts';
import type { Hub } from '../../../src/hub/hub.ts';
import { STATE_TOPIC } from '../../../src/model/collections.ts';
import { recoverCollections } from '../../../src/recovery/recover-collections.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type { CollectionIndex } from '../../../src/state/index-store.ts';
import { MemoryDeletions } from '../../../src/state/memory-state.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import { SimulatedIndex } from '../parts/simulated-index.ts';
import { SimulatedLog } from '../parts/simulated-log.ts';
import { SimulatedProcess } from '../parts/simulated-process.ts';
import { takeOvers } from '../parts/take-overs.ts';
import { SimulatedTopics } from '../parts/simulated-topics.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { VirtualTime } from '../parts/virtual-time.ts';
import { versionCodec } from './chain-codecs.ts';
import { ChainHub } from './chain-hub.ts';
import type { ChainsKind } from './chain-life.ts';
import { chainTenantParts } from './chain-parts.ts';
import { contentOfValue } from './hub-version.ts';
import { hidesStudent, holdsStudent, MAPPINGS, PLAIN, type Mapping } from './mappings.ts';

/** A mistake put between the code under test and a simulated part, to check that it is found. */
export interface ChainMistake {
  readonly hub?: (hub: Hub) => Hub;
  readonly log?: (log: TenantLog, world: ChainWorld) => TenantLog;
  readonly index?: (index: CollectionIndex, world: ChainWorld) => CollectionIndex;
}

export interface ChainWorld {
  readonly at: Surroundings;
  readonly hub: ChainHub;
  readonly topics: SimulatedTopics;
  readonly index: SimulatedIndex;
  readonly processes: readonly SimulatedProcess[];
  /** Numbers of processes that were superseded and went on nevertheless. */
  readonly unnoticed: readonly number[];
  /** An index that is made from the topics alone at the end. */
  readonly rebuilt: SimulatedIndex;
  /** Number of transactions when the hub was at rest and everything was read. */
  readonly quietSince: number;
  readonly forgetAfterMs: number;
  readonly absentSinceMs: () => number;
  readonly happened: ReadonlyMap<string, number>;
  /** By the number of the process. */
  readonly mappings: readonly Mapping[];
  /** Entries with a student's own id that a process copied although its mapping hides it. */
  readonly copiedStudents: readonly string[];
}

export interface ChainHistoryKind {
  readonly chains: ChainsKind;
  /** One process at a time, each stopped before the next begins, or each taking over from the last. */
  readonly troubles: 'restarts' | 'take-overs';
}

export interface ChainHistoryOptions {
  readonly seed: number;
  readonly kind: ChainHistoryKind;
  readonly mistake?: ChainMistake | undefined;
}

/** 09:00 UTC, far from the daily full sync. */
const START_MS = Date.UTC(2026, 2, 2, 9);
const DAY_MS = 24 * 3_600_000;
const TROUBLES = [0, 0.05, 0.2, 0.5];
const MIRRORED = 'absence-versions';
const NOTICED_WITHIN_MS = 10_000;
const TROUBLED_MS = 3_000;
const CATCH_UP_WITHIN_MS = 10_000;
const ABSENT_DAYS = 3;

/** Plays the random history of absence chains of a seed; see playHistory. It calls `check` at the end. */
export async function playChainHistory(
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
  readonly forgetAfterMs: number;
  readonly mappings: Mapping[] = [];
  readonly copiedStudents: string[] = [];
  quietSince = 0;
  unnoticed: readonly number[] = [];
  readonly #options: ChainHistoryOptions;
  readonly #deletions = new MemoryDeletions();
  readonly #hubLives: Promise<void>;
  readonly #withoutUntilMs: number;
  readonly #changesMapping: boolean;
  #isSettled = false;
  #ids = 0;

  constructor(at: Surroundings, options: ChainHistoryOptions) {
    const { random, time } = at;
    this.at = at;
    this.#options = options;
    this.forgetAfterMs = random.pick([1, 3, 30]) * DAY_MS;
    this.topics = new SimulatedTopics(at);
    this.hub = new ChainHub(at, {
      kind: options.kind.chains,
      hasUuids: random.chance(0.5),
      published: (id) => this.#published(id),
    });
    this.index = new SimulatedIndex(at);
    this.rebuilt = new SimulatedIndex(at);
    this.#withoutUntilMs = random.chance(0.3) ? time.now() + random.below(TROUBLED_MS) : 0;
    this.#changesMapping = random.chance(0.4);
    this.#hubLives = this.hub.live();
  }

  readonly absentSinceMs = (mapping = this.mappings.at(-1) ?? PLAIN): number =>
    hidesStudent(mapping) ? Infinity : this.at.time.now() - ABSENT_DAYS * DAY_MS;

  async trouble(): Promise<void> {
    if (this.#options.kind.troubles === 'restarts') await this.#restart();
    else await this.#takeOver();
  }

  /** Nothing fails any more and the hub does not change: the missing records come, and then nothing more. */
  async settle(): Promise<void> {
    const { random } = this.at;
    this.at.trouble = 0;
    this.hub.freeze();
    await this.#hubLives;
    const process = await this.#open();
    await process.runner(MIRRORED).request('INCREMENTAL');
    await process.runner(MIRRORED).request('FULL');
    await process.runner(MIRRORED).request('FULL');
    // Reads as new what was rejected as another student's, once its absence is gone.
    await process.runner(MIRRORED).request('FULL');
    this.quietSince = this.topics.transactions.length;
    this.hub.restampAll();
    await process.runner(MIRRORED).request('INCREMENTAL');
    await this.#stop(process);
    // If both are lost, a person decides.
    if (random.chance(0.4)) this.index.flush();
    else if (random.chance(0.3)) this.#loseChangelog();
    this.#isSettled = true;
    const republication = await this.#open();
    this.hub.restampAll();
    await republication.runner(MIRRORED).request('FULL');
    await this.#stop(republication);
    await this.#replay(this.rebuilt);
  }

  async #restart(): Promise<void> {
    const { random, time } = this.at;
    let leftMs = TROUBLED_MS;
    while (leftMs > 0) {
      const process = this.#start();
      const watchedMs = Math.min(leftMs, 150 + random.below(800));
      await this.#watch(process, watchedMs);
      await this.#stop(process);
      leftMs -= watchedMs;
      this.#disturbIndex({ flush: 0.2, restore: 0.25 });
      if (random.chance(0.3)) time.skip((1 + random.below(random.chance(0.1) ? 36 : 6)) * (DAY_MS / 4));
    }
  }

  async #takeOver(): Promise<void> {
    this.unnoticed = await takeOvers(
      {
        at: this.at,
        processes: this.processes,
        noticedWithinMs: NOTICED_WITHIN_MS,
        start: () => this.#start(),
        watch: (process, forMs) => this.#watch(process, forMs),
        disturb: () => {
          this.#disturbIndex({ flush: 0.15, restore: 0.2 });
        },
        isSuperseded: (number) => this.topics.isSuperseded(number),
      },
      TROUBLED_MS,
    );
  }

  /** People request syncs meanwhile. */
  async #watch(process: SimulatedProcess, forMs: number): Promise<void> {
    const { random, time } = this.at;
    const untilMs = time.now() + forMs;
    while (time.now() < untilMs) {
      await time.sleep(20);
      if (!random.chance(0.3)) continue;
      process.session?.runners
        .get(MIRRORED)
        ?.request(random.chance(0.6) ? 'FULL' : 'INCREMENTAL')
        .catch(() => undefined);
    }
  }

  #loseChangelog(): void {
    this.topics.lose(STATE_TOPIC);
    this.#count('changelog lost');
    this.#write('changelog lost');
  }

  #disturbIndex(chances: { flush: number; restore: number }): void {
    const { random } = this.at;
    if (random.chance(chances.flush)) {
      this.index.flush();
      this.#count('index flushed');
      this.#write('index flushed');
    } else if (random.chance(chances.restore)) {
      this.index.restore();
      this.#count('index restored');
      this.#write('index restored');
    }
  }

  #start(): SimulatedProcess {
    const number = this.processes.length + 1;
    this.#configure(number);
    const process = new SimulatedProcess(number, this.#partsFor(number));
    this.processes.push(process);
    return process;
  }

  /** A process may start with another mapping than the one before. */
  #configure(number: number): void {
    const { random } = this.at;
    const before = this.mappings[number - 1] ?? PLAIN;
    const mayChange = this.#changesMapping && !this.#isSettled;
    const mapping = mayChange && random.chance(0.4) ? random.pick(MAPPINGS) : before;
    this.mappings[number] = mapping;
    if (mapping === before) return;
    this.#count('mapping changed');
    this.#write(`mapping changed: ${mapping.reader.mapping}`);
  }

  async #open(): Promise<SimulatedProcess> {
    const process = this.#start();
    await this.at.time.until(
      CATCH_UP_WITHIN_MS,
      () => process.session !== null || process.fate !== 'running',
    );
    return process;
  }

  async #stop(process: SimulatedProcess): Promise<void> {
    process.stop();
    await process.ended;
  }

  async #replay(index: SimulatedIndex): Promise<void> {
    const { signal } = new AbortController();
    const number = this.processes.length + 1;
    const parts = this.#partsFor(number);
    const log = new SimulatedLog(this.at, this.topics, number, 'partitioned');
    const state = {
      collection: () => index,
      deletions: new MemoryDeletions(),
      forget: () => Promise.resolve(),
    };
    const ownership = await log.own();
    const tenant = { ...parts, log, state, emit: () => undefined };
    await recoverCollections(tenant, ['absence-versions'], { ownership, signal });
  }

  #partsFor(process: number): Tenant {
    const { mistake = {} } = this.#options;
    const log = new SimulatedLog(this.at, this.topics, process, 'partitioned');
    const mapping = this.mappings[process] ?? this.mappings.at(-1) ?? PLAIN;
    const hasChains = this.at.time.now() >= this.#withoutUntilMs;
    if (hasChains && this.#withoutUntilMs > 0) this.#count('absences switched on');
    return chainTenantParts({
      at: this.at,
      hub: mistake.hub?.(this.hub) ?? this.hub,
      log: withMistake<TenantLog>(log, (each) => mistake.log?.(each, this)),
      index: withMistake<CollectionIndex>(this.index, (each) => mistake.index?.(each, this)),
      deletions: this.#deletions,
      hasChains,
      forgetAfterMs: this.forgetAfterMs,
      absentSinceMs: () => this.absentSinceMs(mapping),
      reader: mapping.reader,
      randomId: () => (this.#ids += 1).toString(16).padStart(8, '0'),
      emit: (event) => {
        this.#note(event);
        this.#lookForStudents(event, mapping);
      },
    });
  }

  #published(id: string): string | undefined {
    const body = this.topics.recordsOf('absence-versions').findLast(({ key }) => key === id)?.body ?? null;
    return body === null ? undefined : contentOfValue(versionCodec.fromBuffer(body));
  }

  #note(event: PipelineEvent): void {
    this.#count(event.type);
    if (event.type === 'caught-up') this.#write(`${event.how} ${event.why}`);
    if (event.type === 'sync-started') this.#write(`sync-started ${event.mode}`);
    if (event.type === 'sync-ended') this.#write(`sync-ended ${event.stats.mode} ${event.outcome}`);
    if (event.type === 'sync-failed' || event.type === 'session-failed')
      this.#write(`${event.type} ${describeError(event.error)}`);
    if (event.type === 'caught-up') this.#count(event.how);
    if (event.type === 'sync-ended') this.#count('rows removed', event.stats.rowsRemoved);
    if (event.type === 'deletion') this.#count(event.event.kind);
    if (event.type !== 'absences-published') return;
    for (const [what, times] of Object.entries(event.tally)) this.#count(what, times);
  }

  /** An index that a recovery has just filled. */
  #lookForStudents(event: PipelineEvent, mapping: Mapping): void {
    if (event.type !== 'caught-up' || event.how !== 'rebuilt' || !hidesStudent(mapping)) return;
    for (const [area, entries] of Object.entries(this.index.contents))
      for (const [key, bytes] of entries) if (holdsStudent(bytes)) this.copiedStudents.push(`${area} ${key}`);
  }

  #write(what: string): void {
    this.hub.diary.push(`${this.at.time.now()} ${what} (${this.topics.transactions.length})`);
  }

  #count(what: string, times = 1): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + times);
  }
}

function withMistake<T>(part: T, mistake: (part: T) => T | undefined): T {
  return mistake(part) ?? part;
}
