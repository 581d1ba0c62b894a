import type { OwnerHeartbeat, ReadHeartbeats } from '../../../src/core/health/tenant-facts.ts';
import type { Coordination } from '../../../src/state/coordination.ts';

/** A double of the heartbeats in Redis, for several processes in one. */
export class MemoryCoordination implements Pick<Coordination, 'announce' | 'livingOwners' | 'withdraw'> {
  readonly #now: () => number;
  readonly #heartbeats = new Map<string, { readonly heartbeat: OwnerHeartbeat; readonly untilMs: number }>();

  /** `now`: ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  async announce(tenantId: string, heartbeat: OwnerHeartbeat, ttlMs: number): Promise<boolean> {
    this.#heartbeats.set(tenantId, { heartbeat, untilMs: this.#now() + ttlMs });
    return true;
  }

  async withdraw(tenantId: string, owner: string): Promise<void> {
    if (this.#heartbeats.get(tenantId)?.heartbeat.owner === owner) this.#heartbeats.delete(tenantId);
  }

  readonly livingOwners: ReadHeartbeats = async (tenantIds, facts = []) =>
    tenantIds.map((id) => {
      const { heartbeat, untilMs = 0 } = this.#heartbeats.get(id) ?? {};
      if (heartbeat === undefined || untilMs <= this.#now()) return null;
      const asked = Object.entries(heartbeat.info).filter(([name]) => facts.includes(name));
      return { ...heartbeat, info: Object.fromEntries(asked) };
    });
}
