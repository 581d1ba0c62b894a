import { Command } from 'commander';
import { collectionSettings, enabledCollections, type TenantConfig } from '../config.ts';
import { exitCode } from './exit-code.ts';
import type { KnownProgress } from '../log/progress-reader.ts';
import { chooseTenants } from './choose.ts';
import { findLeftOver, leftOverAsJson, showLeftOver, wantedUnder } from './left-over.ts';
import type { TenantFacts } from '../core/health/tenant-facts.ts';
import { askIndex, type IndexFacts } from './status/ask-index.ts';
import { showTenant } from './status/show-tenant.ts';
import { statusAsJson } from '../core/health/status-json.ts';
import { tenantStatus } from '../core/health/tenant-status.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly, readLogs, withAdmin } from './with-assembly.ts';

/** `rollcall status`: the state of every tenant, from the topics and the index; sends no request to the hub. */
export function command(): Command {
  return new Command('status')
    .description(
      'Shows the progress of each collection and whether something needs a decision. ' +
        'Reads the progress topics, and Redis if it answers; asks the hub nothing.',
    )
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      `
  rows        the number in the last complete full sync
  last full   when that sync began, by the hub's clock
  up to       every change at the hub before this time is published
  sync        the last sync, "…" while it is running, "!" when it did not end and no process continues it, and how many
              rows it has seen, published and removed so far; "not offered" if the hub does not have the collection, or
              does not have the one that it is derived from
  withheld    deletions that need a decision
  rejects     rows that cannot be read (see "rollcall tail rejects --from-beginning")

absences and absence-changes are derived from absence-versions (↳) in the same syncs: whether they are late, unfinished,
withheld or rejected is shown there. Absences whose records contradict each other are listed, from Redis; they need no
decision.

Below the tables are topics that the configuration no longer wants. They stay until "rollcall topics purge" deletes them.

The first line says what a running process reports: a hub, Kafka, registry or Redis that does not answer, or an open
circuit. It learns that from the process's heartbeat in Redis.

Exit codes: 0 nothing needs a decision; 1 a tenant is in trouble (✗), or no process mirrors it; 3 something needs a decision, or a sync did not end and no process continues it. "rollcall deletes list" lists withheld deletions.`,
    )
    .action(verbAction(status));
}

async function status(
  context: VerbContext,
  { options }: VerbInput<{ readonly tenant?: string }>,
): Promise<number> {
  const { output, signal } = context;
  const config = context.loadConfig({ withoutHub: true });
  const tenants = chooseTenants(config, options.tenant);
  await using assembly = quietAssembly(config);
  // Read the index before the log: an index from after a commit and a log from before it would seem to have lost a list.
  const index = await askIndex(assembly, tenants);
  const known = await readLogs(assembly, tenants, signal);
  const leftOver = await withAdmin({ assembly, signal }, (admin) =>
    findLeftOver(admin, wantedUnder(config), options.tenant),
  );
  const nowMs = Date.now();
  const statuses = tenants.map((tenant) =>
    tenantStatus(
      factsOf(tenant, { known: known.get(tenant.id) ?? null, index: index.factsOf(tenant.id), nowMs }),
    ),
  );
  for (const each of statuses) showTenant(output, each, nowMs);
  showLeftOver(output, leftOver);
  if (index.trouble !== null) output.line(`${output.colors.yellow('!')} ${index.trouble}`);
  // No process continues a sync that was stopped or inconclusive: it needs a person, too.
  const needsPerson = statuses.some(({ state }) => state === 'needs-person' || state === 'unfinished');
  output.data({
    needsPerson,
    indexTrouble: index.trouble,
    tenants: statuses.map(statusAsJson),
    leftOver: leftOver.topics.map(leftOverAsJson),
  });
  const isInTrouble = statuses.some(({ state }) => state === 'in-trouble');
  return exitCode({ hasFailed: isInTrouble, needsPerson });
}

function factsOf(
  tenant: TenantConfig,
  { known, index, nowMs }: { known: KnownProgress | null; index: IndexFacts; nowMs: number },
): TenantFacts {
  const { late, committedAtMs, ...facts } = index;
  const { owner = null, ownedSinceMs = null } = known ?? {};
  return {
    tenant: tenant.id,
    deltaOverlapMs: tenant.deltaOverlapMs,
    owner: owner === null || ownedSinceMs === null ? null : { owner, ownedSinceMs },
    ...facts,
    nowMs,
    collections: enabledCollections(tenant).map(({ name, keyset }) => {
      const { deltaEveryMs, fullPull } = collectionSettings(tenant, name);
      return {
        collection: name,
        hasIncremental: keyset,
        deltaEveryMs,
        fullPull,
        progress: known?.progress.get(name) ?? null,
        lateRows: late.get(name) ?? null,
        committedAtMs: committedAtMs.get(name) ?? null,
      };
    }),
  };
}
