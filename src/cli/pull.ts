import { PULL, type PullOutcome, type PullParameters } from '../owner/pull.ts';
import { Command } from 'commander';
import { sourceOf } from '../model/collections.ts';
import { asOwner, personHere } from './as-owner.ts';
import { choose, type Scope } from './choose.ts';
import type { Output } from './output.ts';
import { exitCodeFor, noteOutcomes, showOutcomes, showSyncs } from './outcomes.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { countOf, formatDuration } from '../core/words.ts';
import { sleep } from '../runtime.ts';
import { assemble, type Assembly } from '../session/assemble.ts';

interface PullFlags extends Scope {
  readonly full?: boolean | undefined;
  readonly acceptNew?: boolean | undefined;
  readonly reason?: string | undefined;
}

/** `rollcall pull`: one sync now. */
export function command(): Command {
  return new Command('pull')
    .description('Runs one sync of each collection: reads the hub and publishes the changes.')
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--full', 'run a full sync; if rows are missing, wait for the sync that confirms this')
    .option(
      '--accept-new',
      'with --full: publish rows even if almost all are new; use this only after a person has checked them',
    )
    .option('--reason <text>', 'with --accept-new: the reason, for "deletes history"')
    .addHelpText(
      'after',
      `
Exit codes: 0 done; 1 a collection failed or its list was inconclusive; 3 something needs a decision.

Examples:
  rollcall pull --full
  rollcall pull --tenant north --collection users enrollments`,
    )
    .action(verbAction(pull));
}

async function pull({ output, signal, loadConfig, flags }: Verb<PullFlags>): Promise<number> {
  const config = loadConfig();
  const chosen = choose(config, flags);
  const parameters: PullParameters = {
    collections: [...new Set(chosen.collections.map(sourceOf))],
    full: flags.full ?? false,
    acceptNew: flags.acceptNew ?? false,
    person: flags.acceptNew === true ? personHere(flags.reason) : undefined,
    confirm: false,
  };
  await using assembly = assemble(config, (_tenant, event) => showSyncs(output, event));
  const tenants: { tenant: string; collections: readonly PullOutcome[] }[] = [];
  for (const { id } of chosen.tenants) {
    const options = { tenantId: id, output, signal };
    const first = await asOwner(assembly, { ...options, request: PULL, parameters });
    const collections = parameters.full ? await confirmMissing(assembly, first, options) : first;
    tenants.push({ tenant: id, collections });
  }
  for (const each of tenants) show(output, each);
  output.data({ tenants });
  return exitCodeFor(tenants.flatMap(({ collections }) => collections));
}

function show(
  output: Output,
  { tenant, collections: outcomes }: { tenant: string; collections: readonly PullOutcome[] },
): void {
  output.line(output.colors.bold(tenant));
  showOutcomes(output, outcomes);
  const rowsOnHold = outcomes.reduce((sum, each) => sum + each.rowsOnHold, 0);
  if (rowsOnHold > 0)
    output.note(
      `! ${countOf(rowsOnHold, 'row')} on hold: a person must decide\n→ rollcall deletes list --tenant ${tenant}`,
    );
  noteOutcomes(output, outcomes);
}

/** If the confirming sync is due later than this, a command does not wait for it. */
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * Waits for the confirming syncs that are needed, has the owner run them, and returns the outcomes of both syncs
 * together. If they are due too late for a command to wait, it only says how many rows are missing.
 */
async function confirmMissing(
  assembly: Assembly,
  outcomes: readonly PullOutcome[],
  options: { readonly tenantId: string; readonly output: Output; readonly signal: AbortSignal },
): Promise<readonly PullOutcome[]> {
  const { tenantId, output, signal } = options;
  const toConfirm = outcomes.filter(({ confirmAtMs }) => confirmAtMs !== null);
  if (toConfirm.length === 0) return outcomes;
  const rows = toConfirm.reduce((sum, { missing }) => sum + missing, 0);
  const names = toConfirm.map(({ collection }) => collection);
  // The confirming syncs may end the hold that puts off the removals of other collections.
  const some = outcomes.filter(
    (each) => toConfirm.includes(each) || (each.outcome === 'complete' && each.rowsOnHold > 0),
  );
  const waitMs = Math.max(0, ...toConfirm.map(({ confirmAtMs }) => (confirmAtMs ?? 0) - Date.now()));
  const found =
    rows > 0
      ? `${countOf(rows, 'row')} of ${names.join(', ')} missing for the first time`
      : `not all rows of ${names.join(', ')} were returned`;
  const waits = waitMs <= LONGEST_WAIT_MS;
  const how = waits ? 'waiting for the full sync that looks again' : 'a later full sync looks again';
  output.note(`${tenantId}: ${found}; ${how} (in ${formatDuration(waitMs)})`);
  if (!waits) return outcomes;
  await sleep(waitMs, signal);
  const collections = some.map(({ collection }) => collection);
  const parameters = { collections, full: true, acceptNew: false, confirm: true };
  const confirmed = await asOwner(assembly, { ...options, request: PULL, parameters });
  return outcomes.map((first) => {
    const last = confirmed.find(({ collection }) => collection === first.collection);
    return last === undefined ? first : withConfirming(first, last);
  });
}

/** The outcome of a full sync and of the one that confirmed it. */
export function withConfirming(first: PullOutcome, last: PullOutcome): PullOutcome {
  const [created, updated] = [first.created + last.created, first.updated + last.updated];
  const { mode, seen, rejected, nameless } = first;
  const sums = { created, updated, removed: first.removed + last.removed };
  const derived = {
    absences: first.derived.absences + last.derived.absences,
    changes: first.derived.changes + last.derived.changes,
  };
  const both = { ...last, mode, seen, rejected, nameless, derived, ...sums };
  // A confirming sync of some scopes says nothing about those that were in doubt.
  const isInDoubt = first.outcome !== 'complete' && last.mode !== 'FULL';
  const { outcome, why, remedy } = first;
  return isInDoubt ? { ...both, outcome, why, remedy } : both;
}
