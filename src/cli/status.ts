import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import { collectionSettings, enabledCollections, type TenantConfig } from '../config.ts';
import { describeError } from '../errors.ts';
import type { Assembly } from '../session/assemble.ts';
import { sleep } from '../runtime.ts';
import { EXIT, exitCode } from './exit-code.ts';
import { readKnownProgress, type KnownProgress } from '../log/progress-reader.ts';
import { chooseTenants } from './choose.ts';
import { findLeftOver, leftOverAsJson, showLeftOver, wantedUnder } from './left-over.ts';
import type { TenantFacts } from '../core/health/tenant-facts.ts';
import { askIndex, type AskedIndex } from './status/ask-index.ts';
import { showTenant } from './status/show-tenant.ts';
import { statusAsJson } from '../core/health/status-json.ts';
import { tenantStatus } from '../core/health/tenant-status.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin, withAssembly } from './with-assembly.ts';

const WATCH_EVERY_MS = 3_000;
const CLEAR_SCREEN = '\u001B[2J\u001B[3J\u001B[H';

interface StatusFlags {
  tenant?: string;
  watch?: boolean;
}

/** `rollcall status`: the state of every tenant, from the topics and the index; sends no request to the hub. */
export function command(): Command {
  return new Command('status')
    .description(
      'Shows the progress of each collection and whether something needs a decision. ' +
        'Reads the progress topics, and Redis if it answers; asks the hub nothing.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--watch', 'read and print again every few seconds, until Ctrl-C')
    .addHelpText(
      'after',
      wrapped(`
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

Exit codes: 0 nothing needs a decision, or --watch was stopped; 1 a tenant is in trouble (✗), or no process mirrors it; 3
something needs a decision, or a sync did not end and no process continues it. "rollcall deletes list" lists withheld deletions.`),
    )
    .action(verbAction(status));
}

async function status(context: VerbContext, { options }: VerbInput<StatusFlags>): Promise<number> {
  const { signal } = context;
  const config = context.loadConfig({ withoutHub: true });
  const tenants = chooseTenants(config, options.tenant);
  return withAssembly(config, async (assembly) => {
    const look = () => lookOnce(context, { assembly, tenants, only: options.tenant });
    if (options.watch !== true) return look();
    const { stdout } = process;
    for (;;) {
      // Clears the screen only where there is one; elsewhere one look follows the other.
      const clear = stdout.isTTY && !context.output.json ? () => stdout.write(CLEAR_SCREEN) : () => undefined;
      try {
        await look().catch((error: unknown) => {
          signal.throwIfAborted();
          context.output.note(describeError(error));
        });
        await sleep(WATCH_EVERY_MS, signal);
      } catch (error) {
        if (signal.aborted) return EXIT.ok;
        throw error;
      }
      clear();
    }
  });
}

/** Reads and prints the status once; returns the exit code. */
async function lookOnce(
  { output, signal }: VerbContext,
  options: { assembly: Assembly; tenants: readonly TenantConfig[]; only: string | undefined },
): Promise<number> {
  const { assembly, tenants, only } = options;
  const { config } = assembly;
  // Read the index before the log: an index from after a commit and a log from before it would seem to have lost a list.
  const index = await askIndex(assembly, tenants);
  const { known, leftOver } = await withAdmin({ assembly, signal }, async (admin) => ({
    known: await readKnownProgress({
      kafka: assembly.kafka,
      admin,
      registry: assembly.registry,
      topicPrefix: config.kafka.topicPrefix,
      tenantIds: tenants.map(({ id }) => id),
      signal,
    }),
    leftOver: await findLeftOver(admin, wantedUnder(config), only),
  }));
  const nowMs = Date.now();
  const statuses = tenants.map((tenant) =>
    tenantStatus(factsOf(tenant, { known: known.get(tenant.id) ?? null, index, nowMs })),
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
  parts: { known: KnownProgress | null; index: AskedIndex; nowMs: number },
): TenantFacts {
  const { known, nowMs } = parts;
  const index = parts.index.tenants.get(tenant.id);
  const { failure } = parts.index;
  const { owner = null, ownedSinceMs = null } = known ?? {};
  return {
    tenant: tenant.id,
    deltaOverlapMs: tenant.deltaOverlapMs,
    owner: owner === null || ownedSinceMs === null ? null : { owner, ownedSinceMs },
    isOwnerAlive: index?.isOwnerAlive ?? null,
    notOffered: index?.notOffered ?? [],
    wrongTenant: index?.wrongTenant ?? [],
    contradictions: index?.contradictions ?? null,
    reported:
      failure === null
        ? (index?.reported ?? [])
        : [{ part: 'redis' as const, tenant: tenant.id, ...failure }],
    hubSkewMs: index?.hubSkewMs ?? 0,
    nowMs,
    collections: enabledCollections(tenant).map(({ name, keyset }) => {
      const { deltaEveryMs, fullPull } = collectionSettings(tenant, name);
      return {
        collection: name,
        hasIncremental: keyset,
        deltaEveryMs,
        fullPull,
        progress: known?.progress.get(name) ?? null,
        lateRows: index?.late.get(name) ?? null,
        committedAtMs: index?.committedAtMs.get(name) ?? null,
      };
    }),
  };
}
