import type { CollectionName } from '../model/collections.ts';
import type { ErrorCode } from '../errors.ts';

/** How the lists of a collection are paged. */
export type PagingMode = 'keyset' | 'offset';

/** The target of a request: a collection or the token endpoint. */
export type RequestTarget = CollectionName | 'token';

/**
 * Events of the hub client, for logs and metrics. They contain names of collections, counts, codes and origins,
 * and no secret or row content (invariant 9).
 */
export type HubEvent =
  | {
      readonly type: 'request-done';
      readonly target: RequestTarget;
      readonly status: number;
      readonly durationMs: number;
      readonly bytes: number;
    }
  | {
      readonly type: 'request-failed';
      readonly target: RequestTarget;
      readonly code: ErrorCode;
      readonly status: number | null;
      readonly durationMs: number;
    }
  | {
      readonly type: 'request-retried';
      readonly target: RequestTarget;
      readonly code: ErrorCode;
      /** Counts from 1. */
      readonly retry: number;
      readonly delayMs: number;
    }
  | {
      readonly type: 'token-obtained';
      readonly reason: 'first' | 'expired' | 'refused-by-hub';
      readonly lifetimeMs: number;
    }
  /**
   * The circuit breaker has opened. Until it closes, this is sent only once. `api` is set for the Core API, which has
   * its own circuit.
   */
  | { readonly type: 'circuit-opened'; readonly retryInMs: number; readonly api?: 'core' | undefined }
  | { readonly type: 'circuit-closed'; readonly api?: 'core' | undefined }
  /** The first requests have shown how the hub pages this collection. */
  | {
      readonly type: 'paging-decided';
      readonly collection: CollectionName;
      readonly paging: PagingMode;
      /** Why not by keyset; null: keyset was not tried, or works. */
      readonly why: string | null;
    };
