import { removalsWait } from '../core/deletions/evidence.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { formatCount } from '../core/words.ts';
import type { PullOutcome } from '../owner/pull.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';

const COUNTED = ['seen', 'created', 'updated', 'removed', 'rejected', 'missing'] as const;
const DERIVED = ['absences', 'absence-changes'] as const;

/** A table of what syncs saw and published. */
export function showOutcomes(output: Output, outcomes: readonly PullOutcome[]): void {
  output.table(
    ['collection', 'outcome', ...COUNTED, ...DERIVED, 'on hold'],
    outcomes.map((each) => [
      each.collection,
      each.outcome === 'complete' ? `${each.mode?.toLowerCase()} ${each.outcome}` : each.outcome,
      ...COUNTED.map((name) => formatCount(each[name])),
      ...[each.derived.absences, each.derived.changes, each.rowsOnHold].map(formatCount),
    ]),
    DERIVED,
  );
}

type Failure = Pick<PullOutcome, 'collection' | 'why' | 'remedy'> & { readonly outcome: string };

/** Names the rows that cannot be read, why removals wait, and what failed. */
export function noteOutcomes(
  output: Output,
  outcomes: readonly (Failure &
    Pick<PullOutcome, 'rejected' | 'nameless'> &
    Partial<Pick<PullOutcome, 'short'>>)[],
): void {
  for (const { collection, rejected } of outcomes)
    if (rejected > 0)
      output.note(`! ${collection}: some rows cannot be read; new in rejects: ${formatCount(rejected)}`);
  for (const { collection, nameless, short = null, outcome } of outcomes) {
    const wait = outcome === 'complete' ? removalsWait(nameless, short) : null;
    if (wait !== null) output.note(`! ${collection}: ${wait.why}\n→ ${wait.remedy}`);
  }
  noteFailures(output, outOfOrder(outcomes));
}

/** A collection that the hub does not offer is no fault, unless the hub offers none of the collections: then the address is wrong. */
function outOfOrder<T extends { readonly outcome: string }>(outcomes: readonly T[]): T[] {
  const isOffered = outcomes.some(({ outcome }) => outcome !== 'not-offered');
  return outcomes.filter(
    ({ outcome }) => outcome !== 'complete' && !(isOffered && outcome === 'not-offered'),
  );
}

/** Names each failure once, with its collections: one cause often stops all of them. What is only `unproven` is marked with `!`. */
export function noteFailures(output: Output, outcomes: readonly Failure[]): void {
  const failed = outcomes.filter(({ why, remedy }) => why !== null || remedy !== null);
  const byTrouble = Map.groupBy(
    failed,
    ({ outcome, why, remedy }) => (why ?? outcome) + (remedy === null ? '' : `\n→ ${remedy}`),
  );
  for (const [trouble, some] of byTrouble) {
    const mark = some.every(({ outcome }) => outcome === 'unproven') ? '!' : '✗';
    output.note(`${mark} ${some.map(({ collection }) => collection).join(', ')}: ${trouble}`);
  }
}

export function exitCodeFor(outcomes: readonly Pick<PullOutcome, 'outcome' | 'rowsOnHold'>[]): number {
  return exitCode({
    hasFailed: outOfOrder(outcomes).some(({ outcome }) => outcome !== 'stopped'),
    needsPerson: outcomes.some(({ outcome, rowsOnHold }) => outcome === 'stopped' || rowsOnHold > 0),
  });
}

/** Shows how far a sync is. */
export function showSyncs(output: Output, event: PipelineEvent): void {
  if (event.type !== 'sync-page') return;
  const { rowsSeen, mode, totalAtStart } = event.stats;
  const of = mode === 'FULL' && totalAtStart !== null ? ` of ${formatCount(totalAtStart)}` : '';
  output.progress(`${event.collection}: ${formatCount(rowsSeen)}${of} rows`);
}
