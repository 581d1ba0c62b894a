import { collectionNamed } from '../../model/collections.ts';
import type { Difference } from './difference.ts';

/**
 * Which sync removes a pending difference: an incremental one brings rows that changed, only a full one finds that a row
 * is gone, or reads a collection that the hub does not filter. Null for a difference that no sync removes by itself.
 */
export function bringingSync({ collection, kind, state }: Difference): 'incremental' | 'full' | null {
  if (state !== 'pending') return null;
  // Rollcall asks for each student again and again, all day.
  if (collection === 'schedules') return 'incremental';
  const isGone = kind === 'left-over' || kind === 'reject-left-over';
  return isGone || !collectionNamed(collection).keyset ? 'full' : 'incremental';
}
