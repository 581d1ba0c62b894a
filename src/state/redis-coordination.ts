import { z } from 'zod';
import type { OwnerHeartbeat, ReadHeartbeats } from '../core/health/tenant-facts.ts';
import { jsonOrNull } from '../core/json-or-null.ts';
import { RollcallError } from '../errors.ts';
import { ANSWER_KEPT_MS, MOST_REQUESTS_WAITING } from './coordination.ts';
import type { Coordination, OwnerRequest, RequestAnswer } from './coordination.ts';
import type { RedisConnection } from './redis-connection.ts';
import { tenantKeys } from './redis-keys.ts';
import { SCRIPTS } from './redis-scripts.ts';

const LIST_KEPT_MS = 10 * 60 * 1000;

const REQUEST = z.object({
  id: z.string(),
  kind: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});

const ANSWER = z.discriminatedUnion('state', [
  z.object({ state: z.literal('taken'), owner: z.string(), progress: z.unknown() }),
  z.object({ state: z.literal('done'), owner: z.string(), result: z.unknown() }),
  z.object({
    state: z.literal('failed'),
    owner: z.string(),
    code: z.string(),
    message: z.string(),
    remedy: z.string(),
  }),
]);

/** Coordination through Redis. Layout: `redis-keys.ts`. */
export class RedisCoordination implements Coordination {
  readonly #connection: RedisConnection;
  readonly #keyPrefix: string;

  constructor(connection: RedisConnection, keyPrefix: string) {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
  }

  async announce(tenantId: string, heartbeat: OwnerHeartbeat, ttlMs: number): Promise<boolean> {
    const announced = await this.#connection.script(
      SCRIPTS.announceOwner,
      [this.#keys(tenantId).owner],
      [heartbeat.owner, heartbeat.ownedSinceMs, ttlMs, ...Object.entries(heartbeat.info).flat()],
    );
    return announced === 1;
  }

  readonly livingOwners: ReadHeartbeats = (tenantIds, facts = []) => {
    const fields = ['owner', 'ownedSinceMs', ...facts];
    // Tenants may be at different nodes of a Cluster. No command waits for the one before it.
    return this.#connection.run((client) =>
      Promise.all(
        tenantIds.map(async (id) => {
          const [owner, ownedSinceMs, ...found] = await client.hmget(this.#keys(id).owner, ...fields);
          if (!owner) return null;
          const info = facts.flatMap((fact, at) => (found[at] ? [[fact, found[at]]] : []));
          return { owner, ownedSinceMs: Number(ownedSinceMs), info: Object.fromEntries(info) };
        }),
      ),
    );
  };

  async withdraw(tenantId: string, owner: string): Promise<void> {
    await this.#connection.script(SCRIPTS.withdrawOwner, [this.#keys(tenantId).owner], [owner]);
  }

  async leave(tenantId: string, request: OwnerRequest): Promise<void> {
    const { requests } = this.#keys(tenantId);
    const waiting = await this.#connection.run((client) => client.llen(requests));
    if (waiting >= MOST_REQUESTS_WAITING) {
      const what = `${MOST_REQUESTS_WAITING} requests already wait for the process that owns ${tenantId}`;
      throw new RollcallError('INDEX_REFUSED', what, {
        remedy: 'Wait until it has handled some of them; `rollcall status` shows what it is doing.',
      });
    }
    await this.#connection.transaction((commands) =>
      commands.rpush(requests, JSON.stringify(request)).pexpire(requests, LIST_KEPT_MS),
    );
  }

  async cancel(tenantId: string, request: OwnerRequest): Promise<void> {
    const { requests } = this.#keys(tenantId);
    await this.#connection.run((client) => client.lrem(requests, 0, JSON.stringify(request)));
  }

  async take(tenantId: string, owner: string): Promise<OwnerRequest | null> {
    const { requests } = this.#keys(tenantId);
    const text = await this.#connection.run((client) => client.lpop(requests));
    const request = text === null ? null : parsed(REQUEST, text);
    if (request !== null) await this.answer(tenantId, request.id, { state: 'taken', owner, progress: null });
    return request;
  }

  async answer(tenantId: string, requestId: string, answer: RequestAnswer): Promise<void> {
    const key = this.#keys(tenantId).answer(requestId);
    await this.#connection.run((client) => client.set(key, JSON.stringify(answer), 'PX', ANSWER_KEPT_MS));
  }

  async answerTo(tenantId: string, requestId: string): Promise<RequestAnswer | null> {
    const key = this.#keys(tenantId).answer(requestId);
    const text = await this.#connection.run((client) => client.get(key));
    return text === null ? null : parsed(ANSWER, text);
  }

  #keys(tenantId: string) {
    return tenantKeys(this.#keyPrefix, tenantId);
  }
}

/** Returns null for text that cannot be read: it comes from another version, or not from Rollcall. */
function parsed<T>(schema: z.ZodType<T>, text: string): T | null {
  return schema.safeParse(jsonOrNull(text)).data ?? null;
}
