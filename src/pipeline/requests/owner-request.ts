import type { z } from 'zod';
import { RollcallError } from '../../errors.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { SyncMode } from '../../model/progress.ts';
import type { SyncResult } from '../sync-result.ts';
import type { TenantParts } from '../tenant-parts.ts';
import type { SyncOptions } from '../sync-runner.ts';
import type { TenantSession } from '../tenant.ts';

/** What a request of a command has to work with: a tenant that this process owns. */
export interface OwnerWork {
  readonly parts: TenantParts;
  readonly session: TenantSession;
  /** A pass as soon as may be. Rejects with what the pass, or the whole session, fails with. */
  readonly sync: (collection: CollectionName, mode: SyncMode, options?: SyncOptions) => Promise<SyncResult>;
  /** Tells the asker how far it is; must survive JSON. Never rejects. */
  readonly report: (progress: unknown) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * A kind of work that a command has the owner of a tenant do, or does itself where nobody owns it.
 * Parameters and results survive JSON. It may be repeated, whole, when log or index fail meanwhile.
 */
export interface OwnerRequestKind<P extends Readonly<Record<string, unknown>>, R> {
  readonly kind: string;
  /** Throws `USAGE_INVALID`: the asker may be of another version. */
  readonly read: (given: unknown) => P;
  readonly meet: (parameters: P, work: OwnerWork) => Promise<R>;
}

/** Throws `USAGE_INVALID`. */
export function readParameters<T>(schema: z.ZodType<T>, given: unknown): T {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw otherVersion('the command asked for something that the process which runs does not know');
}

export function otherVersion(message: string): RollcallError {
  return new RollcallError('USAGE_INVALID', message, {
    remedy: 'Use the same version of Rollcall for the command as for the process that runs.',
  });
}

export function notMirrored(collection: string): RollcallError {
  return new RollcallError('USAGE_INVALID', `${collection} is not mirrored for this tenant`, {
    remedy: 'Enable it under "collections" in the configuration.',
  });
}
