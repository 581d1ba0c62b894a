import { isoOrNull } from '../words.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantStatus } from './tenant-status.ts';

/** A tenant's health as `status --json` and `/status.json` give it; times are ISO 8601. */
export function statusAsJson(status: TenantStatus): Record<string, unknown> {
  const { owner, collections, reasons, hubSkewMs, ...same } = status;
  return {
    ...same,
    ready: reasons.length === 0,
    reasons: reasons.map(({ part, why, remedy }) => ({ part, why, remedy })),
    hubClockAheadMs: Math.round(hubSkewMs),
    owner: owner === null ? null : { owner: owner.owner, since: isoOrNull(owner.ownedSinceMs) },
    collections: collections.map(collectionAsJson),
  };
}

function collectionAsJson(status: CollectionStatus): Record<string, unknown> {
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
