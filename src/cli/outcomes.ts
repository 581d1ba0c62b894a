import type { PipelineEvent } from '../core/pipeline-events.ts';
import { countOf, formatCount, printable } from '../core/words.ts';
import type { PullOutcome } from '../owner/pull.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';

type Failure = Pick<PullOutcome, 'collection' | 'why' | 'remedy'> & { readonly outcome: string };

/**
 * Names the rows that cannot be read, the collections that the hub does not offer while it offers others, and what failed.
 * `isNamed`: the collections were asked for by name.
 */
export function noteOutcomes(
  output: Output,
  outcomes: readonly (Failure & Pick<PullOutcome, 'rejected' | 'rejectReasons'>)[],
  isNamed: boolean,
): void {
  for (const { collection, rejected, rejectReasons } of outcomes) {
    if (rejectReasons.length === 0) continue;
    const reasons = rejectReasons.map(({ reason, rows }) => `${formatCount(rows)}: ${printable(reason)}`);
    const what = `${countOf(rejected, 'row')} cannot be read and went to rejects`;
    output.note(`! ${collection}: ${what} (${reasons.join('; ')})`);
  }
  const notOffered = isNamed ? [] : outcomes.filter(({ outcome }) => outcome === 'not-offered');
  // If it offers none, the address is wrong.
  const lacking = notOffered.length < outcomes.length ? notOffered : [];
  if (lacking.length > 0) {
    const names = lacking.map(({ collection }) => collection).join(', ');
    output.note(`! the hub does not offer ${names}; only the others are read`);
  }
  noteFailures(
    output,
    outcomes.filter((each) => !lacking.includes(each)),
  );
}

/** Names each failure once, with its collections: one cause often stops all of them. */
export function noteFailures(output: Output, outcomes: readonly Failure[]): void {
  const failed = outcomes.filter(({ why, remedy }) => why !== null || remedy !== null);
  const byTrouble = Map.groupBy(
    failed,
    ({ outcome, why, remedy }) => (why ?? outcome) + (remedy === null ? '' : `\n→ ${remedy}`),
  );
  for (const [trouble, some] of byTrouble)
    output.note(`✗ ${some.map(({ collection }) => collection).join(', ')}: ${trouble}`);
}

/** `isNamed`: the collections were asked for by name. */
export function exitCodeFor(
  outcomes: readonly Pick<PullOutcome, 'outcome' | 'withheld'>[],
  isNamed: boolean,
): number {
  // That a hub does not offer some collection is no failure, unless it was asked for; all of them are a wrong address.
  const notOffered = outcomes.filter(({ outcome }) => outcome === 'not-offered');
  const lacksWanted = notOffered.length === outcomes.length || (isNamed && notOffered.length > 0);
  return exitCode({
    hasFailed:
      lacksWanted || outcomes.some(({ outcome }) => outcome === 'failed' || outcome === 'inconclusive'),
    needsPerson: outcomes.some(({ outcome, withheld }) => outcome === 'stopped' || withheld > 0),
  });
}

/** Shows how far a sync is. */
export function showSyncs(output: Output, event: PipelineEvent): void {
  if (event.type !== 'sync-page') return;
  const { rowsSeen, mode, totalAtStart } = event.stats;
  const of = mode === 'FULL' && totalAtStart !== null ? ` of ${formatCount(totalAtStart)}` : '';
  output.progress(`${event.collection}: ${formatCount(rowsSeen)}${of} rows`);
}
