import { jitteredPauseMs, type Backoff } from '../backoff.ts';
import type { ConfigChange } from '../config/running-config.ts';
import { RollcallError } from '../errors.ts';
import { WorkerGroup, type WorkerGroupOptions } from '../log/worker-group.ts';
import { sleep } from '../runtime.ts';
import { Semaphore, Turns } from '../semaphore.ts';
import type { Assembly } from '../session/assemble.ts';
import { workersGroup } from '../session/used-in-kafka.ts';
import type { Coordination } from '../state/coordination.ts';
import {
  announceOwner,
  keepHeartbeat,
  type FactsOf,
  type HeartbeatOptions,
} from '../state/keep-heartbeat.ts';
import { BETWEEN_SESSIONS, TenantRun } from './tenant-run.ts';

/**
 * How many tenants to open at the same time (topics, schemas, take-over, recovery). Otherwise hundreds of tenants
 * would overload Kafka, registry and Redis at once, and then mistake the load for an outage. No time limit of an
 * opening starts before its turn. An opening mostly waits for Kafka, so a higher number would not be faster.
 */
const OPENINGS_AT_ONCE = 10;
/** An opening that takes longer, such as the rebuild of a large index, no longer delays the next tenant. */
const LONG_OPENING_MS = 30_000;

/** After this time, a failed tenant is tried again: what a person has corrected takes effect without a restart. */
const RETRY_FAILED_MS = 300_000;
/**
 * How long it takes another worker to get the tenants of a worker that died, after the session of the dead worker has
 * ended.
 */
const FOLLOWED_WITHIN_MS = 5_000;
/** The pauses after another process has taken over a tenant that is assigned to this process: a command may have needed it. */
const SUPERSEDED: Backoff = { firstMs: 5_000, longestMs: RETRY_FAILED_MS };
/** By then, another worker that had a tenant until now has usually ended its last transaction, and is not fenced in the middle of it. */
const AFTER_ANOTHER_MS = 750;

type GroupEvents = Pick<WorkerGroupOptions, 'onAssigned' | 'onLost' | 'onTrouble'>;

export interface WorkerOptions {
  readonly signal: AbortSignal;
  readonly factsOf?: FactsOf | undefined;
  /** Called with the tenants that this process is to mirror, before it begins with the new ones. */
  readonly onAssigned?: ((tenants: readonly string[]) => void) | undefined;
  /** Called when the process is not in the group of the workers, with the reason. */
  readonly onTrouble?: WorkerGroupOptions['onTrouble'] | undefined;
  /** Calls `onChanged` after each change of the configuration of the assembly, until it is disposed of. */
  readonly followConfig?: ((onChanged: (change: ConfigChange) => void) => Disposable) | undefined;
  /** Used instead of the group in Kafka. */
  readonly join?: ((events: GroupEvents) => Pick<WorkerGroup, 'leave' | 'rejoin'>) | undefined;
}

/**
 * Mirrors the tenants that the group of the workers assigns to this process, until the signal aborts. Then it stops
 * the tenants, and leaves the group. A tenant that needs a person fails alone, and is tried again from time to time.
 * If this process has every tenant of the configuration, and all of them have failed, it throws the last failure. It
 * also throws errors of this program. In both cases it stops the tenants properly first.
 */
export async function runWorker(assembly: Assembly, options: WorkerOptions): Promise<void> {
  const giveUp = new AbortController();
  const signal = AbortSignal.any([options.signal, giveUp.signal]);
  const shared: PlaceOptions = {
    assembly,
    openings: new Turns(new Semaphore(OPENINGS_AT_ONCE), LONG_OPENING_MS),
    coordination: assembly.store.coordination,
    factsOf: options.factsOf,
    onFailed: (failure) => {
      const { tenants } = assembly.config;
      const codes = tenants.map(({ id }) => places.get(id)?.failure?.code ?? 'OWNERSHIP_LOST');
      if (codes.every((code) => code !== 'OWNERSHIP_LOST')) giveUp.abort(failure);
    },
    onError: (error) => giveUp.abort(error),
  };
  /** All tenants that have ever been assigned to this process. An empty place takes some bytes. */
  const places = new Map<string, Place>();
  const group = (options.join ?? joinGroup(assembly))({
    onAssigned: ({ tenants, isHandedOver }) => {
      // A process that is ending takes on no tenants.
      if (signal.aborted) return;
      options.onAssigned?.(tenants);
      for (const [id, place] of places) if (!tenants.includes(id)) void place.end(movedAway(id));
      for (const id of tenants) {
        const place = places.get(id) ?? new Place(id, shared);
        places.set(id, place);
        place.begin(isHandedOver ? AFTER_ANOTHER_MS : 0);
      }
    },
    onLost: (why) => {
      for (const place of places.values()) place.lose(why);
      options.onTrouble?.(why);
    },
    onTrouble: (why) => options.onTrouble?.(why),
  });
  using _ = options.followConfig?.(({ added, changed, removed }) => {
    if (signal.aborted) return;
    for (const id of changed) places.get(id)?.beginAgain();
    for (const id of removed) void places.get(id)?.end();
    if (added.length + removed.length > 0) group.rejoin();
  });
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  // The others begin with a tenant only when this process has left the group.
  await Promise.all(places.values().map((place) => place.end()));
  await group.leave();
  giveUp.signal.throwIfAborted();
}

function joinGroup({ kafka, config }: Assembly): (events: GroupEvents) => WorkerGroup {
  const { topicPrefix, sessionMs } = config.kafka;
  return (events) =>
    new WorkerGroup({
      ...events,
      kafka,
      groupId: workersGroup(topicPrefix),
      tenants: () => config.tenants.map(({ id }) => id),
      sessionMs,
      revision: process.env['ROLLCALL_REVISION'] ?? '',
      now: () => performance.now(),
      random: Math.random,
      sleep,
    });
}

interface PlaceOptions {
  readonly assembly: Assembly;
  readonly openings: Turns;
  readonly coordination: Coordination;
  readonly factsOf: FactsOf | undefined;
  readonly onFailed: (failure: RollcallError) => void;
  /** Called with an error that is a bug of this program. */
  readonly onError: (error: unknown) => void;
}

/**
 * The place of a tenant in this process. While the group assigns the tenant to the process, the place holds a {@link
 * TenantRun}; otherwise it is empty.
 */
class Place {
  readonly #tenantId: string;
  readonly #options: PlaceOptions;
  /** Null: the tenant is not assigned to this process. */
  #ending: AbortController | null = null;
  /** Runs of the tenant follow one after another. So a tenant that comes back soon does not fence its own last transaction. */
  #ended: Promise<void> = Promise.resolve();
  #run: TenantRun | null = null;

  constructor(tenantId: string, options: PlaceOptions) {
    this.#tenantId = tenantId;
    this.#options = options;
  }

  /** Why the tenant needs a person; undefined or null: it does not. */
  get failure(): RollcallError | null | undefined {
    return this.#run?.failure;
  }

  begin(pauseMs: number): void {
    if (this.#ending !== null) return;
    const ending = new AbortController();
    this.#ending = ending;
    this.#ended = this.#ended.then(() => this.#occupy(pauseMs, ending.signal)).catch(this.#options.onError);
  }

  /**
   * Resolves when the tenant has stopped. `why` is given if the tenant is to be mirrored further, perhaps by another
   * worker; it is left out if this process is not to mirror it any more.
   */
  end(why?: RollcallError): Promise<void> {
    this.#ending?.abort(why);
    this.#ending = null;
    this.#run = null;
    return this.#ended;
  }

  /** Ends the run of the tenant, and begins again with the changed configuration. */
  beginAgain(): void {
    if (this.#ending === null) return;
    void this.end(endedBy(`The configuration of tenant ${this.#tenantId} has changed`));
    this.begin(0);
  }

  /** Ends the run because the tenant may be another worker's by now. */
  lose(why: RollcallError): void {
    if (this.#ending === null) return;
    this.#run?.tenant.emit({ type: 'session-failed', error: why, retryInMs: BETWEEN_SESSIONS.firstMs });
    void this.end(movedAway(this.#tenantId));
  }

  /** Each run has its own tenant object, because a take-over remembers whether it has owned the tenant before. */
  async #occupy(firstPauseMs: number, signal: AbortSignal): Promise<void> {
    let pauseMs = firstPauseMs;
    for (let losses = 1; !signal.aborted; losses += 1) {
      await using tenant = this.#options.assembly.tenant(this.#tenantId);
      const { runtime, emit } = tenant;
      const sleep = async (): Promise<void> => {
        if (pauseMs > 0) await runtime.sleep(pauseMs, signal).catch(() => undefined);
      };
      await sleep();
      if (losses > 1) await this.#whileOwned(sleep, signal);
      if (signal.aborted) return;
      const { assembly, coordination, factsOf } = this.#options;
      const run: TenantRun = new TenantRun(tenant, {
        ...this.#options,
        announce: () => announceOwner(coordination, tenant, heartbeat),
      });
      const heartbeat = {
        ownedSinceMs: () => run.ownedSinceMs,
        factsOf,
        lastsMs: assembly.config.kafka.sessionMs + FOLLOWED_WITHIN_MS,
      };
      this.#run = run;
      const lost = await this.#mirror(run, heartbeat, signal);
      if (lost === null) return;
      pauseMs = jitteredPauseMs(SUPERSEDED, losses, runtime.random);
      emit({ type: 'tenant-failed', error: lost, retryInMs: pauseMs });
    }
  }

  /**
   * Waits while a command owns the tenant, so that the command is not fenced. This process has withdrawn its
   * heartbeat, so a heartbeat belongs to another owner.
   */
  async #whileOwned(sleep: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const living = () => this.#options.coordination.livingOwners([this.#tenantId]).catch(() => []);
    while (!signal.aborted && (await living())[0]) await sleep();
  }

  /** Mirrors until the signal aborts, or another process has taken the tenant over: then it returns that failure. */
  async #mirror(
    run: TenantRun,
    heartbeat: HeartbeatOptions,
    signal: AbortSignal,
  ): Promise<RollcallError | null> {
    const { onFailed, coordination } = this.#options;
    const { tenant } = run;
    await using _ = keepHeartbeat(coordination, tenant, {
      ...heartbeat,
      sleep: tenant.runtime.sleep,
      // Until the next owner announces itself, commands should wait for it, and not own the tenant themselves.
      isFollowed: () => signal.reason instanceof RollcallError,
    });
    for (;;) {
      const failure = await run.mirror(signal);
      if (failure === null || failure.code === 'OWNERSHIP_LOST') return failure;
      tenant.emit({ type: 'tenant-failed', error: failure, retryInMs: RETRY_FAILED_MS });
      onFailed(failure);
      await run.refuse(failure, RETRY_FAILED_MS, signal);
    }
  }
}

function movedAway(tenantId: string): RollcallError {
  return endedBy(`Tenant ${tenantId} is moving to another process`);
}

/** The request of a command may end with this error. The command then asks the next owner. */
function endedBy(why: string): RollcallError {
  return new RollcallError('INTERNAL', why, {
    remedy: 'This ended the work that the command had asked for: run the command again.',
  });
}
