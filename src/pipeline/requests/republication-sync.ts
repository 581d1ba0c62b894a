import type { ActiveSync } from '../active-sync.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { newSyncStats } from '../sync-stats.ts';
import type { Republication } from '../republication.ts';
import type { OwnerWork } from './owner-request.ts';

/** A sync without a scan, for rows that are requested by id. */
export function syncOf(
  { parts }: OwnerWork,
  writer: CollectionWriter,
  republication: Republication,
): ActiveSync {
  const startedAtMs = writer.progress?.startedAtMs ?? parts.now();
  return {
    stats: newSyncStats({ passId: parts.randomId(), mode: 'DELTA', startedAtMs }),
    seen: null,
    seenByOthers: null,
    seenRejects: null,
    readVersion: writer.readVersion(),
    republication,
  };
}
