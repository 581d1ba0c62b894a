import type { OwnerHeartbeat, ReadHeartbeats } from '../../../src/core/health/tenant-facts.ts';
import { RollcallError } from '../../../src/errors.ts';
import { MOST_REQUESTS_WAITING } from '../../../src/state/coordination.ts';
import type { Coordination, OwnerRequest, RequestAnswer } from '../../../src/state/coordination.ts';

class TenantEntry {
  heartbeat: { readonly value: OwnerHeartbeat; readonly untilMs: number } | null = null;
  requests: OwnerRequest[] = [];
  readonly answers = new Map<string, RequestAnswer>();
}

/** A double of the coordination through Redis, for owner and command in one process; the contract compares them. */
export class MemoryCoordination implements Coordination {
  readonly #now: () => number;
  readonly #tenants = new Map<string, TenantEntry>();

  /** `now`: ms since the epoch. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async announce(tenantId: string, heartbeat: OwnerHeartbeat, ttlMs: number): Promise<boolean> {
    const { owner, ownedSinceMs, info } = heartbeat;
    const living = this.#living(tenantId);
    if (living !== null && living.owner !== owner && living.ownedSinceMs > ownedSinceMs) return false;
    const copy = { ...heartbeat, info: { ...info } };
    this.#entry(tenantId).heartbeat = { value: copy, untilMs: this.#now() + ttlMs };
    return true;
  }

  #living(tenantId: string): OwnerHeartbeat | null {
    const { heartbeat } = this.#entry(tenantId);
    return heartbeat !== null && heartbeat.untilMs > this.#now() ? heartbeat.value : null;
  }

  readonly livingOwners: ReadHeartbeats = async (tenantIds, facts = []) =>
    tenantIds.map((id) => {
      const living = this.#living(id);
      const asked = Object.entries(living?.info ?? {}).filter(([name]) => facts.includes(name));
      return living && { ...living, info: Object.fromEntries(asked) };
    });

  async withdraw(tenantId: string, owner: string): Promise<void> {
    const entry = this.#entry(tenantId);
    if (entry.heartbeat?.value.owner === owner) entry.heartbeat = null;
  }

  async leave(tenantId: string, request: OwnerRequest): Promise<void> {
    const entry = this.#entry(tenantId);
    if (entry.requests.length >= MOST_REQUESTS_WAITING)
      throw new RollcallError('INDEX_REFUSED', 'too many requests', { remedy: 'Wait.' });
    entry.requests.push(JSON.parse(JSON.stringify(request)) as OwnerRequest);
  }

  async cancel(tenantId: string, { id }: OwnerRequest): Promise<void> {
    const entry = this.#entry(tenantId);
    entry.requests = entry.requests.filter((each) => each.id !== id);
  }

  async take(tenantId: string, owner: string): Promise<OwnerRequest | null> {
    const request = this.#entry(tenantId).requests.shift() ?? null;
    if (request !== null) await this.answer(tenantId, request.id, { state: 'taken', owner, progress: null });
    return request;
  }

  async answer(tenantId: string, requestId: string, answer: RequestAnswer): Promise<void> {
    this.#entry(tenantId).answers.set(requestId, JSON.parse(JSON.stringify(answer)) as RequestAnswer);
  }

  async answerTo(tenantId: string, requestId: string): Promise<RequestAnswer | null> {
    return this.#entry(tenantId).answers.get(requestId) ?? null;
  }

  #entry(tenantId: string): TenantEntry {
    const entry = this.#tenants.get(tenantId) ?? new TenantEntry();
    this.#tenants.set(tenantId, entry);
    return entry;
  }
}
