import { hostname } from 'node:os';
import { serveRequests } from '../state/serve-requests.ts';
import type { Assembly } from '../session/assemble.ts';
import { notMirrored } from '../owner/owner-request.ts';
import { handleRequest } from '../owner/handle-request.ts';
import { OpeningQueue, runTenant } from './run-tenant.ts';
import { sleep } from '../runtime.ts';
import type { TenantSession } from '../session/open-session.ts';

/** What the heartbeat of a tenant says besides who its owner is. Commands in other processes read it. */
type FactsOf = (tenantId: string) => Readonly<Record<string, string>>;

const HEARTBEAT_EVERY_MS = 3_000;
const HEARTBEAT_LASTS_MS = 10_000;
/** Interval of heartbeats before the take-over. */
const BEFORE_OWNING_MS = 500;

/**
 * Mirrors all tenants until the signal aborts. Throws when a tenant fails in a way that only a person can resolve; the
 * other tenants are stopped properly first.
 */
export async function runWorker(assembly: Assembly, signal: AbortSignal, factsOf?: FactsOf): Promise<void> {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const openings = new OpeningQueue();
  const tenants = assembly.config.tenants.map(async ({ id }) => {
    try {
      await mirrorTenant(assembly, { tenantId: id, openings, signal: both, factsOf });
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  const settled = await Promise.allSettled(tenants);
  const failure = settled.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function mirrorTenant(
  assembly: Assembly,
  options: {
    tenantId: string;
    openings: OpeningQueue;
    signal: AbortSignal;
    factsOf?: FactsOf | undefined;
  },
): Promise<void> {
  const { tenantId, openings, signal, factsOf } = options;
  const ending = new AbortController();
  let ownedSinceMs: number | null = null;
  const heartbeat = keepHeartbeat(assembly, {
    tenantId,
    ownedSinceMs: () => ownedSinceMs,
    factsOf,
    signal: AbortSignal.any([signal, ending.signal]),
  });
  let stopServing = new AbortController();
  let served = Promise.resolve();
  try {
    await runTenant(assembly.tenant(tenantId).parts, {
      signal,
      openings,
      onSession: (opened) => {
        stopServing.abort();
        if (opened === null) return;
        ownedSinceMs = Date.now();
        stopServing = new AbortController();
        const { signal: ends } = stopServing;
        // Requests of the previous session must end before those of this one begin.
        served = served.then(() => serve(assembly, { tenantId, session: opened, signal: ends }));
      },
    });
  } finally {
    ending.abort();
    await heartbeat;
    await assembly.store.coordination.withdraw(tenantId, assembly.owner).catch(() => undefined);
  }
}

/** Takes requests only while there is a session to handle them; until then they wait. */
function serve(
  assembly: Assembly,
  { tenantId, session, signal }: { tenantId: string; session: TenantSession; signal: AbortSignal },
): Promise<void> {
  return serveRequests({
    coordination: assembly.store.coordination,
    tenantId,
    owner: assembly.owner,
    handle: (request, report) =>
      handleRequest(request, {
        parts: assembly.tenant(tenantId).parts,
        session,
        sync: async (collection, mode, options) => {
          const runner = session.runners.get(collection);
          if (runner === undefined) throw notMirrored(collection);
          return runner.request(mode, options);
        },
        report,
        signal,
      }),
    signal,
    sleep,
  });
}

/**
 * Announces to commands that the tenant's owner lives. Fencing does not depend on it (invariant 7).
 * `ownedSinceMs` returns null while the process is only about to take over: any other owner's heartbeat then takes precedence.
 */
export async function keepHeartbeat(
  assembly: Pick<Assembly, 'store' | 'owner'>,
  options: {
    tenantId: string;
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
      ...options.factsOf?.(options.tenantId),
    };
    await assembly.store.coordination
      .announce(
        options.tenantId,
        { owner: assembly.owner, ownedSinceMs: ownedSinceMs ?? 0, info },
        HEARTBEAT_LASTS_MS,
      )
      .catch(() => undefined);
    await sleep(ownedSinceMs === null ? BEFORE_OWNING_MS : HEARTBEAT_EVERY_MS, options.signal).catch(
      () => undefined,
    );
  }
}
