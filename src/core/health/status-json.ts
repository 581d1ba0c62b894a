import { z } from 'zod';
import { isoOrNull, printable } from '../words.ts';
import type { CollectionStatus } from './collection-status.ts';
import { TENANT_PARTS, type NotReady } from './tenant-facts.ts';
import type { TenantStatus } from './tenant-status.ts';

/** A tenant's health as `status --json` and `/status.json` give it; times are ISO 8601. */
export function statusAsJson(status: TenantStatus) {
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

const MOST_REASONS = 20;
const LONGEST_TEXT = 500;

/** The reasons as one bounded text, for the heartbeat of the process that mirrors the tenant. */
export function reasonsAsText(reasons: readonly NotReady[]): string {
  return JSON.stringify(
    reasons.slice(0, MOST_REASONS).map(({ part, why, remedy }) => [part, cut(why), cut(remedy)]),
  );
}

const heartbeat = z.array(z.tuple([z.enum(TENANT_PARTS), z.string(), z.string()]));

/** Reads such a text; none where it is no such text, as another version may write. */
export function reasonsFromText(text: string, tenant: string): NotReady[] {
  try {
    return heartbeat
      .parse(JSON.parse(text))
      .slice(0, MOST_REASONS)
      .map(([part, why, remedy]) => ({
        part,
        tenant,
        why: printable(cut(why)),
        remedy: printable(cut(remedy)),
      }));
  } catch {
    return [];
  }
}

function cut(text: string): string {
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}
