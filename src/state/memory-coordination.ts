import { ANSWER_KEPT_MS, MOST_REQUESTS_WAITING } from './coordination.ts';
import type { Coordination, OwnerRequest, OwnerHeartbeat, RequestAnswer } from './coordination.ts';
import { answerFromJson, requestFromJson, tooManyRequests } from './coordination-messages.ts';

interface Expiring<T> {
  readonly value: T;
  readonly untilMs: number;
}

class TenantDesk {
  heartbeat: Expiring<OwnerHeartbeat> | null = null;
  readonly requests: OwnerRequest[] = [];
  readonly askersUntilMs = new Map<string, number>();
  readonly answers = new Map<string, Expiring<RequestAnswer>>();
}

/** Coordination within this process. With the index in memory, other processes cannot reach the owner. */
export class MemoryCoordination implements Coordination {
  readonly #now: () => number;
  readonly #desks = new Map<string, TenantDesk>();

  /** `now`: ms since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  async announce(tenantId: string, heartbeat: OwnerHeartbeat, ttlMs: number): Promise<boolean> {
    const { owner, ownedSinceMs, info } = heartbeat;
    const living = await this.livingOwner(tenantId);
    if (living !== null && living.owner !== owner && living.ownedSinceMs > ownedSinceMs) return false;
    const copy = { ...heartbeat, info: { ...info } };
    this.#desk(tenantId).heartbeat = { value: copy, untilMs: this.#now() + ttlMs };
    return true;
  }

  async livingOwner(tenantId: string): Promise<OwnerHeartbeat | null> {
    const { heartbeat } = this.#desk(tenantId);
    return heartbeat !== null && heartbeat.untilMs > this.#now() ? heartbeat.value : null;
  }

  async withdraw(tenantId: string, owner: string): Promise<void> {
    const desk = this.#desk(tenantId);
    if (desk.heartbeat?.value.owner === owner) desk.heartbeat = null;
  }

  async leave(tenantId: string, request: OwnerRequest, aliveMs: number): Promise<void> {
    const desk = this.#desk(tenantId);
    if (desk.requests.length >= MOST_REQUESTS_WAITING) throw tooManyRequests(tenantId);
    const copy = requestFromJson(JSON.stringify(request));
    if (copy !== null) desk.requests.push(copy);
    await this.keepAlive(tenantId, request.id, aliveMs);
  }

  async keepAlive(tenantId: string, requestId: string, aliveMs: number): Promise<void> {
    const { askersUntilMs } = this.#desk(tenantId);
    const nowMs = this.#now();
    for (const [id, untilMs] of askersUntilMs) if (untilMs <= nowMs) askersUntilMs.delete(id);
    askersUntilMs.set(requestId, nowMs + aliveMs);
  }

  async cancel(tenantId: string, requestId: string): Promise<void> {
    this.#desk(tenantId).askersUntilMs.delete(requestId);
  }

  async take(tenantId: string, owner: string): Promise<OwnerRequest | null> {
    const desk = this.#desk(tenantId);
    for (let request = desk.requests.shift(); request !== undefined; request = desk.requests.shift()) {
      if ((desk.askersUntilMs.get(request.id) ?? 0) <= this.#now()) continue;
      await this.answer(tenantId, request.id, { state: 'taken', owner, progress: null });
      return request;
    }
    return null;
  }

  async answer(tenantId: string, requestId: string, answer: RequestAnswer): Promise<void> {
    const { answers } = this.#desk(tenantId);
    const nowMs = this.#now();
    for (const [id, { untilMs }] of answers) if (untilMs <= nowMs) answers.delete(id);
    const copy = answerFromJson(JSON.stringify(answer));
    if (copy !== null) answers.set(requestId, { value: copy, untilMs: nowMs + ANSWER_KEPT_MS });
  }

  async answerTo(tenantId: string, requestId: string): Promise<RequestAnswer | null> {
    const found = this.#desk(tenantId).answers.get(requestId);
    return found !== undefined && found.untilMs > this.#now() ? found.value : null;
  }

  #desk(tenantId: string): TenantDesk {
    const desk = this.#desks.get(tenantId) ?? new TenantDesk();
    this.#desks.set(tenantId, desk);
    return desk;
  }
}
