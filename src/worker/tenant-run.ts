import { jitteredPauseMs, type Backoff } from '../backoff.ts';
import { hasCode, RollcallError } from '../errors.ts';
import type { TopicSuffix } from '../model/collections.ts';
import { APPROVE } from '../owner/approve.ts';
import { mirrored, otherVersion, type OwnerRequestKind, type OwnerWork } from '../owner/owner-request.ts';
import { PULL } from '../owner/pull.ts';
import { REBUILD } from '../owner/rebuild.ts';
import { REPAIR } from '../owner/repair.ts';
import { REPUBLISH } from '../owner/republish.ts';
import type { Turns } from '../semaphore.ts';
import { openSession, type TenantSession } from '../session/open-session.ts';
import { rollSegments } from '../session/roll-segments.ts';
import { watchTopics } from '../session/watch-topics.ts';
import type { Coordination, OwnerRequest } from '../state/coordination.ts';
import { serveRequests, type ServeRequestsOptions } from '../state/serve-requests.ts';
import type { Tenant } from '../table/tenant.ts';

export const BETWEEN_SESSIONS: Backoff = { firstMs: 1_000, longestMs: 30_000 };

interface RunOptions {
  /** Shared by all tenants of a process. If left out, the tenant is opened at once. */
  readonly openings?: Turns | undefined;
  /** Where commands leave their requests to the owner. If left out, the process serves no requests. */
  readonly coordination?: Coordination | undefined;
  /**
   * Announces who owns the tenant, and how the tenant is. Called after a take-over, and before the answer to each
   * request, so that `status` then shows the result.
   */
  readonly announce?: (() => Promise<void>) | undefined;
}

/** A tenant that this process mirrors, session after session. */
export class TenantRun {
  readonly tenant: Tenant;
  readonly #options: RunOptions;
  readonly #markedAtMs = new Map<TopicSuffix, number>();
  /** Null while the process does not own the tenant. */
  session: TenantSession | null = null;
  /** Null while the process has not owned the tenant yet. */
  ownedSinceMs: number | null = null;
  /** Why the tenant needs a person: lost ownership, an incompatible topic or schema. Null again when a session opens. */
  failure: RollcallError | null = null;

  constructor(tenant: Tenant, options: RunOptions = {}) {
    this.tenant = tenant;
    this.#options = options;
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
        // Tasks that waited for the transaction that failed may report their failure (KAFKA_NOT_SENT) before the
        // transaction does.
        const { cause } = thrown as Error;
        const error = await this.#explained(cause instanceof RollcallError ? cause : thrown);
        if (signal.aborted) break;
        if (error instanceof RollcallError && error.reaction === 'fail') {
          this.failure = error;
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

  /**
   * Returns an error that names all missing rights, if Kafka has refused one. Otherwise the next sessions would name
   * them one after another.
   */
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
    this.session = session;
    this.ownedSinceMs = this.tenant.runtime.now();
    this.failure = null;
    tenant.emit({ type: 'session-opened' });
    void this.#options.announce?.();
    const loops = [
      ...[...session.runners.values()].map(async (runner) => runner.loop(both)),
      watchTopics(tenant, session.writers, both),
      rollSegments(tenant, { markedAtMs: this.#markedAtMs, writers: session.writers, signal: both }),
      this.#serve((request, report) => this.#handle(session, request, { report, signal: both }), both),
    ];
    try {
      await Promise.all(loops);
    } finally {
      // From now on requests wait for the next session.
      this.session = null;
      ending.abort(
        new RollcallError('INTERNAL', `The session of tenant ${tenant.tenantId} is ending`, {
          remedy: 'There is nothing to do: Rollcall opens a new session.',
        }),
      );
      await Promise.allSettled(loops);
    }
  }

  /** Takes requests only while there is a session to handle them. Until then they wait. */
  async #serve(handle: ServeRequestsOptions['handle'], signal: AbortSignal): Promise<void> {
    const { coordination, announce } = this.#options;
    const { tenantId, owner, runtime } = this.tenant;
    if (coordination === undefined) return;
    const handleAndAnnounce: typeof handle = async (...given) => {
      try {
        return await handle(...given);
      } finally {
        await announce?.();
      }
    };
    const options = { coordination, tenantId, owner, handle: handleAndAnnounce, signal };
    await serveRequests({ ...options, sleep: runtime.sleep });
  }

  /** Carries out a command's request to the owner. Throws `USAGE_INVALID` for a kind that this version does not know. */
  async #handle(
    session: TenantSession,
    { kind, parameters }: OwnerRequest,
    rest: Pick<OwnerWork, 'report' | 'signal'>,
  ): Promise<unknown> {
    const { tenantId } = this.tenant;
    const known = KINDS.find((each) => each.kind === kind);
    if (known === undefined) throw otherVersion(`The owner of ${tenantId} does not know the request ${kind}`);
    return known.handleGiven(parameters, {
      tenant: this.tenant,
      ...session,
      sync: async (name, mode, options) => mirrored(session.runners, name, tenantId).request(mode, options),
      ...rest,
    });
  }
}

type Kind = Omit<OwnerRequestKind<unknown, unknown>, 'handle'>;
const KINDS: readonly Kind[] = [PULL, APPROVE, REBUILD, REPAIR, REPUBLISH];
