import { hostname } from 'node:os';
import type { Assembly } from '../session/assemble.ts';
import type { StartedTenant } from '../session/tenant.ts';
import type { Coordination } from '../state/coordination.ts';
import { sleep } from '../runtime.ts';
import { OpeningQueue, TenantRun } from './tenant-run.ts';

/** What the heartbeat of a tenant says besides who its owner is: its health, for `status` in another process. */
type FactsOf = (tenantId: string) => Readonly<Record<string, string>>;

const HEARTBEAT_EVERY_MS = 3_000;
const HEARTBEAT_LASTS_MS = 10_000;
/** A take-over is announced within this time. */
const LOOK_EVERY_MS = 500;
/** What a person mends is taken up without a restart. */
const RETRY_FAILED_MS = 300_000;

/**
 * Mirrors all tenants until the signal aborts. A tenant that needs a person fails alone, and is tried again from time to
 * time, unless another process has taken it over. Throws the last failure when every tenant has failed, and the errors of
 * this program; the tenants are stopped properly first.
 */
export async function runWorker(
  assembly: Assembly,
  options: { signal: AbortSignal; factsOf?: FactsOf | undefined; retryFailedMs?: number | undefined },
): Promise<void> {
  const { factsOf, retryFailedMs = RETRY_FAILED_MS } = options;
  const { coordination } = assembly.store;
  const giveUp = new AbortController();
  const signal = AbortSignal.any([options.signal, giveUp.signal]);
  const shared = { openings: new OpeningQueue(), coordination };
  const runs = assembly.config.tenants.map(({ id }) => new TenantRun(assembly.tenant(id), shared));
  const mirror = async (run: (typeof runs)[number]): Promise<void> => {
    while (!signal.aborted) {
      const failure = await run.mirror(signal);
      if (failure === null) return;
      const isRetried = failure.code !== 'OWNERSHIP_LOST';
      run.tenant.emit({ type: 'tenant-failed', error: failure, retryInMs: isRetried ? retryFailedMs : null });
      if (runs.every((each) => each.failure !== null)) giveUp.abort(failure);
      if (!isRetried) return;
      await run.refuse(failure, retryFailedMs, signal);
    }
  };
  const ended = runs.map(async (run) => {
    await using tenant = run.tenant;
    const ending = new AbortController();
    const heartbeat = keepHeartbeat(coordination, tenant, {
      ownedSinceMs: () => run.ownedSinceMs,
      factsOf,
      signal: AbortSignal.any([signal, ending.signal]),
    });
    await mirror(run).catch((error: unknown) => giveUp.abort(error));
    ending.abort();
    await heartbeat;
    await coordination.withdraw(tenant.tenantId, tenant.owner).catch(() => undefined);
  });
  await Promise.all(ended);
  giveUp.signal.throwIfAborted();
}

/**
 * Announces to commands that the tenant's owner lives. Fencing does not depend on it (invariant 7).
 * `ownedSinceMs` returns null while the process is only about to take over: any other owner's heartbeat then takes precedence.
 */
export async function keepHeartbeat(
  coordination: Coordination,
  { tenantId, owner }: Pick<StartedTenant, 'tenantId' | 'owner'>,
  options: {
    ownedSinceMs: () => number | null;
    signal: AbortSignal;
    factsOf?: FactsOf | undefined;
  },
): Promise<void> {
  for (let beat = 1; !options.signal.aborted; beat += 1) {
    const ownedSinceMs = options.ownedSinceMs();
    // The number shows a reader that the heartbeat is renewed, and not one that Redis has kept too long.
    const info = {
      host: hostname(),
      pid: String(process.pid),
      beat: String(beat),
      ...options.factsOf?.(tenantId),
    };
    await coordination
      .announce(tenantId, { owner, ownedSinceMs: ownedSinceMs ?? 0, info }, HEARTBEAT_LASTS_MS)
      .catch(() => undefined);
    const { signal } = options;
    for (
      let leftMs = HEARTBEAT_EVERY_MS;
      leftMs > 0 && !signal.aborted && options.ownedSinceMs() === ownedSinceMs;
    ) {
      const pauseMs = ownedSinceMs === null ? LOOK_EVERY_MS : leftMs;
      await sleep(pauseMs, signal).catch(() => undefined);
      leftMs -= pauseMs;
    }
  }
}
