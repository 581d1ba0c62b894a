import { Command } from 'commander';
import { syncedCollections } from '../config.ts';
import { countOf, formatCount, printable } from '../core/words.ts';
import { planTenant, type CollectionPlan } from '../plan/plan-tenant.ts';
import { PLANNED_KINDS, type PlannedKind } from '../plan/recording-log.ts';
import { choose } from './choose.ts';
import type { Output } from './output.ts';
import { exitCodeFor, noteTroubles, rejectLines } from './pull.ts';
import { verbAction, type VerbContext } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';
import { WorkProgress } from './work-progress.ts';

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
The columns count records: created, updated and deleted as in the header ce_type; replaced and restored (steps of an
absence), forgotten (an absence that was deleted long ago leaves absence-changes), rejected (rows that cannot be decoded),
unrejected (rows that leave rejects). Unchanged counts rows of the hub. Rows that are missing for the first time are named
and cause no record: another full sync that misses them too removes them.

The hub is read from beginning to end. Where the index in Redis equals the topics, only the changes are held in memory;
otherwise an index is built in memory from the topics: some 150 MB a million rows, 1 KB a version of an absence; with
--keys, the keys too. If the owner publishes meanwhile, that collection is planned again, up to three times, and at last
from the topics, where records that the owner published since may be counted.

Without redis in the configuration, plan does not know which deletions need a decision, only how many there were.

Exit codes: 0 nothing would be withheld; 1 a collection failed, or its list was inconclusive; 3 something would be
withheld, or needs a decision.

Examples:
  rollcall plan
  rollcall plan --tenant north --collection users enrollments --keys
  rollcall plan --json | jq -c '.tenants[].collections[] | {collection, created, updated, deleted, withheld}'`;

interface TenantPlan {
  readonly tenant: string;
  readonly collections: readonly CollectionPlan[];
}

async function plan(context: VerbContext, flags: PlanFlags): Promise<number> {
  const config = context.loadConfig();
  const { tenants, collections } = choose(config, flags);
  const { output, signal } = context;
  const keepsKeys = flags.keys === true;
  const progress = output.progress();
  await using assembly = quietAssembly(config);
  const plans: TenantPlan[] = [];
  for (const tenant of tenants) {
    const expected = collections.length > 0 ? collections.length : syncedCollections(tenant).length;
    const shown = new WorkProgress(progress, { title: `${tenant.id}: collections`, expected });
    let read = 0;
    const planned = await planTenant(assembly, {
      tenantId: tenant.id,
      collections,
      keepsKeys,
      emit: (event) => shown.note(event),
      onRead: (records) =>
        shown.set('the topics', { done: (read += records), of: null, what: 'records read' }),
      signal,
    });
    plans.push({ tenant: tenant.id, collections: planned });
  }
  progress.end();
  const isNamed = collections.length > 0;
  for (const each of plans) show(output, each, isNamed);
  output.data({
    tenants: plans.map((each) => ({
      ...each,
      collections: each.collections.map((one) => asJson(one, keepsKeys)),
    })),
  });
  return exitCodeFor(
    plans.flatMap((each) => each.collections),
    isNamed,
  );
}

/** A collection's plan for programs (docs/operations.md). */
function asJson(planned: CollectionPlan, hasKeys: boolean): object {
  const { counts, keys, ...rest } = planned;
  return { ...rest, ...counts, ...(hasKeys ? { keys: Object.fromEntries(kept(keys)) } : {}) };
}

/** Keys by what would happen to them, as far as there are any. */
function kept(keys: CollectionPlan['keys']): [string, readonly string[]][] {
  return Object.entries(keys).filter(([, some]) => some.length > 0);
}

const ALWAYS_SHOWN: ReadonlySet<PlannedKind> = new Set(['created', 'updated', 'deleted', 'rejected']);

/** Prints a table, the keys if there are any, withheld and missing rows, and what to do next. */
function show(output: Output, { tenant, collections }: TenantPlan, isNamed: boolean): void {
  output.line(output.colors.bold(tenant));
  showTable(output, collections);
  showKeys(output, collections);
  for (const { collection, withheld, whyWithheld, missing } of collections) {
    const why = whyWithheld === null ? '' : `: ${whyWithheld}`;
    if (withheld > 0)
      output.note(`! ${collection}: ${countOf(withheld, 'deletion')} would be withheld${why}`);
    else if (missing > 0)
      output.note(
        `! ${collection}: ${countOf(missing, 'row')} missing for the first time; another full sync that misses them too removes them`,
      );
  }
  for (const line of rejectLines(collections.map((each) => ({ ...each, rejected: each.counts.rejected }))))
    output.note(line);
  noteTroubles(output, collections, isNamed);
  for (const line of conclusion(collections)) output.line(line);
}

function showTable(output: Output, collections: readonly CollectionPlan[]): void {
  const kinds = PLANNED_KINDS.filter(
    (kind) => ALWAYS_SHOWN.has(kind) || collections.some(({ counts }) => counts[kind] > 0),
  );
  const numbers = ({ counts, unchanged, withheld }: CollectionPlan): (number | null)[] => [
    ...kinds.map((kind) => counts[kind]),
    unchanged,
    unchanged === null ? null : withheld,
  ];
  const rows = collections.map((each) => [
    `  ${each.collection}`,
    ...numbers(each).map((count) => (count === null ? '' : formatCount(count))),
    each.outcome === 'complete' ? '' : each.outcome.replace('-', ' '),
  ]);
  const titles = [...kinds, 'unchanged', 'withheld'];
  const totals = titles.map((_title, at) => formatCount(sum(collections, (each) => numbers(each)[at] ?? 0)));
  output.table(
    ['  collection', ...titles, ''],
    collections.length > 1 ? [...rows, ['  total', ...totals]] : rows,
  );
}

function showKeys(output: Output, collections: readonly CollectionPlan[]): void {
  const rows = collections.flatMap(({ collection, keys }) =>
    kept(keys).flatMap(([kind, some]) => some.map((key) => [`  ${collection}`, kind, printable(key)])),
  );
  if (rows.length === 0) return;
  output.line();
  output.table(['  collection', 'kind', 'key'], rows);
  output.line();
}

/** One sentence on what would be published, and one on what to do next. */
function conclusion(collections: readonly CollectionPlan[]): string[] {
  const records = sum(collections, ({ counts }) =>
    PLANNED_KINDS.reduce((all, kind) => all + counts[kind], 0),
  );
  const withheld = sum(collections, (each) => each.withheld);
  const isComplete = collections.every(({ outcome }) => outcome === 'complete' || outcome === 'not-offered');
  const what = records === 0 ? 'nothing' : countOf(records, 'record');
  const lines = [`A full sync would publish ${what}${isComplete ? '' : ' of what could be read'}.`];
  if (records > 0)
    lines.push('→ "rollcall pull --full" publishes this now; a running process does so with its own syncs.');
  if (withheld > 0)
    lines.push(
      `→ ${countOf(withheld, 'deletion')} would need a decision: "rollcall deletes list" shows those that a sync has found.`,
    );
  return lines;
}

function sum(collections: readonly CollectionPlan[], of: (each: CollectionPlan) => number): number {
  return collections.reduce((total, each) => total + of(each), 0);
}
