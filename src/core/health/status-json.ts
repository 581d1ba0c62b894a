import { isoOrNull } from '../words.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantStatus } from './tenant-status.ts';

export type TenantJson = ReturnType<typeof tenantAsJson>;

/**
 * A tenant's health as `/status.json`, its heartbeat and `status --json` give it; times are ISO 8601. `changes`: created,
 * updated and removed in each minute of the last hour, the oldest first.
 */
export function tenantAsJson(status: TenantStatus, changes: readonly (readonly number[])[]) {
  const { owner, collections, reasons, hubSkewMs, ...same } = status;
  return {
    ...same,
    needsPerson: status.decisions.length > 0,
    changes,
    ready: reasons.length === 0,
    reasons: reasons.map(({ part, why, remedy }) => ({ part, why, remedy })),
    hubClockAheadMs: Math.round(hubSkewMs),
    owner: owner === null ? null : { owner: owner.owner, since: isoOrNull(owner.ownedSinceMs) },
    collections: collections.map(collectionAsJson),
  };
}

function collectionAsJson(status: CollectionStatus) {
  const { lastCompleteFullMs, watermarkMs, sync, running, ...same } = status;
  return {
    ...same,
    lastCompleteFull: isoOrNull(lastCompleteFullMs),
    watermark: isoOrNull(watermarkMs),
    sync: sync === null ? null : withIsoStart(sync),
    running: running === null ? null : withIsoStart(running),
  };
}

function withIsoStart<T extends { readonly startedAtMs: number }>({ startedAtMs, ...rest }: T) {
  return { ...rest, startedAt: isoOrNull(startedAtMs) };
}
