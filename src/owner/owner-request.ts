import type { z } from 'zod';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { Tenant } from '../table/tenant.ts';
import type { CollectionRunner } from '../timetable/collection-runner.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-result.ts';

/** What a request works with: a tenant that this process owns. */
export interface OwnerWork {
  readonly tenant: Tenant;
  readonly runners: ReadonlyMap<CollectionName, CollectionRunner>;
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
export interface OwnerRequestKind<P extends Readonly<Record<string, unknown>>, R> {
  readonly kind: string;
  /** Throws `USAGE_INVALID`: the command can be of another version. */
  readonly read: (given: unknown) => P;
  readonly handle: (parameters: P, work: OwnerWork) => Promise<R>;
}

/** Throws `USAGE_INVALID`. */
export function readParameters<T>(schema: z.ZodType<T>, given: unknown): T {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw otherVersion('The running process does not know the parameters of the command');
}

export function otherVersion(message: string): RollcallError {
  return new RollcallError('USAGE_INVALID', message, {
    remedy: 'Use the same version of Rollcall for the command and the running process.',
  });
}

export function notMirrored(collection: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `${collection} is not mirrored for this tenant`, {
    remedy: 'Enable it under "collections" in the configuration.',
  });
}
