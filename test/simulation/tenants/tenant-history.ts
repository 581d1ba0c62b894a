import { RollcallError } from '../../../src/errors.ts';
import type { Hub } from '../../../src/hub/hub.ts';
import { TransactionalProducer } from '../../../src/log/transactional-producer.ts';
import { STATE_TOPIC, type CollectionName } from '../../../src/model/collections.ts';
import { recoverCollections } from '../../../src/recovery/recover-collections.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import type { SyncOptions } from '../../../src/sync/sync-result.ts';
import { turn } from '../../../src/runtime.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { MirroredAbsences } from '../chains/mirrored-absences.ts';
import { seededRandom } from '../parts/seeded-random.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { VirtualTime } from '../parts/virtual-time.ts';
import { misused, type TenantMistake } from '../mistakes/misuse.ts';
import {
  AFTERSCHOOL_USERS,
  isNamed,
  nextAfterschools,
  problemsOfOthersNamed,
  problemsOfUnnamed,
  unknownYet,
} from './afterschools.ts';
import { BrokerLog } from './broker-log.ts';
import { HubClient } from './hub-client.ts';
import { problemsOfRemovals } from './removals.ts';
import { tenantParts } from './tenant-parts.ts';
import { SimulatedProcess } from '../parts/simulated-process.ts';
import {
  differencesFromHub,
  notLoaded,
  problemsAfterIncremental,
  problemsOfAbsences,
  problemsOfEnd,
  problemsOfLog,
  problemsOfRowsOnHold,
} from './state-problems.ts';
import { TenantWorld, type TenantKind } from './tenant-world.ts';
import { leakedMarkers, problemsOfQuiet, problemsOfWorld, unboundedWaits } from './world-problems.ts';

/** 09:00 UTC; days end far from all times that a history leaps to. */
const START_MS = Date.UTC(2026, 2, 2, 9);
const HOUR_MS = 3_600_000;
const LEAP_MS = 6 * HOUR_MS;
const MOST_SKEW_MS = 2 * HOUR_MS;
const TROUBLES = [0, 0.1, 0.3, 0.7];
const TROUBLED_MS = { several: 1_000, users: 2_000, sound: 2_000, contradictory: 2_000 };
/** How long a recovery may take once the trouble is over (invariant 10): several times the usual time. */
const CURED_WITHIN_MS = 3_000;
const LAST_ANSWER_WITHIN_MS = 2_000;
/** More than a request may come too late to the brokers. One that initialises a producer fences the others even then. */
const LAST_REQUEST_WITHIN_MS = 300;
const NOTICED_WITHIN_MS = 3_000;
/** As in sync/tenant-identity.ts. */
const KNOWN_ROWS_AT_LEAST = 5;
const ROUNDS_OF_APPROVAL = 10;

/*
 * Which invariant is checked where (docs/invariants.md):
 * 1, 2, 4, 5, 6, 8, 11, 12 state-problems, by the oracle · 3 removals, afterschools, state-problems (on hold) · 7 world-problems
 * · 8 world-problems (at rest), afterschools · 9, 10 world-problems, and the limits of virtual time within which a history must end.
 */

interface TenantHistoryOptions {
  readonly seed: number;
  readonly kind: TenantKind;
  readonly mistake?: TenantMistake;
}

/** The result of one history. */
export interface Played {
  /** Each problem names first what is wrong, then where. Empty: every invariant held. */
  readonly problems: readonly string[];
  /** How often each trouble and each action of the pipeline happened. */
  readonly happened: ReadonlyMap<string, number>;
}

/**
 * Plays the random history of a tenant by its seed; then nothing fails, and what it must hold is checked. One that does not
 * end, or ends in an error, has one more problem.
 */
export async function playTenant(options: TenantHistoryOptions): Promise<Played> {
  // A history itself never lets the event loop turn.
  await turn();
  const time = new VirtualTime(START_MS);
  const random = seededRandom(options.seed);
  const trouble = random.pick(TROUBLES);
  const at = { time, random, trouble: options.mistake?.trouble ?? trouble };
  const history = new TenantHistory(at, options);
  const ended: string[] = [];
  try {
    await time.run(async () => {
      await (options.kind.troubles === 'take-overs' ? history.takeOver() : history.restart());
      await history.settle();
    });
  } catch (error) {
    ended.push(`the history did not end well: ${error instanceof Error ? error.message : typeof error}`);
  }
  return { problems: [...history.problems, ...ended], happened: history.happened };
}

class TenantHistory extends TenantWorld {
  readonly #mistake: TenantMistake | null;
  readonly #lives: Promise<void>[];
  #isSettled = false;
  #skewMs = 0;
  #ids = 0;

  constructor(at: Surroundings, { kind, mistake }: TenantHistoryOptions) {
    super(at, kind, mistake?.manner ?? {});
    this.#mistake = mistake ?? null;
    this.#lives = [this.hub, ...(this.#canMeetForeign ? [this.foreign] : [])].map((hub) => hub.live());
  }

  async restart(): Promise<void> {
    const { random, time } = this.at;
    let leftMs = TROUBLED_MS[this.kind.mirrors];
    while (leftMs > 0) {
      const process = this.#start();
      const watchedMs = Math.min(leftMs, 100 + random.below(500));
      await this.#watch(process, watchedMs);
      process.stop();
      await process.ended;
      leftMs -= watchedMs;
      this.#disturb();
      if (random.chance(0.4))
        time.skip((random.chance(0.3) ? 20 + random.below(24) : 1 + random.below(5)) * LEAP_MS);
    }
  }

  /** Lets processes supersede each other for a time, until all have ended. */
  async takeOver(): Promise<void> {
    const { random, time } = this.at;
    const untilMs = time.now() + TROUBLED_MS[this.kind.mirrors];
    while (time.now() < untilMs) {
      const process = this.#start();
      await this.#watch(process, Math.min(untilMs - time.now(), 60 + random.below(300)));
      if (random.chance(0.3)) {
        process.stop();
        if (random.chance(0.5)) await process.ended;
      }
      this.#disturb();
    }
    this.at.trouble = 0;
    // A superseded process learns of it from its next transaction. After failures, its own next sync may be minutes away.
    for (const { session } of this.processes)
      for (const runner of session?.runners.values() ?? []) runner.request('FULL').catch(() => undefined);
    // While the tenant's identity is in doubt nothing is committed, so nothing shows the owner.
    const unnoticed = (): number[] =>
      this.processes
        .filter(({ number, fate }) => fate === 'running' && this.broker.isSuperseded(number))
        .map(({ number }) => number)
        .filter(() => !this.happened.has('foreign data refused'));
    let never: readonly number[] = [];
    // Asked only once at each time: right afterwards, another process may become the owner.
    await time.until(NOTICED_WITHIN_MS, () => (never = unnoticed()).length === 0);
    this.#find(never.map((number) => `continued although it was superseded: process ${number}`));
    for (const process of this.processes) process.stop();
    await Promise.all(this.processes.map(({ ended }) => ended));
  }

  async settle(): Promise<void> {
    const { time } = this.at;
    this.at.trouble = 0;
    this.hub.freeze();
    this.foreign.freeze();
    this.hub.skewMs = 0;
    this.#skewMs = 0;
    await Promise.all(this.#lives);
    await time.sleep(LAST_REQUEST_WITHIN_MS);
    const process = await this.#open();
    await this.#pullAll(process, 'INCREMENTAL');
    this.#find(problemsAfterIncremental(this));
    await this.#pullAll(process);
    this.hub.changeUnstamped();
    // By offset without totals it takes three.
    const { paging, hasTotals } = this.manner;
    for (let left = paging === 'keyset' || hasTotals ? 2 : 3; left > 0; left -= 1)
      await this.#pullAll(process);
    this.#find(await problemsOfRowsOnHold(this));
    if (this.absences === null) await this.#approveAll(process);
    this.#find(await problemsOfEnd(this));
    this.quietSince = this.broker.transactions.length;
    this.hub.restampAll();
    await this.#pullAll(process, 'INCREMENTAL');
    await this.#pullAll(process);
    this.#find(problemsOfQuiet(this));
    const isNaming = this.#mistake?.namesOthers ?? this.at.random.chance(0.4);
    if (isNaming && this.collections.includes(AFTERSCHOOL_USERS)) await this.#nameOthers(process);
    else await this.#stop(process);
    if (this.absences !== null) await this.#reopen(this.absences);
    // An abandoned request may still be on its way.
    await time.sleep(LAST_ANSWER_WITHIN_MS);
    if (time.waiting > 0) this.#find([`code still waits although all processes have ended`]);
    for (const { fate } of this.processes) this.count(fate);
    this.#find([
      ...problemsOfUnnamed(this),
      ...problemsOfWorld(this),
      ...problemsOfLog(this),
      ...(this.absences === null ? problemsOfRemovals(this) : await problemsOfAbsences(this)),
    ]);
  }

  /** Runs a process without trouble; it loads new afterschools of the configuration without a request. */
  async #open(mustNameOthers = false): Promise<SimulatedProcess> {
    const { time } = this.at;
    const process = this.#start('own', mustNameOthers);
    await time.until(CURED_WITHIN_MS, () => process.session !== null || process.fate !== 'running');
    // A full sync brings the rows of a lost topic back.
    const came = this.losses.length > 0 ? [] : unknownYet(this, process.number);
    await time.until(CURED_WITHIN_MS, () => notLoaded(this, came).length === 0);
    // Where the identity of the tenant is in doubt, a person decides first.
    if (!this.happened.has('foreign data refused'))
      this.#find(notLoaded(this, came).map((key) => `not loaded at the start: ${key}`));
    return process;
  }

  /** Of the index and the changelog of absences one is lost: if both were, a person would decide. */
  async #reopen(absences: MirroredAbsences): Promise<void> {
    const { random } = this.at;
    if (random.chance(0.4)) this.redis.flush();
    else this.#perhaps(0.3, 'changelog lost', () => this.broker.delete(STATE_TOPIC));
    this.#isSettled = true;
    const process = await this.#open();
    this.hub.restampAll();
    await this.#pullAll(process);
    this.#find(problemsOfQuiet(this));
    await this.#stop(process);
    const number = this.processes.length + 1;
    const parts = { ...this.#partsFor(number, 'own'), state: absences.rebuilt, emit: () => undefined };
    const { signal } = new AbortController();
    const ownership = await parts.log.own(signal);
    await recoverCollections(parts, this.collections, { ownership, signal });
  }

  async #stop(process: SimulatedProcess): Promise<void> {
    process.stop();
    await process.ended;
  }

  /** Some afterschools leave the configuration, some come back to it, and nothing else happens. */
  async #nameOthers(process: SimulatedProcess): Promise<void> {
    await this.#stop(process);
    const transactions = this.broker.transactions.length;
    const next = await this.#open(true);
    for (let sync = 0; sync < 3; sync += 1) await this.#pull(next, { collection: AFTERSCHOOL_USERS });
    this.#find(problemsOfOthersNamed(this, transactions));
    this.#find(await problemsOfRowsOnHold(this));
    await this.#stop(next);
  }

  async #pullAll(process: SimulatedProcess, mode: SyncMode = 'FULL'): Promise<void> {
    for (const collection of this.collections) await this.#pull(process, { collection, mode });
  }

  /**
   * If so many rows leave and arrive at once that they look like another tenant's, a person accepts them. If a session
   * must end because a topic lost records, this happens in the next session.
   */
  async #pull(
    process: SimulatedProcess,
    pull: { collection: CollectionName; mode?: SyncMode; options?: SyncOptions },
  ): Promise<void> {
    const { collection, mode = 'FULL', options = {} } = pull;
    const { session } = process;
    try {
      await process.runner(collection).request(mode, options);
    } catch (error) {
      if (this.at.trouble > 0) throw error;
      if (isWrongTenant(error)) {
        this.count('people: accepted other rows');
        await process.runner(collection).request('FULL', { ...options, acceptNew: true });
        return;
      }
      if (this.losses.length === 0) throw error;
      await this.at.time.until(
        CURED_WITHIN_MS,
        () => process.session !== null && process.session !== session,
      );
      await process.runner(collection).request('FULL', options);
    }
  }

  /** Approves listed deletions until none waits and none is due. */
  async #approveAll(process: SimulatedProcess): Promise<void> {
    // Some rows are listed only after two syncs missed them since the last approval.
    for (let round = 0, idle = 0; round < ROUNDS_OF_APPROVAL && idle < 2; round += 1) {
      const hasApproved = await this.#approve(process, round === 0 && this.at.random.chance(0.5));
      if (!hasApproved && differencesFromHub(this).length === 0) return;
      idle = hasApproved ? 0 : idle + 1;
      await this.#pullAll(process);
    }
  }

  /** Approves what waits in the tenant, or a part of it. False: no deletion waits. */
  async #approve(process: SimulatedProcess, isPart = false): Promise<boolean> {
    const { session } = process;
    if (session === null) return false;
    const progress = new Map([...session.runners].map(([name, runner]) => [name, runner.progress]));
    const waiting = await readWaiting(this.redis.memory.deletions, progress);
    if (waiting.rows === 0) return false;
    this.count(isPart ? 'people: approved a part' : 'people: approved');
    const atMs = this.at.time.now();
    const given = { digest: 'of a part', atMs, by: 'a person', from: 'a host', reason: null };
    const { random } = this.at;
    const approvals = waiting.collections.map(({ collection, keys }) => ({
      collection,
      keys: new Set(isPart ? keys.filter(() => random.chance(0.5)) : keys),
      atMs,
    }));
    this.approvals.push(...approvals);
    for (const { collection, keys: listed } of approvals) {
      if (listed.size === 0) continue;
      const approved = { keys: this.#mistake?.approves?.(listed, this) ?? listed, given };
      await this.#pull(process, { collection, options: { approved } });
    }
    return true;
  }

  #start(whose: 'own' | 'any' = 'any', mustNameOthers = false): SimulatedProcess {
    const number = this.processes.length + 1;
    const before = this.afterschoolsOf(number - 1);
    const afterschools = nextAfterschools(before, this.at.random, mustNameOthers);
    this.afterschools.push(afterschools);
    if (afterschools !== before && this.collections.includes(AFTERSCHOOL_USERS))
      this.count('other afterschools configured');
    if (this.absences?.configure(number, !this.#isSettled) === true) this.count('mapping changed');
    const process = new SimulatedProcess(number, this.#partsFor(number, whose));
    this.processes.push(process);
    return process;
  }

  /** People request syncs meanwhile, and decide on listed deletions. */
  async #watch(process: SimulatedProcess, forMs: number): Promise<void> {
    const { random, time } = this.at;
    const untilMs = time.now() + forMs;
    while (time.now() < untilMs) {
      await time.sleep(20);
      this.#troubleAmid();
      const runner = process.session?.runners.get(random.pick(this.collections));
      if (runner === undefined || !random.chance(0.3)) continue;
      const what = random.next();
      if (what < 0.1) this.#approve(process, what < 0.05).catch(() => undefined);
      else runner.request(what < 0.7 ? 'FULL' : 'INCREMENTAL').catch(() => undefined);
    }
  }

  /** Troubles while a process runs. */
  #troubleAmid(): void {
    const { random, trouble } = this.at;
    if (trouble === 0) return;
    const { redis } = this;
    this.#perhaps(0.02, 'redis: fell back a moment', () => redis.failOver());
    this.#perhaps(0.01, 'redis: away', () => redis.goAway(20 + random.below(150)));
    this.#perhaps(0.004, 'redis: flushed', () => redis.flush());
    if (this.kind.troubles === 'lost-topics' && random.chance(0.02)) this.#loseTopic();
    if (this.hasClockTrouble) this.#perhaps(0.03, 'a clock jumped', () => this.#jumpClocks());
  }

  /** Troubles between two processes. */
  #disturb(): void {
    const { random } = this.at;
    const losesTopics = this.kind.troubles === 'lost-topics';
    if (!this.#perhaps(0.15, 'redis: flushed', () => this.redis.flush()))
      this.#perhaps(losesTopics ? 0.53 : 0.3, 'redis: restored', () => this.redis.restore());
    if (losesTopics && random.chance(0.3)) this.#loseTopic();
  }

  #perhaps(probability: number, what: string, how: () => void): boolean {
    if (!this.at.random.chance(probability)) return false;
    this.count(what);
    how();
    return true;
  }

  #jumpClocks(): void {
    const { random } = this.at;
    this.canTrustIncrementals = false;
    const skewMs = random.chance(0.3) ? 0 : random.below(2 * MOST_SKEW_MS) - MOST_SKEW_MS;
    if (random.chance(0.5)) this.hub.skewMs = skewMs;
    else this.#skewMs = skewMs;
  }

  #loseTopic(): void {
    const { broker } = this;
    const { random } = this.at;
    if (broker.topics.length === 0) return;
    const topic = random.pick(broker.topics);
    this.losses.push({ topic, transactions: broker.transactions.length });
    const what = random.pick(['deleted', 'recreated', 'cut off']);
    this.count(`kafka: a topic was ${what}`);
    const partition = random.pick(broker.partitionsOf(topic) ?? []);
    if (what === 'cut off') {
      partition.cutTo(partition.low + 1 + random.below(partition.next - partition.low + 1));
      return;
    }
    broker.delete(topic);
    if (what === 'recreated') broker.create([topic]);
  }

  #partsFor(number: number, whose: 'own' | 'any'): Tenant {
    const { at, broker, client } = this;
    const mistake = this.#mistake;
    const isMisled = whose === 'any' && this.#canDetectForeign(number) && at.random.chance(0.08);
    // The other hub has no changes of the tenant meanwhile: the next full sync brings them.
    if (isMisled) this.canTrustIncrementals = false;
    if (isMisled) this.count("another tenant's hub");
    const hub: Hub = isMisled
      ? new HubClient(at, this.foreign, this.manner, () => undefined, client.scans)
      : client.readBy(number);
    const happened = (what: string): void => this.count(what);
    const log = new BrokerLog({
      at,
      broker,
      process: number,
      happened,
      makeProducer: (options) => mistake?.producer?.(options, this) ?? new TransactionalProducer(options),
      mistake: mistake?.ownership,
    });
    const own = { hub, log, state: this.redis };
    const parts = tenantParts(this, number, {
      ...(mistake === null ? own : misused(own, mistake, this, number)),
      now: () => at.time.now() + this.#skewMs,
      randomId: () => (this.#ids += 1).toString(16).padStart(8, '0'),
      emit: (event) => {
        this.#note(event);
        void this.absences?.look(number, event);
        if (event.type === 'session-failed')
          this.failures.set(number, [...(this.failures.get(number) ?? []), at.time.now()]);
      },
    });
    if (parts.absences !== undefined && this.absences?.cameLate === true) this.count('absences switched on');
    return mistake?.parts?.(parts, this) ?? parts;
  }

  /** Whether a process may read another tenant's hub. */
  get #canMeetForeign(): boolean {
    const { mirrors, troubles } = this.kind;
    return mirrors === 'several' && troubles !== 'lost-topics';
  }

  /** With fewer rows the identity of the tenant cannot be verified. */
  #canDetectForeign(process: number): boolean {
    if (!this.#canMeetForeign || this.at.trouble === 0) return false;
    return this.collections.every((topic) => {
      const wanted = [...this.broker.viewOf(topic).keys()].filter((key) =>
        isNamed(this, { topic, key }, process),
      );
      return wanted.length >= KNOWN_ROWS_AT_LEAST;
    });
  }

  #note(event: PipelineEvent): void {
    if (event.type === 'sync-started' && event.mode === 'FULL') {
      const starts = this.fullStarts.get(event.collection) ?? [];
      starts.push(this.at.time.now());
      this.fullStarts.set(event.collection, starts);
    }
    this.#find([...leakedMarkers(event), ...unboundedWaits(event)]);
    if (event.type === 'caught-up') this.count(event.how);
    else if (event.type === 'deletion') this.count(`deletions: ${event.event.kind}`);
    else this.count(event.type);
    if (event.type === 'absences-published')
      for (const [what, times] of Object.entries(event.tally)) this.count(what, times);
    if (event.type === 'sync-failed' && isWrongTenant(event.error)) this.count('foreign data refused');
    if (event.type !== 'sync-ended') return;
    this.count(`sync: ${event.outcome}`);
    if (event.short !== null) this.count('short');
    this.count('stale rows', event.stats.rowsStale);
    this.count('rows removed', event.stats.rowsRemoved);
  }

  #find(problems: readonly string[]): void {
    this.problems.push(...problems);
  }
}

function isWrongTenant(error: unknown): boolean {
  return error instanceof RollcallError && error.code === 'HUB_FOREIGN_DATA';
}
