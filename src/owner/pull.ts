import { z } from 'zod';
import { SHORT_REMEDY, type Shortfall } from '../core/deletions/evidence.ts';
import { hasCode, RollcallError } from '../errors.ts';
import { COLLECTIONS, type CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { SyncOptions, SyncResult } from '../sync/sync-result.ts';
import { noTally, type DerivedTally } from '../core/sync-stats.ts';
import { inOrder } from '../timetable/in-order.ts';
import { mirrored, ownerRequest, person, type OwnedCollection, type OwnerWork } from './owner-request.ts';

const parameters = z.strictObject({
  /** Empty: all mirrored collections. */
  collections: z.array(z.enum(COLLECTIONS)),
  full: z.boolean(),
  /** A person confirms that the hub's rows were replaced on purpose. */
  acceptNew: z.boolean().default(false),
  person: person.optional(),
  /** Runs the confirming syncs that missing rows still wait for. */
  confirm: z.boolean().default(false),
});

export type PullParameters = z.output<typeof parameters>;

/** The result of a pull for one collection; survives JSON. */
export interface PullOutcome {
  readonly collection: CollectionName;
  /** `inconclusive`: the hub's answers were inconclusive. `stopped`: the rows may be another tenant's, or absences are lost. */
  readonly outcome: 'complete' | 'inconclusive' | 'failed' | 'stopped' | 'not-offered';
  readonly mode: SyncMode | null;
  readonly seen: number;
  readonly created: number;
  readonly updated: number;
  readonly removed: number;
  readonly rejected: number;
  /** Records in the topics of absences that follow from these rows. */
  readonly derived: { readonly absences: number; readonly changes: number };
  readonly rowsOnHold: number;
  /** Rows that another full sync must miss too before they are removed. */
  readonly missing: number;
  /** Number of rows without a readable id, if they are why a complete full sync removes none of the rows that it did not find. */
  readonly nameless: number;
  /** When the confirming sync is due, ms since the epoch; null: none is needed. */
  readonly confirmAtMs: number | null;
  /** The hub counts more rows than it returned. */
  readonly short: Shortfall | null;
  /** Why the outcome is not `complete`. */
  readonly why: string | null;
  readonly remedy: string | null;
}

/** `rollcall pull`: a sync of each collection. */
export const PULL = ownerRequest({
  kind: 'pull',
  parameters,
  async handle({ collections, full, confirm: confirming, ...accepting }, work) {
    const { runners } = work;
    const wanted = collections.length > 0 ? collections : [...runners.keys()];
    let done = 0;
    return inOrder(runners, wanted, async (collection) => {
      const mode = full ? 'FULL' : 'INCREMENTAL';
      const outcome = await pullOne(work, collection, { mode, confirming, ...accepting });
      done += 1;
      await work.report(`${done} of ${wanted.length} collections`);
      return outcome;
    });
  },
});

/** Throws the errors of log and index: the request is then repeated in a new session. */
async function pullOne(
  work: OwnerWork,
  collection: CollectionName,
  { mode, ...options }: { readonly mode: SyncMode } & SyncOptions,
): Promise<PullOutcome> {
  const runner = mirrored(work.runners, collection, work.tenant.tenantId);
  try {
    const result = await work.sync(collection, mode, options);
    return pullOutcome(collection, runner, { result, error: null });
  } catch (error) {
    if (error instanceof RollcallError && error.reaction === 'restart') throw error;
    return pullOutcome(collection, runner, { result: null, error });
  }
}

export function pullOutcome(
  collection: CollectionName,
  { isNotOffered }: Pick<OwnedCollection, 'isNotOffered'>,
  { result, error }: { result: SyncResult | null; error: unknown },
): PullOutcome {
  const stats = result?.stats;
  const failure = failureOf(error, isNotOffered);
  const isWhole = result?.kind === 'complete' && result.stats.mode === 'FULL';
  return {
    collection,
    outcome: result === null ? failure : result.kind === 'complete' ? 'complete' : 'inconclusive',
    mode: stats?.mode ?? null,
    seen: stats?.rowsSeen ?? 0,
    created: stats?.rowsCreated ?? 0,
    updated: stats?.rowsUpdated ?? 0,
    removed: stats?.rowsRemoved ?? 0,
    rejected: stats?.rowsRejected ?? 0,
    derived: derivedRecords(stats?.absences ?? noTally()),
    rowsOnHold: result?.rowsOnHold ?? 0,
    missing: result?.kind === 'complete' ? result.unconfirmed : 0,
    nameless: isWhole && result.stats.rowsNotFound > 0 ? result.stats.rowsWithoutId : 0,
    confirmAtMs: result?.confirmAtMs ?? null,
    short: result?.short ?? null,
    why: result?.kind === 'inconclusive' ? result.why : result === null ? messageOf(error) : null,
    remedy:
      result?.kind === 'inconclusive'
        ? inconclusiveRemedy(result.short !== null)
        : error instanceof RollcallError
          ? error.remedy
          : null,
  };
}

function derivedRecords({ shown, hidden, created, replaced, deleted, restored, forgotten }: DerivedTally) {
  return { absences: shown + hidden, changes: created + replaced + deleted + restored + forgotten };
}

/** The outcome of a sync that failed. A 404 for a collection that was loaded before is a failure. */
function failureOf(error: unknown, isNotOffered: boolean): 'failed' | 'stopped' | 'not-offered' {
  if (hasCode(error, 'HUB_NOT_OFFERED') && isNotOffered) return 'not-offered';
  return hasCode(error, 'HUB_FOREIGN_DATA', 'ABSENCES_LOST') ? 'stopped' : 'failed';
}

function inconclusiveRemedy(isShort: boolean): string {
  const advice = 'Nothing was removed and the sync does not count as complete.';
  return isShort
    ? `${advice} ${SHORT_REMEDY}`
    : `${advice} Run "rollcall check": it says what is wrong with the answers of the hub, and what the hub refuses this client.`;
}

/** Other errors can hold content of rows. */
function messageOf(error: unknown): string {
  return error instanceof RollcallError ? error.message : 'an unexpected error occurred; see the log';
}
