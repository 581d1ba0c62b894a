import { Command } from 'commander';
import { collectionSettings, enabledCollections, type TenantConfig } from '../config.ts';
import type { ConfigFile } from '../config/config-file.ts';
import type { CollectionStatus } from '../core/health/collection-status.ts';
import type { TenantFacts } from '../core/health/tenant-facts.ts';
import { tenantStatus, type TenantStatus } from '../core/health/tenant-status.ts';
import { explainLate } from '../core/watermark.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../core/words.ts';
import { describeError, RollcallError } from '../errors.ts';
import type { KnownProgress } from '../log/progress-reader.ts';
import type { Assembly } from '../session/assemble.ts';
import { chooseTenants, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { packageVersion } from './package-version.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { quietAssembly, readLogs } from './with-assembly.ts';

/** `rollcall status`: the health of every tenant, by its owner's heartbeat, or else by the log. */
export function command(): Command {
  return new Command('status')
    .description(
      'Prints the health of each tenant as its process reports it, or else what the topic progress says.',
    )
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      `
  rows        the number in the last complete full sync
  last full   when that sync began, by the hub's clock
  up to       every change at the hub before this time is published
  sync        the last sync, "…" while it is not complete
  withheld    deletions that need a decision: "rollcall deletes list" lists them
  rejects     rows that cannot be read (see "rollcall tail rejects --to-end")

absences and absence-changes follow from absence-versions (↳) in its syncs. --json has the tenants
of /status.json.

Exit codes: 0 nothing needs a decision; 1 a tenant is in trouble, or nobody mirrors it any more; 3 something needs a decision.`,
    )
    .action(verbAction(status));
}

async function status({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<number> {
  const config = loadConfig({ withoutHub: true });
  const wanted = chooseTenants(config, flags.tenant);
  await using assembly = quietAssembly(config);
  const asked = await Promise.all(wanted.map(async ({ id }) => askOwner(assembly, id)));
  const ownerless = wanted.filter((_, at) => asked[at]?.health === undefined);
  const logs = ownerless.length === 0 ? null : await readLogs(assembly, ownerless, signal);
  const nowMs = Date.now();
  const tenants = wanted.map(
    (tenant, at) =>
      asked[at]?.health ?? fromLog(tenant, { ...asked[at], known: logs?.get(tenant.id) ?? null, nowMs }),
  );
  for (const each of tenants) show(output, each, nowMs);
  const notes = [...new Map(asked.flatMap(({ note }) => (note ? [[note.why, note]] : []))).values()];
  for (const { why, remedy } of notes)
    output.line(`${output.colors.yellow('!')} ${why}\n  ${output.colors.cyan('→')} ${remedy}\n`);
  if (config.redis === undefined)
    output.line(
      `${output.colors.yellow('!')} no Redis is configured: it is unknown whether a process is running`,
    );
  output.data({
    at: isoOrNull(nowMs),
    ready: tenants.some(({ ready }) => ready),
    needsPerson: tenants.some((each) => each.needsPerson),
    notes,
    tenants,
  });
  return exitCode({
    hasFailed: tenants.some(({ state }) => state === 'in-trouble'),
    needsPerson: tenants.some((each) => each.needsPerson),
  });
}

/** What the heartbeat of a tenant's owner says. A command that owns the tenant for a while reports no health. */
interface Asked extends Partial<Pick<TenantFacts, 'isOwnerAlive' | 'reported'>> {
  readonly health?: TenantStatus;
  readonly note?: ConfigFile['note'];
}

async function askOwner({ config, store }: Assembly, tenant: string): Promise<Asked> {
  if (config.redis === undefined) return {};
  try {
    const living = await store.coordination.livingOwner(tenant);
    // A living process cannot renew its heartbeat in a Redis that takes no writes.
    if (living === null) await store.ready();
    const { health, version, note = 'null' } = living?.info ?? {};
    if (health === undefined || version === undefined) return { isOwnerAlive: living !== null };
    const own = packageVersion();
    if (version === own)
      return {
        health: JSON.parse(health, asPrintable) as TenantStatus,
        note: JSON.parse(note, asPrintable) as ConfigFile['note'],
      };
    const why = `version ${printable(version)} mirrors the tenant, and this is ${own}`;
    const remedy = 'Ask with that version, or look at its status page.';
    return { isOwnerAlive: true, reported: [{ part: 'owner', why, remedy }] };
  } catch (error) {
    const remedy = error instanceof RollcallError ? error.remedy : 'Check redis.url.';
    return { reported: [{ part: 'redis', why: describeError(error), remedy }] };
  }
}

function asPrintable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? printable(value) : value;
}

function fromLog(
  tenant: TenantConfig,
  { known, nowMs, isOwnerAlive = null, reported }: Asked & { known: KnownProgress | null; nowMs: number },
): TenantStatus {
  const { owner = null, ownedSinceMs = null } = known ?? {};
  return tenantStatus({
    tenant: tenant.id,
    deltaOverlapMs: tenant.deltaOverlapMs,
    owner: owner === null || ownedSinceMs === null ? null : { owner, ownedSinceMs },
    isOwnerAlive,
    reported,
    notOffered: [],
    wrongTenant: [],
    contradictions: null,
    nowMs,
    collections: enabledCollections(tenant).map(({ name, keyset }) => {
      const { deltaEveryMs, fullPull } = collectionSettings(tenant, name);
      return {
        collection: name,
        hasIncremental: keyset,
        deltaEveryMs,
        fullPull,
        progress: known?.progress.get(name) ?? null,
        rowsLate: 0,
        isFilterMute: false,
        rowsInKafka: null,
        rowsAtHub: null,
        isWaiting: false,
        running: null,
      };
    }),
  });
}

function show(output: Output, tenant: TenantStatus, nowMs: number): void {
  const { colors } = output;
  const isBad = tenant.state === 'needs-person' || tenant.state === 'in-trouble';
  const paint = tenant.state === 'well' ? colors.green : isBad ? colors.red : colors.yellow;
  const mark = tenant.state === 'well' ? '✓' : isBad ? '✗' : '!';
  output.line(`${paint(mark)} ${colors.bold(tenant.tenant)}  ${paint(tenant.headline)}`);
  if (tenant.owner !== null) {
    const how = tenant.isOwnerAlive === false ? 'not running; last taken over' : 'taken over';
    output.line(`  ${how} by ${printable(tenant.owner.owner)}, ${age(tenant.owner.since, nowMs)}`);
  }
  const remedy = tenant.decisions[0]?.commands.join(', then: ') ?? tenant.reasons[0]?.remedy;
  if (remedy !== undefined) output.line(`  ${colors.cyan('→')} ${remedy}`);
  for (const { collection, rowsLate, isFilterMute } of tenant.collections)
    if (rowsLate > 0)
      output.line(
        `  ${colors.yellow('!')} ${collection}: ${countOf(rowsLate, 'row')}: ${explainLate(isFilterMute)}`,
      );
  output.line();
  const grouped = Map.groupBy(tenant.collections, (each) => each.derivedFrom ?? each.collection);
  output.table(
    ['  collection', 'rows', 'last full', 'up to', 'sync', 'withheld', 'rejects'],
    [...grouped.values()]
      .flat()
      .map((each) => [
        each.derivedFrom === null ? `  ${each.collection}` : `  ↳ ${each.collection}`,
        each.rows === null ? '-' : formatCount(each.rows),
        age(each.lastCompleteFull, nowMs),
        age(each.watermark, nowMs),
        syncOf(each),
        formatCount(each.withheld),
        formatCount(each.rejected),
      ]),
  );
  output.line();
}

function age(iso: string | null, nowMs: number): string {
  return formatAge(iso === null ? null : Date.parse(iso), nowMs);
}

function syncOf({ sync, derivedFrom, isNotOffered, isWaiting }: CollectionStatus): string {
  if (isNotOffered) return 'not offered';
  if (isWaiting) return 'full waits';
  if (sync === null || derivedFrom !== null) return '-';
  return sync.mode.toLowerCase() + (sync.complete ? '' : ' …');
}
