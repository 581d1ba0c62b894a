import type { CollectionName } from '../../../src/model/collections.ts';
import type { SyncMode } from '../../../src/model/progress.ts';
import type { SyncResult } from '../../../src/sync/sync-result.ts';
import { inOrder } from '../../../src/timetable/in-order.ts';
import type { TenantSession } from '../../../src/session/open-session.ts';

/**
 * Runs one sync of each collection, and the one that confirms what it missed, without waiting for its time, in the order of a pull.
 * Returns the results in the order of the collections; a failed one has its error.
 */
export function syncOnce(
  session: TenantSession,
  options: {
    collections: readonly CollectionName[];
    mode: SyncMode;
    acceptNew?: boolean | undefined;
    /** Whether the confirming sync follows at once; if left out, it does. */
    confirms?: boolean | undefined;
    signal: AbortSignal;
  },
): Promise<readonly SyncOutcome[]> {
  return inOrder(session.runners, options.collections, async (collection) => {
    try {
      const runner = session.runners.get(collection);
      if (runner === undefined) throw new Error(`${collection} is not mirrored`);
      const first = await runner.once(options.mode, options);
      if (options.confirms === false || first.confirmAtMs === null)
        return { collection, result: first, error: null };
      const confirmed = await runner.once('FULL', { confirming: true, signal: options.signal });
      return { collection, result: together(first, confirmed), error: null };
    } catch (error) {
      return { collection, result: null, error };
    }
  });
}

/** The result of the confirming sync, with the numbers of both. */
function together(first: SyncResult, confirmed: SyncResult): SyncResult {
  const { stats } = first;
  const rowsRemoved = stats.rowsRemoved + confirmed.stats.rowsRemoved;
  return { ...confirmed, stats: { ...stats, rowsRemoved } };
}

export interface SyncOutcome {
  readonly collection: CollectionName;
  readonly result: SyncResult | null;
  readonly error: unknown;
}
