import { Command } from 'commander';
import { countOf, formatCount, printable } from '../core/words.ts';
import { planTenant, type CollectionPlan } from '../plan/plan-tenant.ts';
import { PLANNED_KINDS } from '../plan/recording-log.ts';
import { assemble } from '../session/assemble.ts';
import { choose, type Scope } from './choose.ts';
import type { Output } from './output.ts';
import { exitCodeFor, noteOutcomes, showSyncs } from './outcomes.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall plan`: what a full sync would publish. */
export function command(): Command {
  return new Command('plan')
    .description(
      'Shows what "rollcall pull --full" would publish, and which deletions it would put on hold. Changes nothing.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--keys', 'print the keys, too')
    .addHelpText('after', HELP)
    .action(verbAction(plan));
}

const HELP = `
It counts records: created, updated and deleted as in the header ce_type; replaced and restored (steps of an absence);
forgotten (absences deleted long ago, whose keys are removed from absence-changes); rejected (rows that cannot be decoded);
unrejected (rows that can be decoded again). "Unchanged" counts rows of the hub. Rows that are missing for the first time are
removed when a second full sync does not find them either. A row on hold is counted only as on hold, even if it is missing for
the first time.

Exit codes: 0 no row would be put on hold; 1 a collection failed, or its list was inconclusive; 3 rows would be put
on hold, or something needs a decision.

Example:
  rollcall plan --json | jq -c '.tenants[].collections[] | {collection, created, updated, deleted, rowsOnHold}'`;

async function plan(verb: Verb<Scope & { readonly keys?: boolean }>): Promise<number> {
  const { output, signal, flags } = verb;
  const config = verb.loadConfig();
  const { tenants, collections } = choose(config, flags);
  const keepsKeys = flags.keys === true;
  await using assembly = assemble(config);
  const plans: CollectionPlan[] = [];
  const results: object[] = [];
  for (const [at, { id: tenant }] of tenants.entries()) {
    if (tenants.length > 1) output.note(`${tenant}: ${at + 1} of ${countOf(tenants.length, 'tenant')}`);
    let read = 0;
    const planned = await planTenant(assembly, {
      tenantId: tenant,
      collections,
      keepsKeys,
      emit: (event) => showSyncs(output, event),
      onRead: (records) => output.progress(`topics: ${formatCount((read += records))} records`),
      signal,
    });
    output.line(output.colors.bold(tenant));
    show(output, planned, { tenant, asked: collections });
    plans.push(...planned);
    results.push({ tenant, collections: planned.map((each) => asJson(each, keepsKeys)) });
  }
  output.data({ tenants: results });
  return exitCodeFor(plans);
}

/** The plan of a collection as `--json` prints it. */
function asJson({ counts, keys, news: _news, ...rest }: CollectionPlan, keepsKeys: boolean): object {
  const some = Object.entries(keys).filter(([, each]) => each.length > 0);
  return { ...rest, ...counts, ...(keepsKeys ? { keys: Object.fromEntries(some) } : {}) };
}

/** Prints a table, the keys if there are any, and what to do next. */
function show(
  output: Output,
  collections: readonly CollectionPlan[],
  { tenant, asked }: { readonly tenant: string; readonly asked: readonly string[] },
): void {
  const rowsOf = (count: number, { unchanged }: CollectionPlan): string =>
    unchanged === null ? '-' : formatCount(count);
  output.table(
    ['  collection', 'publishes', 'unchanged', 'missing for the first time', 'on hold', ''],
    collections.map((each) => [
      `  ${each.collection}`,
      publishes(each) || 'nothing',
      rowsOf(each.unchanged ?? 0, each),
      rowsOf(each.missing, each),
      rowsOf(each.rowsOnHold, each),
      each.outcome === 'complete' ? '' : each.outcome.replace('-', ' '),
    ]),
  );
  const keys = collections.flatMap((each) =>
    Object.entries(each.keys).flatMap(([kind, some]) =>
      some.map((key) => [`  ${each.collection}`, kind, printable(key)]),
    ),
  );
  if (keys.length > 0) output.table(['  collection', 'kind', 'key'], keys);
  for (const { collection, rowsOnHold, whyOnHold } of collections)
    if (rowsOnHold > 0)
      output.note(
        `! ${collection}: ${countOf(rowsOnHold, 'row')} would be put on hold: ${whyOnHold ?? 'too many'}`,
      );
  const outcomes = collections.map((each) => Object.assign({ rejected: each.counts.rejected }, each));
  noteOutcomes(output, outcomes);
  const named = asked.length === 0 ? '' : ` --collection ${asked.join(' ')}`;
  const isSame = collections.every((each) => publishes(each) === '');
  output.line(
    isSame
      ? 'A full sync would publish nothing.'
      : `→ To publish this now: rollcall pull --full --tenant ${tenant}${named}`,
  );
  if (collections.some(({ rowsOnHold }) => rowsOnHold > 0))
    output.line(
      `→ To see the deletions that a sync has put on hold: rollcall deletes list --tenant ${tenant}`,
    );
}

function publishes({ counts }: CollectionPlan): string {
  const some = PLANNED_KINDS.filter((kind) => counts[kind] > 0);
  return some.map((kind) => `${formatCount(counts[kind])} ${kind}`).join(', ');
}
