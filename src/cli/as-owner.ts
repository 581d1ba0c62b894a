import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { printable } from '../core/words.ts';
import { RollcallError, errorCodeFrom } from '../errors.ts';
import type { Person } from '../model/progress.ts';
import type { Assembly } from '../session/assemble.ts';
import type { StartedTenant } from '../session/started-tenant.ts';
import { LONGEST_REASON, mirrored, type OwnerRequestKind } from '../owner/owner-request.ts';
import { openSession } from '../session/open-session.ts';
import { sleep } from '../runtime.ts';
import { keepHeartbeat } from '../state/keep-heartbeat.ts';
import { askOwner } from '../state/ask-owner.ts';
import type { OwnerHeartbeat } from '../core/health/tenant-facts.ts';
import type { Output } from './output.ts';
import { readTenantProgress } from './verb-parts.ts';

const ATTEMPTS = 3;

export interface AsOwnerOptions<P extends Readonly<Record<string, unknown>>, R> {
  readonly tenantId: string;
  readonly request: OwnerRequestKind<P, R>;
  readonly parameters: P;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/**
 * Has the process that owns a tenant carry out a request. When there is no such process, this one becomes owner for as
 * long as the request takes. Never fences a living owner (design, "Command line"). Throws the errors of the request,
 * `KAFKA_…`, `INDEX_…`, `OWNERSHIP_LOST`.
 */
export async function asOwner<P extends Readonly<Record<string, unknown>>, R>(
  assembly: Assembly,
  options: AsOwnerOptions<P, R>,
): Promise<R> {
  const { tenantId, output, signal } = options;
  await assembly.store.ready();
  await using tenant = assembly.tenant(tenantId);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const living = await livingOwner(assembly, { tenantId, signal });
      if (living === null) return await ownAndDo(assembly, tenant, options);
      output.note(`${tenantId}: asking the process that mirrors it (${living.owner})`);
      return await askLivingOwner(assembly, options);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof RollcallError) || attempt >= ATTEMPTS) throw error;
      // Taking over again recovers from a failed log or index; nothing committed is published twice. If the owner that
      // was asked has been killed, a worker may have followed. Then that worker is asked, because taking over would end
      // it.
      const isFollowed = error.code === 'OWNERSHIP_LOST';
      if (!isFollowed && error.reaction !== 'restart') throw error;
      if (isFollowed) output.note(`${tenantId}: finding the tenant's present owner`);
    }
  }
}

/** Who gives this command, with the reason unless it is blank. Throws `USAGE_INVALID` for a reason that is too long. */
export function personHere(reason = ''): Person {
  const text = reason.trim();
  if (text.length > LONGEST_REASON)
    throw new RollcallError('USAGE_INVALID', `The reason is too long: it has ${text.length} characters`, {
      remedy: `Shorten it to at most ${LONGEST_REASON} characters.`,
    });
  return { by: userName(), from: hostname(), reason: text === '' ? null : text };
}

/** A container may have no name for its user. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

/** Throws `USAGE_INVALID` when a process runs for a tenant. */
export async function requireNoOwner(
  assembly: Assembly,
  options: { readonly tenantId: string; readonly signal: AbortSignal },
): Promise<void> {
  const living = await livingOwner(assembly, options);
  if (living === null) return;
  const what = `The process ${living.owner} mirrors tenant ${options.tenantId}, so nothing was changed`;
  const remedy =
    'Stop every process of this configuration, and run the command again. If only one process stops, another one takes the tenant over, and writes again what this command removes.';
  throw new RollcallError('USAGE_INVALID', what, { remedy });
}

/**
 * The heartbeat of the process that runs for the tenant; null when there is none. Where the log names a living process of
 * this machine without a heartbeat, taking over would end that process: throws `USAGE_INVALID`.
 */
async function livingOwner(
  assembly: Assembly,
  { tenantId, signal }: { readonly tenantId: string; readonly signal: AbortSignal },
): Promise<OwnerHeartbeat | null> {
  const [living] = await assembly.store.coordination.livingOwners([tenantId]);
  if (living) return living;
  const { owner = null } =
    (await readTenantProgress(assembly, [{ id: tenantId }], signal)).get(tenantId) ?? {};
  const pid = owner === null ? null : livingProcess(owner);
  if (pid === null) return null;
  const what = `Process ${pid} on this machine mirrors tenant ${tenantId}, and this command cannot send it a request, so the command ended; whatever the command has published stays`;
  throw new RollcallError('USAGE_INVALID', what, {
    remedy:
      assembly.config.redis === undefined
        ? 'Stop that process first, or add redis to the configuration, so that commands can reach it.'
        : 'That process has no heartbeat in Redis. Run the command again in a few seconds, or stop the process first.',
  });
}

/**
 * The process id in the name of a tenant's last owner, `<host>-<pid>-<8 hex digits>` (session/started-tenant.ts). Null
 * unless the owner is a living process of this program on this machine.
 */
function livingProcess(owner: string): number | null {
  const [, host, digits] = /^(.+)-(\d+)-[0-9a-f]{8}$/.exec(owner) ?? [];
  const pid = Number(digits);
  if (host !== hostname() || pid === process.pid) return null;
  try {
    // Signal 0 only tests. The system reuses ids, so a command line that can be read must be one of this program.
    process.kill(pid, 0);
    if (process.platform !== 'linux') return pid;
    return /(rollcall(\.mjs)?|main\.[jt]s)\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ? pid : null;
  } catch {
    return null;
  }
}

/** Throws `OWNERSHIP_LOST` when the owner has ended: the heartbeat of a killed process remains for some seconds. */
async function askLivingOwner<P extends Readonly<Record<string, unknown>>, R>(
  assembly: Assembly,
  { tenantId, request, parameters, output, signal }: AsOwnerOptions<P, R>,
): Promise<R> {
  const outcome = await askOwner({
    coordination: assembly.store.coordination,
    tenantId,
    request: { id: randomUUID(), kind: request.kind, parameters },
    signal,
    sleep,
    now: () => performance.now(),
    onProgress: (report) => output.progress(`${tenantId}: ${printable(String(report))}`),
  });
  if (outcome.state === 'done') return outcome.result as R;
  throw new RollcallError(errorCodeFrom(outcome.code), outcome.message, { remedy: outcome.remedy });
}

/** Takes over the tenant, carries out the request, and gives the tenant up. */
async function ownAndDo<P extends Readonly<Record<string, unknown>>, R>(
  { store: { coordination } }: Assembly,
  tenant: StartedTenant,
  options: AsOwnerOptions<P, R>,
): Promise<R> {
  const { tenantId, request, parameters, output, signal } = options;
  const ownedSinceMs = Date.now();
  await using _ = keepHeartbeat(coordination, tenant, { ownedSinceMs: () => ownedSinceMs, sleep });
  const session = await openSession(tenant, signal);
  const result = await request.handle(parameters, {
    tenant,
    ...session,
    sync: async (name, mode, syncOptions = {}) =>
      mirrored(session.runners, name, tenantId).once(mode, { ...syncOptions, signal }),
    report: async (report) => output.progress(`${tenantId}: ${report}`),
    signal,
  });
  signal.throwIfAborted();
  return result;
}
