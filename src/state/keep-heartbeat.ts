import type { Coordination } from './coordination.ts';

/** What the heartbeat of a tenant says besides who its owner is: its health, for `status` in another process. */
export type FactsOf = (tenantId: string) => Readonly<Record<string, string>>;

const HEARTBEAT_EVERY_MS = 3_000;
const HEARTBEAT_LASTS_MS = 10_000;

export interface HeartbeatOptions {
  /** Null while the process is only about to take over: any other owner's heartbeat then takes precedence. */
  readonly ownedSinceMs: () => number | null;
  readonly factsOf?: FactsOf | undefined;
  /** How long the heartbeat stays after the process has died. It should be long enough for another worker to take over. */
  readonly lastsMs?: number | undefined;
}

/**
 * Announces to commands that the tenant's owner is alive, and how healthy the tenant is. Fencing does not depend on it
 * (invariant 7). Never rejects.
 */
export async function announceOwner(
  coordination: Coordination,
  { tenantId, owner }: { readonly tenantId: string; readonly owner: string },
  { ownedSinceMs, factsOf, lastsMs = HEARTBEAT_LASTS_MS }: HeartbeatOptions,
): Promise<void> {
  const heartbeat = { owner, ownedSinceMs: ownedSinceMs() ?? 0, info: factsOf?.(tenantId) ?? {} };
  await coordination.announce(tenantId, heartbeat, lastsMs).catch(() => undefined);
}

/**
 * Announces the tenant's owner every few seconds, until it is disposed of. Then it withdraws the heartbeat, unless
 * another process follows as owner.
 */
export function keepHeartbeat(
  coordination: Coordination,
  tenant: { readonly tenantId: string; readonly owner: string },
  options: HeartbeatOptions & {
    readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
    readonly isFollowed?: (() => boolean) | undefined;
  },
): AsyncDisposable {
  const ending = new AbortController();
  const { signal } = ending;
  const announcing = (async () => {
    while (!signal.aborted) {
      await announceOwner(coordination, tenant, options);
      await options.sleep(HEARTBEAT_EVERY_MS, signal).catch(() => undefined);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await announcing;
      if (options.isFollowed?.() === true) return;
      await coordination.withdraw(tenant.tenantId, tenant.owner).catch(() => undefined);
    },
  };
}
