import { hostname } from 'node:os';
import { RollcallError } from '../errors.ts';
import type { OwnerRequest } from '../state/coordination.ts';
import { serveRequests } from '../state/serve-requests.ts';
import type { Assembly } from './assemble.ts';
import { PULL_REQUEST, pullOutcome, readPullParameters, type PullOutcome } from './pull-request.ts';
import { runTenant, sleep, type TenantSession } from './tenant.ts';

const HEARTBEAT_EVERY_MS = 5_000;
const HEARTBEAT_LASTS_MS = 20_000;

/**
 * Mirrors all tenants until the signal aborts. Throws when one of them meets what only a person can cure; the
 * others are stopped first, in order.
 */
export async function runWorker(assembly: Assembly, signal: AbortSignal): Promise<void> {
  const failed = new AbortController();
  const both = AbortSignal.any([signal, failed.signal]);
  const tenants = assembly.config.tenants.map(async ({ id }) => {
    try {
      await mirrorTenant(assembly, id, both);
    } catch (error) {
      failed.abort(error);
      throw error;
    }
  });
  const settled = await Promise.allSettled(tenants);
  const failure = settled.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

async function mirrorTenant(assembly: Assembly, tenantId: string, signal: AbortSignal): Promise<void> {
  const { parts } = assembly.tenant(tenantId);
  const ending = new AbortController();
  const alive = AbortSignal.any([signal, ending.signal]);
  let session: TenantSession | null = null;
  // From before it owns the tenant: a command that comes now must wait for it, not fence it.
  const heartbeat = keepHeartbeat(assembly, { tenantId, signal: alive });
  const requests = serveRequests({
    coordination: assembly.store.coordination,
    tenantId,
    owner: assembly.owner,
    handle: (request) => handleRequest(request, session),
    signal: alive,
    sleep,
  });
  try {
    await runTenant(parts, {
      signal,
      onSession: (opened) => {
        session = opened;
      },
    });
  } finally {
    ending.abort();
    await Promise.allSettled([heartbeat, requests]);
    await assembly.store.coordination.withdraw(tenantId, assembly.owner).catch(() => undefined);
  }
}

/** Tells commands on the same tenant that its owner lives. Fencing does not depend on it (invariant 7). */
export async function keepHeartbeat(
  assembly: Pick<Assembly, 'store' | 'owner'>,
  options: { tenantId: string; signal: AbortSignal },
): Promise<void> {
  const ownedSinceMs = Date.now();
  const sign = { owner: assembly.owner, ownedSinceMs, info: { host: hostname(), pid: String(process.pid) } };
  while (!options.signal.aborted) {
    await assembly.store.coordination
      .announce(options.tenantId, sign, HEARTBEAT_LASTS_MS)
      .catch(() => undefined);
    await sleep(HEARTBEAT_EVERY_MS, options.signal).catch(() => undefined);
  }
}

async function handleRequest(request: OwnerRequest, session: TenantSession | null): Promise<PullOutcome[]> {
  if (session === null) {
    throw new RollcallError('KAFKA_OUTCOME_UNKNOWN', 'The owner of the tenant is just taking it over again', {
      remedy: 'Try again in a few seconds.',
    });
  }
  if (request.kind !== PULL_REQUEST) {
    throw new RollcallError(
      'USAGE_INVALID',
      `The owner of the tenant does not know the request ${request.kind}`,
      {
        remedy: 'Use the same version of Rollcall for the command as for the process that runs.',
      },
    );
  }
  const { collections, full } = readPullParameters(request.parameters);
  const wanted = collections.length > 0 ? collections : [...session.runners.keys()];
  return Promise.all(
    wanted.map(async (collection) => {
      const runner = session.runners.get(collection);
      if (runner === undefined)
        return pullOutcome(collection, { result: null, error: notMirrored(collection) });
      try {
        const result = await runner.demand(full ? 'FULL' : 'DELTA');
        return pullOutcome(collection, { result, error: null });
      } catch (error) {
        return pullOutcome(collection, { result: null, error });
      }
    }),
  );
}

export function notMirrored(collection: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `${collection} is not mirrored for this tenant`, {
    remedy: 'Enable it under "collections" in the configuration.',
  });
}
