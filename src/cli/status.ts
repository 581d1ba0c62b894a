import { Command } from 'commander';
import type { Config, TenantConfig } from '../config.ts';
import type { CollectionStatus } from '../core/health/collection-status.ts';
import { completeAndFresh } from '../core/health/complete-and-fresh.ts';
import { named } from '../core/health/decisions.ts';
import { heardOf, isInTrouble, overviewOf, tenantStatus, UNKNOWN } from '../core/health/tenant-status.ts';
import type { Heard, TenantStatus } from '../core/health/tenant-status.ts';
import { UNMET_REMEDY } from '../core/rows/unmet-settings.ts';
import { explainLate } from '../core/watermark.ts';
import { countOf, forHow, formatAge, formatCount, isoOrNull, printable } from '../core/words.ts';
import { describeError, RollcallError } from '../errors.ts';
import type { KnownProgress } from '../log/progress-reader.ts';
import { openStateStore } from '../session/state-store.ts';
import { monitorsOf } from '../telemetry/collection-monitor.ts';
import { chooseTenants, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { packageVersion } from './package-version.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall status`: the health of every tenant, according to its owner's heartbeat, or else to the log. */
export function command(): Command {
  return new Command('status')
    .description(
      'Prints the health of each tenant, as its process reports it. Without a report, it reads the topic "progress".',
    )
    .option('--tenant <id>', 'only this tenant')
    .option(
      '--wrong',
      'only tenants that are not well, or that have a setting without effect; of their collections, only those in which something is wrong',
    )
    .addHelpText(
      'after',
      `
The first line of each tenant says whether its copy is complete and fresh. "up to 5 min ago": every change that the hub made
more than 5 minutes ago is published. "not complete": the topics lack rows, or have rows that should be gone; "not fresh":
changes are missing. During a first load it says how many of the hub's rows have been read.

  rows now    number of rows in the topic now, as the process that mirrors the tenant counts them
  last full   start of the last complete full sync, by the hub's clock: all that the hub had then is published
  rows then   number of rows of the topic that the last complete full sync found at the hub
  up to       every change at the hub before this time is published, except removals
  sync        the last sync; "…": it is running, or has ended without being complete; "fails": two or more of the same kind
              have failed in a row; "full waits": a full sync is due, and waits for its turn
  on hold     rows whose deletion needs a decision: "rollcall deletes list" lists them
  rejects     rows that cannot be read (see "rollcall tail rejects --to-end")
  ✗           the collection's syncs fail, or many of its rows cannot be read or are not returned; other collections go on

The syncs of absence-versions also write absences and absence-changes (↳). With more than ten tenants, no collections are
printed. On a narrow terminal the least important columns are left out. --json prints the tenants of /status.json, with their collections.

Exit codes: 1 a tenant or a collection is in trouble or late, or no process mirrors the tenant any more; 3 none of
these, but something needs a decision; 0 all is well. The exit code is about all tenants, including those that --wrong leaves out.`,
    )
    .action(verbAction(status));
}

const MOST_IN_DETAIL = 10;

async function status(verb: Verb<Scope & { readonly wrong?: boolean }>): Promise<number> {
  const { output, loadConfig, flags } = verb;
  const config = loadConfig({ without: 'hub' });
  const wanted = chooseTenants(config, flags.tenant);
  const heard = await hear(config, wanted);
  const ownerless = wanted.filter((_, at) => heard[at]?.health === undefined);
  const logs = ownerless.length === 0 ? null : await readLogsOf(verb, config, ownerless);
  const nowMs = Date.now();
  const { summary, tenants } = overviewOf(
    wanted.map(
      (tenant, at) =>
        heard[at]?.health ?? fromLog(tenant, { ...heard[at], known: logs?.get(tenant.id) ?? null, nowMs }),
    ),
  );
  const shown = tenants.filter(
    ({ state, collections }) =>
      !flags.wrong || state !== 'well' || collections.some(({ unmet }) => unmet.length > 0),
  );
  const isBrief = shown.length > MOST_IN_DETAIL;
  if (wanted.length > 1) output.line(`${summary}\n`);
  for (const each of shown) {
    const collections = isBrief ? [] : flags.wrong ? each.collections.filter(isWrong) : each.collections;
    show(output, { ...each, collections }, { answer: completeAndFresh(each, nowMs), nowMs });
  }
  if (flags.wrong && shown.length === 0) output.line(`${output.colors.green('✓')} nothing is wrong`);
  const notes = [...new Map(heard.flatMap(({ note }) => (note ? [[note.why, note]] : []))).values()];
  for (const { why, remedy } of notes) {
    output.item(output.colors.yellow('!'), why);
    output.item(`  ${output.colors.cyan('→')}`, remedy);
  }
  if (config.redis === undefined)
    output.line(
      `${output.colors.yellow('!')} no Redis is configured: it is unknown whether a process is running`,
    );
  const needsPerson = tenants.some((each) => each.needsPerson);
  output.data({
    at: isoOrNull(nowMs),
    ready: tenants.some(({ ready }) => ready),
    needsPerson,
    notes,
    summary,
    tenants: shown,
  });
  return exitCode({ hasFailed: tenants.some(isInTrouble), needsPerson });
}

/** The facts in the heartbeats of the tenants, in the order of the tenants; an empty list without Redis. */
async function hear(config: Config, tenants: readonly TenantConfig[]): Promise<readonly Heard[]> {
  const store = openStateStore(config);
  try {
    const ids = tenants.map(({ id }) => id);
    const living = await store.coordination.livingOwners(ids, ['version', 'health', 'collections', 'note']);
    // A living process cannot renew its heartbeat in a Redis that takes no writes.
    if (living.includes(null)) await store.ready();
    return living.map((each) => heardOf(each, packageVersion));
  } catch (error) {
    const remedy = error instanceof RollcallError ? error.remedy : 'Check redis.url.';
    return tenants.map(() => ({ reported: [{ part: 'redis', why: describeError(error), remedy }] }));
  } finally {
    await store.close();
  }
}

/** Reads the logs. Only this loads the client of Kafka, which takes longer than everything else that `status` does. */
async function readLogsOf({ signal }: Verb, config: Config, tenants: readonly TenantConfig[]) {
  const { assemble } = await import('../session/assemble.ts');
  const { readTenantProgress } = await import('./verb-parts.ts');
  await using assembly = assemble(config);
  return await readTenantProgress(assembly, tenants, signal);
}

function fromLog(
  tenant: TenantConfig,
  { known, ...heard }: Heard & { known: KnownProgress | null; nowMs: number },
): TenantStatus {
  const { owner = null, ownedSinceMs = null } = known ?? {};
  return tenantStatus({
    ...UNKNOWN,
    ...heard,
    tenant: tenant.id,
    incrementalOverlapMs: tenant.incrementalOverlapMs,
    owner: owner === null || ownedSinceMs === null ? null : { owner, ownedSinceMs },
    collections: [...monitorsOf(tenant)].map(([name, monitor]) => {
      monitor.progress = known?.progress.get(name) ?? null;
      return monitor.facts();
    }),
  });
}

function isWrong(each: CollectionStatus): boolean {
  const { trouble, late, rowsOnHold, rejected, lastCompleteFull, isNotOffered, unmet } = each;
  const isLoading = lastCompleteFull === null && !isNotOffered;
  return trouble !== null || late !== null || rowsOnHold + rejected + unmet.length > 0 || isLoading;
}

function show(
  output: Output,
  tenant: TenantStatus,
  { answer, nowMs }: { readonly answer: string; readonly nowMs: number },
): void {
  const { colors } = output;
  const isBad = tenant.state === 'needs-person' || tenant.state === 'in-trouble';
  const paint = tenant.state === 'well' ? colors.green : isBad ? colors.red : colors.yellow;
  const mark = tenant.state === 'well' ? '✓' : isBad ? '✗' : '!';
  output.item(paint(mark), `${tenant.tenant}  ${answer}: ${tenant.headline}`);
  const { owner } = tenant;
  if (owner !== null)
    output.line(`  last taken over by ${printable(owner.owner)}, ${formatAge(owner.since, nowMs)}`);
  const [reason] = tenant.state === 'needs-person' ? [] : tenant.reasons;
  if (reason !== undefined) output.item(`  ${colors.cyan('→')}`, reason.remedy);
  // Each command has a line of its own, so that it can be copied.
  for (const [at, { what, since, question, commands }] of tenant.decisions.entries()) {
    if (at > 0) output.line(`  ${colors.red('✗')} needs a decision: ${what}${forHow(since, nowMs)}`);
    output.line(`  ${colors.cyan('→')} ${question}:`);
    for (const command of commands) output.line(`    ${command}`);
  }
  showTroubles(output, tenant, nowMs);
  for (const { collection, rowsLate, filterSelectsNothing, unmet } of tenant.collections) {
    const warn = (text: string) => output.item(`  ${colors.yellow('!')}`, text);
    if (rowsLate > 0)
      warn(`${collection} (${countOf(rowsLate, 'row')}): ${explainLate(filterSelectsNothing)}`);
    for (const sentence of unmet) warn(`${collection}: ${printable(sentence)}`);
  }
  if (tenant.collections.some(({ unmet }) => unmet.length > 0))
    output.item(`  ${colors.cyan('→')}`, UNMET_REMEDY);
  if (tenant.collections.length === 0) return;
  output.line();
  const grouped = Map.groupBy(tenant.collections, (each) => each.derivedFrom ?? each.collection);
  output.table(
    ['  collection', 'rows now', 'last full', 'rows then', 'up to', 'sync', 'on hold', 'rejects'],
    [...grouped.values()]
      .flat()
      .map((each) => [
        `${each.trouble ? '✗' : ' '} ${each.derivedFrom === null ? '' : '↳ '}${each.collection}`,
        each.rowsNow === null ? '-' : formatCount(each.rowsNow),
        formatAge(each.lastCompleteFull, nowMs),
        each.rowsThen === null ? '-' : formatCount(each.rowsThen),
        formatAge(each.watermark, nowMs),
        syncOf(each),
        formatCount(each.rowsOnHold),
        formatCount(each.rejected),
      ]),
    ['rows then', 'sync', 'last full', 'rejects'],
  );
  output.item(' ', UP_TO);
  output.line();
}

/** Prints each trouble of collections that the headline does not mention. */
export function showTroubles(output: Output, { headline, collections }: TenantStatus, nowMs: number): void {
  const { colors } = output;
  const all = collections.flatMap(({ collection, trouble }) => (trouble ? [{ collection, ...trouble }] : []));
  for (const [why, [first, ...others]] of Map.groupBy(all, (each) => printable(each.why))) {
    if (first === undefined || headline.includes(why)) continue;
    const names = named([first, ...others].map(({ collection }) => collection));
    output.item(`  ${colors.red('✗')}`, `${names}: ${why}${forHow(first.since, nowMs)}`);
    output.item(`  ${colors.cyan('→')}`, printable(first.remedy));
  }
}

const UP_TO =
  'rows then: rows of the topic that the last complete full sync found at the hub; up to: every change at the hub before this time is published, except removals';

function syncOf({ sync, derivedFrom, isNotOffered, isWaiting, trouble }: CollectionStatus): string {
  if (isNotOffered) return 'not offered';
  if (trouble?.part === 'collection') return 'fails';
  if (isWaiting) return 'full waits';
  if (sync === null || derivedFrom !== null) return '-';
  return sync.mode.toLowerCase() + (sync.complete ? '' : ' …');
}
