import { PULL, type PullOutcome, type PullParameters } from '../owner/pull.ts';
import { Command } from 'commander';
import { syncedCollections } from '../config.ts';
import { SHORT_REMEDY } from '../core/deletions/evidence.ts';
import { exitCode } from './exit-code.ts';
import { sourceOf } from '../model/collections.ts';
import { asOwner } from './as-owner.ts';
import { choose } from './choose.ts';
import type { Output } from './output.ts';
import { WorkProgress } from './work-progress.ts';
import { verbAction, type VerbContext } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';
import { countOf, formatCount, printable, formatDuration } from '../core/words.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Assembly } from '../session/assemble.ts';
import type { ProgressLine } from './progress-line.ts';

interface PullFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly full?: boolean | undefined;
  readonly acceptNew?: boolean | undefined;
}

/** `rollcall pull`: one sync now. */
export function command(): Command {
  return new Command('pull')
    .description(
      'Reads the hub once and publishes the changes. If a process runs for the tenant, that process does the work; ' +
        'otherwise this command owns the tenant meanwhile. Without redis in the configuration it cannot know of a ' +
        'process on another machine: stop that one first.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option(
      '--full',
      'read all rows, not only those changed since the last sync; only this finds removals, and it waits for the sync that confirms them',
    )
    .option('--accept-new', "with --full: almost all rows are new on purpose, and not another tenant's")
    .addHelpText(
      'after',
      `
Exit codes: 0 done; 1 a collection failed or its list was inconclusive; 3 something needs a decision.

Examples:
  rollcall pull --full
  rollcall pull --tenant north --collection users enrollments`,
    )
    .action(verbAction<PullFlags>((context, { options }) => pull(context, options)));
}

async function pull(context: VerbContext, flags: PullFlags): Promise<number> {
  const config = context.loadConfig();
  const chosen = choose(config, flags);
  const collections = [...new Set(chosen.collections.map(sourceOf))];
  const parameters: PullParameters = {
    collections,
    full: flags.full ?? false,
    acceptNew: flags.acceptNew ?? false,
    confirm: false,
  };
  const progress = context.output.progress();
  const shown = new Map(
    chosen.tenants.map((tenant) => {
      const expected = collections.length > 0 ? collections.length : syncedCollections(tenant).length;
      return [tenant.id, new WorkProgress(progress, { title: `${tenant.id}: collections`, expected })];
    }),
  );
  await using assembly = quietAssembly(config, (tenant, event) => shown.get(tenant)?.note(event));
  const results: { tenant: string; collections: readonly PullOutcome[] }[] = [];
  for (const id of shown.keys()) {
    const outcomes = await asOwner(assembly, {
      tenantId: id,
      request: PULL,
      parameters,
      progress,
      onReport: (report) => shown.get(id)?.endElsewhere((report as { done?: number }).done ?? 0),
      signal: context.signal,
    });
    const confirmed =
      flags.full === true
        ? await confirmMissing(assembly, { tenantId: id, outcomes, progress, signal: context.signal })
        : outcomes;
    results.push({ tenant: id, collections: confirmed });
  }
  progress.end();
  for (const result of results) show(context.output, result, collections.length > 0);
  context.output.data({ tenants: results });
  return exitCodeFor(
    results.flatMap(({ collections: outcomes }) => outcomes),
    collections.length > 0,
  );
}

function show(
  output: Output,
  { tenant, collections: outcomes }: { tenant: string; collections: readonly PullOutcome[] },
  isNamed: boolean,
): void {
  output.line(output.colors.bold(tenant));
  output.table(
    ['collection', 'outcome', 'seen', 'created', 'updated', 'removed', 'rejected', 'missing', 'withheld'],
    outcomes.map((each) => [
      each.collection,
      each.outcome === 'complete' ? `${each.mode?.toLowerCase()} ${each.outcome}` : each.outcome,
      ...[
        each.seen,
        each.created,
        each.updated,
        each.removed,
        each.rejected,
        each.missing,
        each.withheld,
      ].map(String),
    ]),
  );
  for (const line of rejectLines(outcomes)) output.note(line);
  const withheld = outcomes.reduce((sum, each) => sum + each.withheld, 0);
  if (withheld > 0)
    output.note(
      `! ${countOf(withheld, 'deletion')} withheld: a person must decide\n→ rollcall deletes list --tenant ${tenant}`,
    );
  for (const { collection, short, outcome } of outcomes)
    if (short !== null && outcome === 'complete')
      output.note(
        `! ${collection}: ${short.rows} of ${short.total} rows came; the others are known\n→ ${SHORT_REMEDY}`,
      );
  noteTroubles(output, outcomes, isNamed);
}

/** Names the collections that the hub does not offer, while it offers others, and what failed. */
export function noteTroubles(
  output: Output,
  outcomes: readonly Pick<PullOutcome, 'collection' | 'outcome' | 'why' | 'remedy'>[],
  isNamed: boolean,
): void {
  const notOffered = isNamed ? [] : outcomes.filter(({ outcome }) => outcome === 'not-offered');
  // If it offers none, the address is wrong.
  const lacking = notOffered.length < outcomes.length ? notOffered : [];
  if (lacking.length > 0) {
    const names = lacking.map(({ collection }) => collection).join(', ');
    output.note(`! the hub does not offer ${names}; only the others are read`);
  }
  for (const [trouble, names] of troubles(outcomes.filter((each) => !lacking.includes(each))))
    output.note(`✗ ${names.join(', ')}: ${trouble}`);
}

/** Lines with the reasons of rejects, for each collection that has any. */
export function rejectLines(
  outcomes: readonly Pick<PullOutcome, 'collection' | 'rejected' | 'rejectReasons'>[],
): string[] {
  return outcomes.flatMap(({ collection, rejected, rejectReasons }) => {
    if (rejectReasons.length === 0) return [];
    const reasons = rejectReasons.map(({ reason, rows }) => `  ${formatCount(rows)}: ${printable(reason)}`);
    const explained = rejectReasons.reduce((sum, { rows }) => sum + rows, 0);
    const others = rejected > explained ? [`  ${formatCount(rejected - explained)}: other reasons`] : [];
    return [
      `! ${collection}: ${countOf(rejected, 'row')} cannot be read and went to rejects`,
      ...reasons,
      ...others,
    ];
  });
}

/** Collections by failure and remedy: one cause often stops all of them. */
export function troubles(
  outcomes: readonly (Pick<PullOutcome, 'collection' | 'why' | 'remedy'> & { readonly outcome: string })[],
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { collection, outcome, why, remedy } of outcomes) {
    if (why === null && remedy === null) continue;
    const what = why ?? outcome;
    const trouble = remedy === null ? what : `${what}\n→ ${remedy}`;
    found.set(trouble, [...(found.get(trouble) ?? []), collection]);
  }
  return found;
}

/** `named`: the collections were asked for by name. */
export function exitCodeFor(
  outcomes: readonly Pick<PullOutcome, 'outcome' | 'withheld'>[],
  named: boolean,
): number {
  // That a hub does not offer some collection is no failure, unless it was asked for; all of them are a wrong address.
  const notOffered = outcomes.filter(({ outcome }) => outcome === 'not-offered');
  const lacksWanted = notOffered.length === outcomes.length || (named && notOffered.length > 0);
  return exitCode({
    hasFailed:
      lacksWanted || outcomes.some(({ outcome }) => outcome === 'failed' || outcome === 'inconclusive'),
    needsPerson: outcomes.some(({ outcome, withheld }) => outcome === 'stopped' || withheld > 0),
  });
}

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
