import { z } from 'zod';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { Tenant } from '../table/tenant.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-result.ts';
import type { InTurn } from '../timetable/in-order.ts';

/** Longest reason that is kept, in characters. */
export const LONGEST_REASON = 500;

/** Who gives a command that `deletes history` shows (`Person` in model/progress.ts). */
export const person = z.strictObject({
  by: z.string(),
  from: z.string(),
  reason: z.string().max(LONGEST_REASON).nullable(),
});

/** The facts about a mirrored collection that requests use. */
export interface OwnedCollection extends InTurn {
  readonly isNotOffered: boolean;
}

/** What a request works with: a tenant that this process owns. */
export interface OwnerWork {
  readonly tenant: Tenant;
  readonly runners: ReadonlyMap<CollectionName, OwnedCollection>;
  readonly writers: ReadonlyMap<CollectionName, CollectionWriter>;
  /** Runs a sync as soon as possible. Rejects with the error of the sync, or of the session. */
  readonly sync: (collection: CollectionName, mode: SyncMode, options?: SyncOptions) => Promise<SyncResult>;
  /** Reports progress to the command; `progress` must survive JSON. Never rejects. */
  readonly report: (progress: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * A kind of request that the owner of a tenant carries out for a command, or the command itself when there is no owner.
 * Parameters and results survive JSON. The request is repeated from the beginning when log or index fail.
 */
export interface OwnerRequestKind<P, R> {
  readonly kind: string;
  readonly handle: (parameters: P, work: OwnerWork) => Promise<R>;
  /**
   * Handles parameters from a command. Throws `USAGE_INVALID` if they do not fit, because the command has another
   * version.
   */
  readonly handleGiven: (given: unknown, work: OwnerWork) => Promise<R>;
}

export function ownerRequest<P, R>(
  request: Omit<OwnerRequestKind<P, R>, 'handleGiven'> & { readonly parameters: z.ZodType<P> },
): OwnerRequestKind<P, R> {
  return {
    ...request,
    async handleGiven(given, work) {
      const read = request.parameters.safeParse(given);
      if (read.success) return request.handle(read.data, work);
      throw otherVersion('The running process does not know the parameters of the command');
    },
  };
}

export function otherVersion(message: string): RollcallError {
  return new RollcallError('USAGE_INVALID', message, {
    remedy: 'Use the same version of Rollcall for the command and the running process.',
  });
}

/** Looks a collection up among those of a tenant. Throws `USAGE_INVALID` if the tenant does not mirror it. */
export function mirrored<T>(all: ReadonlyMap<CollectionName, T>, name: CollectionName, tenantId: string): T {
  const found = all.get(name);
  if (found === undefined) throw notMirrored(name, tenantId);
  return found;
}

export function notMirrored(collection: string, tenantId: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `${collection} is not mirrored for ${tenantId}`, {
    remedy: 'Enable it under tenants.collections, or name another collection.',
  });
}
