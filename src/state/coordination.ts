/*
 * Owner      the process that holds a tenant: it alone writes for it.
 * Sign       what the owner leaves while it lives; it lapses when the owner falls silent.
 * Request    work that another process (a command) asks the owner to do.
 * Answer     how far the owner is with a request; the last one tells how it ended.
 *
 * Nothing here decides who owns a tenant: Kafka does (invariant 7). Losing all of it loses no data.
 */

/** A process that owns a tenant and lives. */
export interface OwnerHeartbeat {
  readonly owner: string;
  /** Its own wall clock when it took the tenant over, ms since the epoch. */
  readonly ownedSinceMs: number;
  /** What it tells of itself, such as host and process id. */
  readonly info: Readonly<Record<string, string>>;
}

/** `parameters` come from another process: whoever takes the request checks them. */
export interface OwnerRequest {
  /** Random. */
  readonly id: string;
  readonly kind: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** How a request ended. Failures are data: the asker may run another version than the owner. */
export type RequestOutcome =
  | { readonly state: 'done'; readonly result: unknown }
  | { readonly state: 'failed'; readonly code: string; readonly message: string; readonly remedy: string };

/** `progress` is null until the owner has something to tell. Everything in it must survive JSON. */
export type RequestAnswer =
  | { readonly state: 'taken'; readonly owner: string; readonly progress: unknown }
  | ({ readonly owner: string } & RequestOutcome);

/** How processes on the same tenant find and ask each other. Throws `INDEX_UNREACHABLE` or `INDEX_REFUSED`. */
export interface Coordination {
  /**
   * Leaves or renews the owner's sign for `ttlMs`. False, and nothing changed, when another owner stands there that
   * took over later, by the owners' wall clocks.
   */
  announce(tenantId: string, sign: OwnerHeartbeat, ttlMs: number): Promise<boolean>;
  livingOwner(tenantId: string): Promise<OwnerHeartbeat | null>;
  /** Takes the sign away, if it is this owner's. */
  withdraw(tenantId: string, owner: string): Promise<void>;

  /** Leaves a request; it counts only while its asker is alive. Throws `INDEX_REFUSED` when 100 are waiting. */
  leave(tenantId: string, request: OwnerRequest, aliveMs: number): Promise<void>;
  /** The asker still waits, for another `aliveMs`. */
  keepAlive(tenantId: string, requestId: string, aliveMs: number): Promise<void>;
  /** The asker waits no longer. A request already taken goes on. */
  cancel(tenantId: string, requestId: string): Promise<void>;
  /** The oldest request whose asker is alive, now taken by `owner`; each is taken once. Null when there is none. */
  take(tenantId: string, owner: string): Promise<OwnerRequest | null>;
  /** Kept for an hour. */
  answer(tenantId: string, requestId: string, answer: RequestAnswer): Promise<void>;
  /** Null until it is taken, and when it was forgotten. */
  answerTo(tenantId: string, requestId: string): Promise<RequestAnswer | null>;
}

export const MOST_REQUESTS_WAITING = 100;
export const ANSWER_KEPT_MS = 60 * 60 * 1000;
