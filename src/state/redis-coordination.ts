import type { z } from 'zod';
import { jsonOrNull } from '../core/json-or-null.ts';
import { OWNER_REQUEST, REQUEST_ANSWER, type Coordination } from './coordination.ts';
import type { RedisConnection } from './redis-connection.ts';
import { tenantKeys } from './redis-keys.ts';
import { SCRIPTS } from './redis-scripts.ts';

const LIST_KEPT_MS = 10 * 60 * 1000;
const ANSWER_KEPT_MS = 24 * 60 * 60 * 1000;

/** Coordination through Redis. Layout: `redis-keys.ts`. */
export function redisCoordination(connection: RedisConnection, keyPrefix: string): Coordination {
  const keysOf = (tenantId: string) => tenantKeys(keyPrefix, tenantId);
  const answer: Coordination['answer'] = async (tenantId, requestId, given) => {
    const key = keysOf(tenantId).answer(requestId);
    await connection.run((client) => client.set(key, JSON.stringify(given), 'PX', ANSWER_KEPT_MS));
  };
  return {
    answer,
    async announce(tenantId, { owner, ownedSinceMs, info }, ttlMs) {
      const args = [owner, ownedSinceMs, ttlMs, ...Object.entries(info).flat()];
      return (await connection.script(SCRIPTS.announceOwner, [keysOf(tenantId).owner], args)) === 1;
    },
    livingOwners(tenantIds, facts = []) {
      const fields = ['owner', 'ownedSinceMs', ...facts];
      // Tenants may be at different nodes of a Cluster. No command waits for the one before it.
      return connection.run((client) =>
        Promise.all(
          tenantIds.map(async (id) => {
            const [owner, ownedSinceMs, ...found] = await client.hmget(keysOf(id).owner, ...fields);
            if (!owner) return null;
            const info = facts.flatMap((fact, at) => (found[at] ? [[fact, found[at]]] : []));
            return { owner, ownedSinceMs: Number(ownedSinceMs), info: Object.fromEntries(info) };
          }),
        ),
      );
    },
    async withdraw(tenantId, owner) {
      await connection.script(SCRIPTS.withdrawOwner, [keysOf(tenantId).owner], [owner]);
    },

    async leave(tenantId, request) {
      const { requests } = keysOf(tenantId);
      await connection.transaction((commands) =>
        commands.rpush(requests, JSON.stringify(request)).pexpire(requests, LIST_KEPT_MS),
      );
    },
    async cancel(tenantId, request) {
      const { requests } = keysOf(tenantId);
      await connection.run((client) => client.lrem(requests, 0, JSON.stringify(request)));
    },
    async take(tenantId, owner) {
      const { requests } = keysOf(tenantId);
      const text = await connection.run((client) => client.lpop(requests));
      const request = text === null ? null : parsed(OWNER_REQUEST, text);
      if (request !== null) await answer(tenantId, request.id, { state: 'taken', owner, progress: null });
      return request;
    },
    async answerTo(tenantId, requestId) {
      const key = keysOf(tenantId).answer(requestId);
      const text = await connection.run((client) => client.get(key));
      return text === null ? null : parsed(REQUEST_ANSWER, text);
    },
  };
}

/** Returns null for text that cannot be read: it comes from another version, or not from Rollcall. */
function parsed<T>(schema: z.ZodType<T>, text: string): T | null {
  return schema.safeParse(jsonOrNull(text)).data ?? null;
}
