import { RollcallError } from '../../../src/errors.ts';
import { ANSWER_KEPT_MS, MOST_REQUESTS_WAITING } from '../../../src/state/coordination.ts';
import type {
  Coordination,
  OwnerRequest,
  OwnerHeartbeat,
  RequestAnswer,
} from '../../../src/state/coordination.ts';

interface Expiring<T> {
  readonly value: T;
  readonly untilMs: number;
}

class TenantEntry {
  heartbeat: Expiring<OwnerHeartbeat> | null = null;
  readonly requests: OwnerRequest[] = [];
  readonly askersUntilMs = new Map<string, number>();
  readonly answers = new Map<string, Expiring<RequestAnswer>>();
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
    const living = await this.livingOwner(tenantId);
    if (living !== null && living.owner !== owner && living.ownedSinceMs > ownedSinceMs) return false;
    const copy = { ...heartbeat, info: { ...info } };
    this.#entry(tenantId).heartbeat = { value: copy, untilMs: this.#now() + ttlMs };
    return true;
  }

  async livingOwner(tenantId: string): Promise<OwnerHeartbeat | null> {
    const { heartbeat } = this.#entry(tenantId);
    return heartbeat !== null && heartbeat.untilMs > this.#now() ? heartbeat.value : null;
  }

  async withdraw(tenantId: string, owner: string): Promise<void> {
    const entry = this.#entry(tenantId);
    if (entry.heartbeat?.value.owner === owner) entry.heartbeat = null;
  }

  async leave(tenantId: string, request: OwnerRequest, aliveMs: number): Promise<void> {
    const entry = this.#entry(tenantId);
    if (entry.requests.length >= MOST_REQUESTS_WAITING)
      throw new RollcallError('INDEX_REFUSED', 'too many requests', { remedy: 'Wait.' });
    entry.requests.push(JSON.parse(JSON.stringify(request)) as OwnerRequest);
    await this.keepAlive(tenantId, request.id, aliveMs);
  }

  async keepAlive(tenantId: string, requestId: string, aliveMs: number): Promise<void> {
    const { askersUntilMs } = this.#entry(tenantId);
    const nowMs = this.#now();
    for (const [id, untilMs] of askersUntilMs) if (untilMs <= nowMs) askersUntilMs.delete(id);
    askersUntilMs.set(requestId, nowMs + aliveMs);
  }

  async cancel(tenantId: string, requestId: string): Promise<void> {
    this.#entry(tenantId).askersUntilMs.delete(requestId);
  }

  async take(tenantId: string, owner: string): Promise<OwnerRequest | null> {
    const entry = this.#entry(tenantId);
    for (let request = entry.requests.shift(); request !== undefined; request = entry.requests.shift()) {
      if ((entry.askersUntilMs.get(request.id) ?? 0) <= this.#now()) continue;
      await this.answer(tenantId, request.id, { state: 'taken', owner, progress: null });
      return request;
    }
    return null;
  }

  async answer(tenantId: string, requestId: string, answer: RequestAnswer): Promise<void> {
    const { answers } = this.#entry(tenantId);
    const nowMs = this.#now();
    for (const [id, { untilMs }] of answers) if (untilMs <= nowMs) answers.delete(id);
    const value = JSON.parse(JSON.stringify(answer)) as RequestAnswer;
    answers.set(requestId, { value, untilMs: nowMs + ANSWER_KEPT_MS });
  }

  async answerTo(tenantId: string, requestId: string): Promise<RequestAnswer | null> {
    const found = this.#entry(tenantId).answers.get(requestId);
    return found !== undefined && found.untilMs > this.#now() ? found.value : null;
  }

  #entry(tenantId: string): TenantEntry {
    const entry = this.#tenants.get(tenantId) ?? new TenantEntry();
    this.#tenants.set(tenantId, entry);
    return entry;
  }
}
