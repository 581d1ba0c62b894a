import { z } from 'zod';
import type { OwnerHeartbeat, ReadHeartbeats } from '../core/health/tenant-facts.ts';

/*
 * Owner      the only process that writes for a tenant.
 * Heartbeat  an entry that the owner renews while it runs; it expires when the owner stops.
 * Request    work that another process (a command) asks the owner to do.
 * Answer     the progress or the outcome of a request.
 *
 * Kafka decides who owns a tenant (invariant 7), not this code. Losing all of this loses no data.
 */

/** `id` is random. `parameters` come from another process, so the owner must check them. */
export const OWNER_REQUEST = z.object({
  id: z.string(),
  kind: z.string(),
  parameters: z.record(z.string(), z.unknown()),
});

export type OwnerRequest = z.infer<typeof OWNER_REQUEST>;

/** How a request ended. Failures are data, because the asker may run a different version from that of the owner. */
const OUTCOMES = [
  z.object({ state: z.literal('done'), result: z.unknown() }),
  z.object({ state: z.literal('failed'), code: z.string(), message: z.string(), remedy: z.string() }),
] as const;

export type RequestOutcome = z.infer<(typeof OUTCOMES)[number]>;

/** `progress` is null until the owner reports some. It must survive JSON. */
export const REQUEST_ANSWER = z.intersection(
  z.object({ owner: z.string() }),
  z.discriminatedUnion('state', [
    z.object({ state: z.literal('taken'), progress: z.unknown() }),
    ...OUTCOMES,
  ]),
);

export type RequestAnswer = z.infer<typeof REQUEST_ANSWER>;

/**
 * How the processes of a tenant find each other and exchange requests. Methods throw `INDEX_UNREACHABLE` or
 * `INDEX_REFUSED`.
 */
export interface Coordination {
  /**
   * Writes or renews the owner's heartbeat for `ttlMs`. Returns false and changes nothing if there is a heartbeat of
   * another owner that, by the owners' wall clocks, took over later.
   */
  announce(tenantId: string, heartbeat: OwnerHeartbeat, ttlMs: number): Promise<boolean>;
  readonly livingOwners: ReadHeartbeats;
  /** Removes the heartbeat, if it is this owner's. */
  withdraw(tenantId: string, owner: string): Promise<void>;

  /** Queues a request. */
  leave(tenantId: string, request: OwnerRequest): Promise<void>;
  /** Withdraws a request that nobody has taken; one that an owner has taken continues. */
  cancel(tenantId: string, request: OwnerRequest): Promise<void>;
  /** Takes the oldest request; each is taken once. Null when there is none. */
  take(tenantId: string, owner: string): Promise<OwnerRequest | null>;
  /** Stores an answer for a day. */
  answer(tenantId: string, requestId: string, answer: RequestAnswer): Promise<void>;
  /** Returns null until an owner has taken the request, and after the answer has expired. */
  answerTo(tenantId: string, requestId: string): Promise<RequestAnswer | null>;
}
