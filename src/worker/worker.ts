import { SegmentRolls } from '../core/segment-rolls.ts';
import { hasCode, RollcallError } from '../errors.ts';
import { Semaphore, Turns } from '../hub/semaphore.ts';
import { APPROVE } from '../owner/deletes.ts';
import { mirrored, otherVersion, type OwnerRequestKind, type OwnerWork } from '../owner/owner-request.ts';
import { PULL } from '../owner/pull.ts';
import { REBUILD } from '../owner/rebuild.ts';
import { REPAIR } from '../owner/repair.ts';
import { REPUBLISH } from '../owner/republish.ts';
import type { ConfigChange } from '../config/config-file.ts';
import { WorkerGroup, type WorkerGroupOptions } from '../log/worker-group.ts';
import { jitteredPauseMs, type Backoff } from '../retry-policy.ts';
import { sleep } from '../runtime.ts';
import type { Assembly } from '../session/assemble.ts';
import { openSession, type TenantSession } from '../session/open-session.ts';
import type { StartedTenant } from '../session/tenant.ts';
import { rollSegments } from '../session/roll-segments.ts';
import { watchTopics } from '../session/watch-topics.ts';
import type { Coordination, OwnerRequest } from '../state/coordination.ts';
import { keepHeartbeat, type FactsOf } from '../state/keep-heartbeat.ts';
import { serveRequests, type ServeRequestsOptions } from '../state/serve-requests.ts';
import type { Tenant } from '../table/tenant.ts';

const BETWEEN_SESSIONS: Backoff = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Tenants to open at the same time (topics, schemas, take-over, recovery), so that hundreds of them do not overload Kafka, registry
 * and Redis at once, and then mistake the load for an outage. No time limit of an opening starts before its turn. This mostly
 * waits for Kafka, so a higher number would not be faster.
 */
const OPENINGS_AT_ONCE = 10;
/** An opening that takes longer, such as the rebuild of a large index, no longer delays the next tenant. */
const LONG_OPENING_MS = 30_000;

interface RunOptions {
  /** Shared by all tenants of a process. If left out, the tenant is opened at once. */
  readonly openings?: Turns | undefined;
  /** Where commands leave their requests to the owner. If left out, it serves none. */
  readonly coordination?: Coordination | undefined;
}

/** A tenant that this process mirrors, session after session. */
export class TenantRun<T extends Tenant = Tenant> {
  readonly tenant: T;
  readonly #options: RunOptions;
  // Kept for all sessions, so that frequent new sessions do not append end markers each time.
  readonly #rolls = new SegmentRolls();
  #session: TenantSession | null = null;
  #ownedSinceMs: number | null = null;
  #failure: RollcallError | null = null;

  constructor(tenant: T, options: RunOptions = {}) {
    this.tenant = tenant;
    this.#options = options;
  }

  /** Null while it does not own the tenant. */
  get session(): TenantSession | null {
    return this.#session;
  }

  /** Null while the process has not owned the tenant yet. */
  get ownedSinceMs(): number | null {
    return this.#ownedSinceMs;
  }

  /** Why the tenant needs a person: lost ownership, an incompatible topic or schema. Null again when a session opens. */
  get failure(): RollcallError | null {
    return this.#failure;
  }

  /**
   * Mirrors until the signal aborts, or until the tenant needs a person: then it returns the failure. Every other failure
   * of log or index has the same cure: a new session takes the tenant over, recovers and continues.
   */
  async mirror(signal: AbortSignal): Promise<RollcallError | null> {
    const { runtime, emit } = this.tenant;
    for (let failures = 0; !signal.aborted;) {
      let startedAtMs = runtime.now();
      try {
        await this.#runSession(signal, () => {
          startedAtMs = runtime.now();
        });
      } catch (thrown) {
        // What waited for the transaction that failed may report before it does (KAFKA_NOT_SENT).
        const { cause } = thrown as Error;
        const error = await this.#explained(cause instanceof RollcallError ? cause : thrown);
        if (signal.aborted) break;
        if (needsPerson(error)) {
          this.#failure = error;
          return error;
        }
        // A session that opens and fails at once does not reset the pause: this spares hub and Kafka.
        failures = runtime.now() - startedAtMs > BETWEEN_SESSIONS.longestMs ? 1 : failures + 1;
        const retryInMs = jitteredPauseMs(BETWEEN_SESSIONS, failures, runtime.random);
        emit({ type: 'session-failed', error, retryInMs });
        await runtime.sleep(retryInMs, signal).catch(() => undefined);
      }
    }
    return null;
  }

  /** What Kafka refuses is often one of several rights that are missing, which the next session would name one after another. */
  async #explained(failure: unknown): Promise<unknown> {
    if (!hasCode(failure, 'KAFKA_REFUSED')) return failure;
    try {
      await this.tenant.prepare();
    } catch (found) {
      if (hasCode(found, 'KAFKA_REFUSED')) return found;
    }
    return failure;
  }

  /** Answers requests with the reason why the tenant is not mirrored. Resolves after the time, or when the signal aborts. */
  async refuse(failure: RollcallError, forMs: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const refusing = async (): Promise<never> => {
      throw failure;
    };
    const served = this.#serve(refusing, AbortSignal.any([signal, over.signal]));
    await this.tenant.runtime.sleep(forMs, signal).catch(() => undefined);
    over.abort();
    await served;
  }

  async #runSession(signal: AbortSignal, onTurn: () => void): Promise<void> {
    const { tenant } = this;
    const { openings } = this.#options;
    const ending = new AbortController();
    const both = AbortSignal.any([signal, ending.signal]);
    const open = (): Promise<TenantSession> => {
      onTurn();
      return openSession(tenant, both);
    };
    const session = await (openings?.run(open, { signal: both }) ?? open());
    this.#session = session;
    this.#ownedSinceMs = this.tenant.runtime.now();
    this.#failure = null;
    tenant.emit({ type: 'session-opened' });
    const loops = [
      ...[...session.runners.values()].map(async (runner) => runner.loop(both)),
      watchTopics(tenant, session.writers, both),
      rollSegments(tenant, { rolls: this.#rolls, writers: session.writers, signal: both }),
      this.#serve((request, report) => this.#handle(session, request, { report, signal: both }), both),
    ];
    try {
      await Promise.all(loops);
    } finally {
      // From now on requests wait for the next session.
      this.#session = null;
      ending.abort(
        new RollcallError('INTERNAL', `the session of tenant ${tenant.tenantId} is ending`, {
          remedy: 'Rollcall opens a new session by itself.',
        }),
      );
      await Promise.allSettled(loops);
    }
  }

  /** Takes requests only while there is a session to handle them; until then they wait. */
  async #serve(handle: ServeRequestsOptions['handle'], signal: AbortSignal): Promise<void> {
    const { coordination } = this.#options;
    const { tenantId, owner, runtime } = this.tenant;
    if (coordination !== undefined)
      await serveRequests({ coordination, tenantId, owner, handle, signal, sleep: runtime.sleep });
  }

  #handle(
    session: TenantSession,
    request: Parameters<ServeRequestsOptions['handle']>[0],
    rest: { report: (progress: unknown) => Promise<void>; signal: AbortSignal },
  ): Promise<unknown> {
    return handleRequest(request, {
      tenant: this.tenant,
      ...session,
      sync: async (name, mode, options) => mirrored(session.runners, name).request(mode, options),
      ...rest,
    });
  }
}

/**
 * Whether a new session would not help: another process is newer, or the content of Kafka does not fit this program.
 */
function needsPerson(error: unknown): error is RollcallError {
  return hasCode(error, 'OWNERSHIP_LOST', 'KAFKA_TOPIC_MISMATCH', 'SCHEMA_INCOMPATIBLE');
}

type Kind = Omit<OwnerRequestKind<unknown, unknown>, 'handle'>;
const KINDS: readonly Kind[] = [PULL, APPROVE, REBUILD, REPAIR, REPUBLISH];

/** Carries out a command's request to the owner. Throws `USAGE_INVALID` for a kind that this version does not know. */
async function handleRequest(request: OwnerRequest, work: OwnerWork): Promise<unknown> {
  const known = KINDS.find(({ kind }) => kind === request.kind);
  if (known === undefined)
    throw otherVersion(`The owner of the tenant does not know the request ${request.kind}`);
  return known.handleGiven(request.parameters, work);
}

/** What a person mends is taken up without a restart. */
const RETRY_FAILED_MS = 300_000;
/** After the session of a worker that died, another one has its tenants within this time. */
const FOLLOWED_WITHIN_MS = 5_000;
/** The first pause after another process took a tenant over that is assigned to this one: a command may have needed it. */
const SUPERSEDED_MS = 5_000;
/** Another worker that held the tenant until now has mostly ended its last transaction by then, and is not fenced in it. */
const AFTER_ANOTHER_MS = 750;

type GroupEvents = Pick<WorkerGroupOptions, 'onAssigned' | 'onLost' | 'onTrouble'>;

export interface WorkerOptions {
  readonly signal: AbortSignal;
  readonly factsOf?: FactsOf | undefined;
  readonly retryFailedMs?: number | undefined;
  /** Called with the tenants that this process is to mirror, before it begins with the new ones. */
  readonly onAssigned?: ((tenants: readonly string[]) => void) | undefined;
  /** Called when it is not in the group of the workers, with the reason. `keepsTenants`: it mirrors what it has. */
  readonly onTrouble?: WorkerGroupOptions['onTrouble'] | undefined;
  /** Calls `onChanged` after each change of the configuration of the assembly, until it is disposed of. */
  readonly followConfig?: ((onChanged: (change: ConfigChange) => void) => Disposable) | undefined;
  /** In place of the group in Kafka. */
  readonly join?: ((events: GroupEvents) => Pick<WorkerGroup, 'leave' | 'rejoin'>) | undefined;
}

/**
 * Mirrors the tenants that the group of the workers assigns to this process, until the signal aborts: then it stops them, and
 * leaves the group. A tenant that needs a person fails alone, and is tried again from time to time. Throws the last failure
 * when this process has every tenant of the configuration and all have failed, and the errors of this program; the tenants
 * are stopped properly first.
 */
export async function runWorker(assembly: Assembly, options: WorkerOptions): Promise<void> {
  const giveUp = new AbortController();
  const signal = AbortSignal.any([options.signal, giveUp.signal]);
  const shared: PlaceOptions = {
    assembly,
    openings: new Turns(new Semaphore(OPENINGS_AT_ONCE), LONG_OPENING_MS),
    coordination: assembly.store.coordination,
    factsOf: options.factsOf,
    retryFailedMs: options.retryFailedMs ?? RETRY_FAILED_MS,
    onFailed: (failure) => {
      const { tenants } = assembly.config;
      const codes = tenants.map(({ id }) => places.get(id)?.failure?.code ?? 'OWNERSHIP_LOST');
      if (codes.every((code) => code !== 'OWNERSHIP_LOST')) giveUp.abort(failure);
    },
    onError: (error) => giveUp.abort(error),
  };
  /** Of the tenants that have ever been assigned to this process. An empty one takes some bytes. */
  const places = new Map<string, Place>();
  const group = (options.join ?? joinGroup(assembly))({
    onAssigned: ({ tenants, moved }) => {
      // A process that is ending takes nothing on.
      if (signal.aborted) return;
      options.onAssigned?.(tenants);
      for (const [id, place] of places) if (!tenants.includes(id)) void place.end(movedAway(id));
      for (const id of tenants) {
        const place = places.get(id) ?? new Place(id, shared);
        places.set(id, place);
        place.begin(moved.includes(id) ? AFTER_ANOTHER_MS : 0);
      }
    },
    onLost: (why) => {
      for (const place of places.values()) place.lose(why);
      options.onTrouble?.(why, false);
    },
    onTrouble: (why, keepsTenants) => options.onTrouble?.(why, keepsTenants),
  });
  using _ = options.followConfig?.(({ added, changed, removed }) => {
    if (signal.aborted) return;
    for (const id of changed) places.get(id)?.beginAnew();
    for (const id of removed) void places.get(id)?.end();
    if (added.length + removed.length > 0) group.rejoin();
  });
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  // The others begin with a tenant when this process has left the group.
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
      groupId: `${topicPrefix}.workers`,
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
  readonly retryFailedMs: number;
  readonly onFailed: (failure: RollcallError) => void;
  /** An error of this program. */
  readonly onError: (error: unknown) => void;
}

/** The place of a tenant in this process: empty, or with a {@link TenantRun} while the group assigns the tenant to it. */
class Place {
  readonly #tenantId: string;
  readonly #options: PlaceOptions;
  /** Null: the tenant is not assigned to this process. */
  #ending: AbortController | null = null;
  /** One after the other, so that a tenant which comes back soon does not fence its own last transaction. */
  #ended: Promise<void> = Promise.resolve();
  #run: TenantRun<StartedTenant> | null = null;

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

  /** Resolves when the tenant has stopped. `why`: it is to be mirrored further, also by another worker; without: no more here. */
  end(why?: RollcallError): Promise<void> {
    this.#ending?.abort(why);
    this.#ending = null;
    this.#run = null;
    return this.#ended;
  }

  /** Ends what it has of the tenant, and begins under the changed configuration. */
  beginAnew(): void {
    if (this.#ending === null) return;
    void this.end(endedBy(`the configuration of tenant ${this.#tenantId} has changed`));
    this.begin(0);
  }

  /** Ends it because it may be another worker's by now. */
  lose(why: RollcallError): void {
    if (this.#ending === null) return;
    this.#run?.tenant.emit({ type: 'session-failed', error: why, retryInMs: BETWEEN_SESSIONS.firstMs });
    void this.end(movedAway(this.#tenantId));
  }

  /** Each time with another tenant object: a take-over remembers whether it has owned the tenant before. */
  async #occupy(firstPauseMs: number, signal: AbortSignal): Promise<void> {
    const { retryFailedMs } = this.#options;
    const backoff = { firstMs: SUPERSEDED_MS, longestMs: retryFailedMs };
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
      this.#run = new TenantRun(tenant, this.#options);
      const lost = await this.#mirror(this.#run, signal);
      if (lost === null) return;
      pauseMs = jitteredPauseMs(backoff, losses, runtime.random);
      emit({ type: 'tenant-failed', error: lost, retryInMs: pauseMs });
    }
  }

  /** A command that owns the tenant is not fenced. This process has withdrawn, so another heartbeat is another owner's. */
  async #whileOwned(sleep: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const living = () => this.#options.coordination.livingOwners([this.#tenantId]).catch(() => []);
    while (!signal.aborted && (await living())[0]) await sleep();
  }

  /** Mirrors until the signal aborts, or another process has taken the tenant over: then it returns that failure. */
  async #mirror(run: TenantRun<StartedTenant>, signal: AbortSignal): Promise<RollcallError | null> {
    const { assembly, retryFailedMs, factsOf, onFailed, coordination } = this.#options;
    const { tenant } = run;
    const ending = new AbortController();
    const heartbeat = keepHeartbeat(coordination, tenant, {
      ownedSinceMs: () => run.ownedSinceMs,
      factsOf,
      lastsMs: assembly.config.kafka.sessionMs + FOLLOWED_WITHIN_MS,
      signal: AbortSignal.any([signal, ending.signal]),
      sleep: tenant.runtime.sleep,
    });
    try {
      for (;;) {
        const failure = await run.mirror(signal);
        if (failure === null || failure.code === 'OWNERSHIP_LOST') return failure;
        tenant.emit({ type: 'tenant-failed', error: failure, retryInMs: retryFailedMs });
        onFailed(failure);
        await run.refuse(failure, retryFailedMs, signal);
      }
    } finally {
      ending.abort();
      await heartbeat;
      // Until the next owner announces itself, commands are to wait for it, and not to own the tenant themselves.
      const isMoved = signal.reason instanceof RollcallError;
      if (!isMoved) await coordination.withdraw(tenant.tenantId, tenant.owner).catch(() => undefined);
    }
  }
}

function movedAway(tenantId: string): RollcallError {
  return endedBy(`tenant ${tenantId} is moving to another process`);
}

/** A command whose request this ends asks the next owner. */
function endedBy(why: string): RollcallError {
  return new RollcallError('INTERNAL', why, { remedy: 'Give the command again.' });
}
