import type { Coordination } from './coordination.ts';

/** What the heartbeat of a tenant says besides who its owner is: its health, for `status` in another process. */
export type FactsOf = (tenantId: string) => Readonly<Record<string, string>>;

const HEARTBEAT_EVERY_MS = 3_000;
const HEARTBEAT_LASTS_MS = 10_000;
/** A take-over is announced within this time. */
const LOOK_EVERY_MS = 500;

/**
 * Announces to commands that the tenant's owner lives. Fencing does not depend on it (invariant 7).
 * `ownedSinceMs` returns null while the process is only about to take over: any other owner's heartbeat then takes precedence.
 */
export async function keepHeartbeat(
  coordination: Coordination,
  { tenantId, owner }: { readonly tenantId: string; readonly owner: string },
  options: {
    ownedSinceMs: () => number | null;
    signal: AbortSignal;
    sleep: (ms: number, signal: AbortSignal) => Promise<void>;
    factsOf?: FactsOf | undefined;
    /** How long the heartbeat stays after the process has died: until another worker follows. */
    lastsMs?: number | undefined;
  },
): Promise<void> {
  const { signal, sleep, factsOf, lastsMs = HEARTBEAT_LASTS_MS } = options;
  while (!signal.aborted) {
    const ownedSinceMs = options.ownedSinceMs();
    const heartbeat = { owner, ownedSinceMs: ownedSinceMs ?? 0, info: factsOf?.(tenantId) ?? {} };
    await coordination.announce(tenantId, heartbeat, lastsMs).catch(() => undefined);
    let leftMs = HEARTBEAT_EVERY_MS;
    while (leftMs > 0 && !signal.aborted && options.ownedSinceMs() === ownedSinceMs) {
      const pauseMs = ownedSinceMs === null ? LOOK_EVERY_MS : leftMs;
      await sleep(pauseMs, signal).catch(() => undefined);
      leftMs -= pauseMs;
    }
  }
}
