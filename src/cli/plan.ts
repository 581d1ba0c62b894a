import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import { collectionSettings, syncedCollections, type TenantConfig } from '../config.ts';
import { RollcallError } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import { planTenant } from '../plan/plan-tenant.ts';
import { chooseCollection, chooseTenants, requireMirrored } from './choose.ts';
import { planAsJson } from './plan/plan-as-json.ts';
import { showPlan, type TenantPlan } from './plan/show-plan.ts';
import { WorkProgress } from './work-progress.ts';
import { exitCodeFor } from './pull.ts';
import { verbAction, type VerbContext } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';
import { formatCount } from '../core/words.ts';

interface PlanFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly keys?: boolean | undefined;
}

/** Keys of a collection to print; further ones are only counted. */
const KEYS_AT_MOST = 100_000;

/** `rollcall plan`: what a full sync would publish. */
export function planCommand(): Command {
  return new Command('plan')
    .description(
      'Runs a full sync without publishing: it reads the hub, decides as "rollcall pull --full" would, and reports what ' +
        'it would publish, and which deletions the guard would withhold. It owns nothing and writes nothing, neither to ' +
        'Kafka nor to Redis, and may run before the first run, or while a process mirrors the tenant.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--keys', `also the keys, at most ${formatCount(KEYS_AT_MOST)} of a collection`)
    .addHelpText('after', wrapped(HELP))
    .action(verbAction<PlanFlags>((context, { options }) => plan(context, options)));
}

const HELP = `
The columns count records: created, updated and deleted as in the header ce_type; replaced and restored (steps of an
absence), forgotten (an absence that was deleted long ago leaves absence-changes), rejected (rows that cannot be decoded),
unrejected (rows that leave rejects). Unchanged counts rows of the hub.

The hub is read from beginning to end. Where the index in Redis equals the topics, only the changes are held in memory;
otherwise an index is built in memory from the topics: some 150 MB a million rows, 1 KB a version of an absence. If the
owner publishes meanwhile, that collection is planned again, up to three times, and at last from the topics; the output
then says that records which the owner published may be counted.

Schedules are left out: a sync of schedules asks for each student, and waits five minutes before it believes that a day
lost its lessons. "rollcall verify --collection schedules" compares them with the hub.

Without redis in the configuration, plan does not know which deletions need a decision, only how many there were.

Exit codes: 0 nothing would be withheld; 1 a collection failed, or its list was inconclusive; 3 something would be
withheld, or needs a decision.

Examples:
  rollcall plan
  rollcall plan --tenant north --collection users enrollments --keys
  rollcall plan --json | jq -c '.tenants[].collections[] | {collection, created, updated, deleted, withheld}'`;

async function plan(context: VerbContext, flags: PlanFlags): Promise<number> {
  const config = context.loadConfig();
  const tenants = chooseTenants(config, flags.tenant);
  const collections = [...new Set((flags.collection ?? []).map(chooseCollection))];
  requirePlannable(collections);
  requireMirrored(tenants, collections);
  const { output, signal } = context;
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
      keysAtMost: flags.keys === true ? KEYS_AT_MOST : 0,
      emit: (event) => shown.note(event),
      onRead: (records) =>
        shown.set('the topics', { done: (read += records), of: null, what: 'records read' }),
      signal,
    });
    plans.push({ tenant: tenant.id, leftOut: leftOut(tenant, collections), collections: planned });
  }
  progress.end();
  const isNamed = collections.length > 0;
  for (const each of plans) showPlan(output, each, { isNamed, showsKeys: flags.keys === true });
  output.data({ tenants: plans.map((each) => planAsJson(each, { hasKeys: flags.keys === true })) });
  return exitCodeFor(
    plans.flatMap((each) => each.collections),
    isNamed,
  );
}

function requirePlannable(collections: readonly CollectionName[]): void {
  if (!collections.includes('schedules')) return;
  throw new RollcallError('USAGE_INVALID', 'schedules cannot be planned', {
    remedy: 'Leave them out; "rollcall verify --collection schedules" compares them with the hub.',
  });
}

function leftOut(tenant: TenantConfig, asked: readonly CollectionName[]): readonly CollectionName[] {
  return asked.length === 0 && collectionSettings(tenant, 'schedules').enabled ? ['schedules'] : [];
}
