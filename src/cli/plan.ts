import { Command } from 'commander';
import { countOf, formatCount, printable } from '../core/words.ts';
import { planTenant, type CollectionPlan } from '../plan/plan-tenant.ts';
import { PLANNED_KINDS } from '../plan/recording-log.ts';
import { choose } from './choose.ts';
import type { Output } from './output.ts';
import { exitCodeFor, noteOutcomes, showSyncs } from './outcomes.ts';
import { verbAction, type VerbContext } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';

interface PlanFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly keys?: boolean | undefined;
}

/** `rollcall plan`: what a full sync would publish. */
export function command(): Command {
  return new Command('plan')
    .description(
      'Runs a full sync without publishing: it reads the hub, decides as "rollcall pull --full" would, and reports what ' +
        'it would publish, and which deletions the guard would withhold. It owns nothing and writes nothing, neither to ' +
        'Kafka nor to Redis, and may run before the first run, or while a process mirrors the tenant.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--keys', 'also the keys')
    .addHelpText('after', HELP)
    .action(verbAction<PlanFlags>((context, { options }) => plan(context, options)));
}

const HELP = `
The counts are of records: created, updated and deleted as in the header ce_type; replaced and restored (steps of an
absence), forgotten (an absence that was deleted long ago leaves absence-changes), rejected (rows that cannot be decoded),
unrejected (rows that leave rejects). Unchanged counts rows of the hub.

The hub is read from beginning to end. If the owner publishes meanwhile, that collection is planned again. Without redis in
the configuration, plan does not know which deletions need a decision, only how many there were.

Exit codes: 0 nothing would be withheld; 1 a collection failed, or its list was inconclusive; 3 something would be
withheld, or needs a decision.

Example:
  rollcall plan --json | jq -c '.tenants[].collections[] | {collection, created, updated, deleted, withheld}'`;

interface TenantPlan {
  readonly tenant: string;
  readonly collections: readonly CollectionPlan[];
}

async function plan(context: VerbContext, flags: PlanFlags): Promise<number> {
  const { output, signal } = context;
  const config = context.loadConfig();
  const { tenants, collections } = choose(config, flags);
  const isNamed = collections.length > 0;
  const keepsKeys = flags.keys === true;
  await using assembly = quietAssembly(config);
  const plans: TenantPlan[] = [];
  for (const { id: tenant } of tenants) {
    let read = 0;
    const planned = await planTenant(assembly, {
      tenantId: tenant,
      collections,
      keepsKeys,
      emit: (event) => showSyncs(output, event),
      onRead: (records) => output.progress(`topics: ${formatCount((read += records))} records`),
      signal,
    });
    plans.push({ tenant, collections: planned });
  }
  for (const each of plans) show(output, each, isNamed);
  output.data({
    tenants: plans.map(({ tenant, collections: planned }) => ({
      tenant,
      collections: planned.map((each) => asJson(each, keepsKeys)),
    })),
  });
  return exitCodeFor(
    plans.flatMap((each) => each.collections),
    isNamed,
  );
}

/** A collection's plan for programs (docs/operations.md). */
function asJson({ counts, keys, ...rest }: CollectionPlan, keepsKeys: boolean): object {
  const some = Object.entries(keys).filter(([, each]) => each.length > 0);
  return { ...rest, ...counts, ...(keepsKeys ? { keys: Object.fromEntries(some) } : {}) };
}

/** Prints a table, the keys if there are any, withheld and missing rows, and what to do next. */
function show(output: Output, { tenant, collections }: TenantPlan, isNamed: boolean): void {
  output.line(output.colors.bold(tenant));
  output.table(
    ['  collection', 'publishes', 'unchanged', 'withheld', ''],
    collections.map(({ collection, counts, unchanged, withheld, outcome }) => [
      `  ${collection}`,
      PLANNED_KINDS.flatMap((kind) =>
        counts[kind] === 0 ? [] : [`${formatCount(counts[kind])} ${kind}`],
      ).join(', ') || 'nothing',
      unchanged === null ? '-' : formatCount(unchanged),
      unchanged === null ? '-' : formatCount(withheld),
      outcome === 'complete' ? '' : outcome.replace('-', ' '),
    ]),
  );
  const keys = collections.flatMap((each) =>
    Object.entries(each.keys).flatMap(([kind, some]) =>
      some.map((key) => [`  ${each.collection}`, kind, printable(key)]),
    ),
  );
  if (keys.length > 0) output.table(['  collection', 'kind', 'key'], keys);
  for (const { collection, withheld, whyWithheld, missing } of collections) {
    const why = whyWithheld === null ? '' : `: ${whyWithheld}`;
    if (withheld > 0)
      output.note(`! ${collection}: ${countOf(withheld, 'deletion')} would be withheld${why}`);
    else if (missing > 0)
      output.note(
        `! ${collection}: ${countOf(missing, 'row')} missing for the first time; another full sync that misses them too removes them`,
      );
  }
  noteOutcomes(
    output,
    collections.map((each) => Object.assign({ rejected: each.counts.rejected }, each)),
    isNamed,
  );
  const records = collections
    .flatMap(({ counts }) => Object.values(counts))
    .reduce((sum, count) => sum + count, 0);
  output.line(`A full sync would publish ${records === 0 ? 'nothing' : countOf(records, 'record')}.`);
  if (records > 0)
    output.line('→ "rollcall pull --full" publishes this now; a running process does so with its own syncs.');
  if (collections.some(({ withheld }) => withheld > 0))
    output.line('→ "rollcall deletes list" shows the deletions that a sync has found.');
}
