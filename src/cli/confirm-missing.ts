import { setTimeout as delay } from 'node:timers/promises';
import { countOf, formatDuration } from '../core/words.ts';
import type { Assembly } from '../session/assemble.ts';
import { PULL, type PullOutcome } from '../owner/pull.ts';
import { asOwner } from './as-owner.ts';
import type { ProgressLine } from './progress-line.ts';

/** Where the confirming sync is put off further, a command does not wait for it. */
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * Waits for the confirming syncs that are owed, has the owner run them, and returns the outcomes of both syncs together. Where
 * they are due too late for a command it only says how many rows wait.
 */
export async function confirmMissing(
  assembly: Assembly,
  options: {
    readonly tenantId: string;
    readonly outcomes: readonly PullOutcome[];
    readonly progress: ProgressLine;
    readonly signal: AbortSignal;
  },
): Promise<readonly PullOutcome[]> {
  const { tenantId, outcomes, progress, signal } = options;
  const owed = outcomes.filter(({ confirmAtMs }) => confirmAtMs !== null);
  if (owed.length === 0) return outcomes;
  const rows = owed.reduce((sum, { missing }) => sum + missing, 0);
  const names = owed.map(({ collection }) => collection);
  const waitMs = Math.max(0, ...owed.map(({ confirmAtMs }) => (confirmAtMs ?? 0) - Date.now()));
  const found = rows > 0 ? `${countOf(rows, 'row')} of ${names.join(', ')} missing for the first time` : null;
  const what = `${tenantId}: ${found ?? `fewer rows of ${names.join(', ')} came than the hub counts`}`;
  if (waitMs > LONGEST_WAIT_MS) {
    progress.print(`${what}; a full sync in ${formatDuration(waitMs)} confirms it`);
    return outcomes;
  }
  progress.print(`${what}; waiting ${formatDuration(waitMs)} for the full sync that confirms it`);
  await delay(waitMs, undefined, { signal });
  const confirmed = await asOwner(assembly, {
    tenantId,
    request: PULL,
    parameters: { collections: names, full: true, acceptNew: false, confirm: true },
    progress,
    signal,
  });
  const byName = new Map(confirmed.map((each) => [each.collection, each]));
  return outcomes.map((each) => withConfirmed(each, byName.get(each.collection)));
}

function withConfirmed(first: PullOutcome, confirmed: PullOutcome | undefined): PullOutcome {
  if (confirmed === undefined) return first;
  const { mode, seen, rejected, rejectReasons } = first;
  return {
    ...confirmed,
    mode,
    seen,
    rejected,
    rejectReasons,
    created: first.created + confirmed.created,
    updated: first.updated + confirmed.updated,
    removed: first.removed + confirmed.removed,
  };
}
