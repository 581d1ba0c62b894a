import { hostname, userInfo } from 'node:os';
import { Command } from 'commander';
import { syncedCollections, type Config, type TenantConfig } from '../config.ts';
import { firstGroups, type NamedGroups } from '../core/withheld-groups.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../core/words.ts';
import { describeError, RollcallError } from '../errors.ts';
import type { KnownProgress } from '../log/progress-reader.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { APPROVE, type ApproveOutcome } from '../owner/deletes.ts';
import { readWithheldGroups } from '../owner/read-withheld-groups.ts';
import type { Assembly } from '../session/assemble.ts';
import { readWaiting, type Waiting } from '../sync/read-waiting.ts';
import { asOwner } from './as-owner.ts';
import { choose, chooseTenant, chooseTenants } from './choose.ts';
import { EXIT, exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly, readLogs } from './with-assembly.ts';

interface DeletesFlags {
  readonly reason?: string | undefined;
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly keys?: boolean | undefined;
}

const EXIT_CODES = `
Exit codes: 0 nothing is withheld (any more); 1 it failed; 3 something needs a decision.`;

/** `rollcall deletes list|approve|history`: deletions that need a decision. */
export function command(): Command {
  const list = new Command('list')
    .description('Shows what waits for a decision in each tenant, since when, and why. It writes nothing.')
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'show only these collections')
    .option('--keys', 'name every key, not only the first ten')
    .addHelpText(
      'after',
      `
Everything that waits in a tenant is one list with one short digest: "deletes approve <digest>" approves exactly that list
and no later one. Rows that come back leave it by themselves.
${EXIT_CODES}`,
    )
    .action(verbAction(listDeletes));
  const approval = new Command('approve')
    .description(
      'Removes the rows of the list that are still missing: runs a full sync of the collections concerned at once. If a ' +
        'process runs for the tenant, that process does the work; otherwise this command owns the tenant meanwhile.',
    )
    .argument('<digest>', 'of the list that "deletes list" has shown; no other list is approved')
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option('--reason <text>', 'why; kept in the log line and in progress')
    .addHelpText('after', EXIT_CODES)
    .action(verbAction(approve));
  const history = new Command('history')
    .description(
      'Shows who approved which list, when, from where and why, as far as the topic progress has it.',
    )
    .option('--tenant <id>', 'only this tenant')
    .action(verbAction(showHistory));
  return new Command('deletes')
    .description('Deletions that need a decision because too many rows are missing.')
    .addCommand(list.summary('what waits for a decision, since when, and why'))
    .addCommand(approval.summary('remove listed rows that the hub still does not have'))
    .addCommand(history.summary('who approved what'));
}

async function listDeletes(context: VerbContext, { options }: VerbInput<DeletesFlags>): Promise<number> {
  const config = withLists(context.loadConfig({ withoutHub: true }));
  const { tenants, collections } = choose(config, options);
  const only = collections.length === 0 ? null : new Set<string>(collections.map(sourceOf));
  const { output, signal } = context;
  await using assembly = quietAssembly(config);
  const waiting = await readWaitingLists(assembly, { tenants, signal });
  const shown: object[] = [];
  for (const each of waiting) {
    const groups = await groupsOf(context, assembly, each);
    showWaiting(output, each, { groups, allKeys: options.keys === true, only });
    shown.push(waitingAsJson(each, groups));
  }
  const waits = waiting.some(({ collections }) => collections.length > 0);
  output.data({ waits, tenants: shown });
  return exitCode({ needsPerson: waits });
}

async function approve(context: VerbContext, { args, options }: VerbInput<DeletesFlags>): Promise<number> {
  const { output, signal } = context;
  const config = withLists(context.loadConfig());
  const tenant = chooseTenant(config, options.tenant);
  const [digest = ''] = args;
  await using assembly = quietAssembly(config);
  const [waiting] = await readWaitingLists(assembly, { tenants: [tenant], signal });
  const { rows = 0, collections = [] } = waiting ?? {};
  if (waiting?.digest !== digest) {
    const isOver = collections.length === 0;
    output.data({ digest, isSame: false, rows, collections: [], waiting: rows });
    if (isOver) output.line('no deletion is withheld');
    else output.note(notThatList(digest, formatCount(rows)));
    return exitCode({ needsPerson: !isOver });
  }
  const progress = output.progress();
  const outcome = await asOwner(assembly, {
    tenantId: tenant.id,
    request: APPROVE,
    parameters: { digest, by: userName(), from: hostname(), reason: options.reason ?? null },
    progress,
    signal,
  });
  progress.end();
  output.data({ digest, ...outcome });
  if (!outcome.isSame) {
    output.note(notThatList(digest, `${formatCount(outcome.rows)} of ${formatCount(rows)}`));
    return exitCode({ needsPerson: true });
  }
  showApproved(output, outcome);
  return exitCode({
    hasFailed: outcome.collections.some((each) => each.outcome !== 'done'),
    needsPerson: outcome.waiting > 0,
  });
}

function notThatList(digest: string, rows: string): string {
  return `✗ ${digest} is not the list any more: ${rows} rows now; nothing was removed\n→ Look again: rollcall deletes list`;
}

/** A container may have no name for its user. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

function showApproved(output: Output, { collections, waiting }: ApproveOutcome): void {
  output.table(
    ['  collection', 'outcome', 'listed', 'removed', 'came back'],
    collections.map((each) => [
      `  ${each.collection}`,
      each.outcome === 'done' ? 'removed' : each.outcome,
      ...[each.listed, each.removed, each.back].map(formatCount),
    ]),
  );
  for (const { collection, why, remedy } of collections)
    if (why !== null) output.note(`✗ ${collection}: ${why}${remedy === null ? '' : `\n→ ${remedy}`}`);
  if (waiting > 0) output.note(`! ${countOf(waiting, 'row')} need another decision\n→ rollcall deletes list`);
}

async function showHistory(context: VerbContext, { options }: VerbInput<DeletesFlags>): Promise<number> {
  const config = context.loadConfig({ withoutHub: true });
  const { output, signal } = context;
  await using assembly = quietAssembly(config);
  const waiting = await readWaitingLists(assembly, {
    tenants: chooseTenants(config, options.tenant),
    signal,
  });
  const approvals = waiting.flatMap(({ tenant, known }) =>
    (known?.approvals ?? []).map(({ collection, approval }) =>
      Object.assign({ tenant, collection }, approval),
    ),
  );
  if (approvals.length === 0) output.line('no approval is known');
  else {
    output.table(
      ['tenant', 'when', 'list', 'collection', 'listed', 'removed', 'by', 'from', 'reason'],
      approvals.map((each) => [
        each.tenant,
        isoOrNull(each.atMs) ?? '-',
        printable(each.digest),
        each.collection,
        formatCount(each.listed),
        formatCount(each.removed),
        printable(each.by),
        printable(each.from),
        printable(each.reason ?? '-'),
      ]),
    );
  }
  output.data({ approvals });
  return EXIT.ok;
}

/** Throws `USAGE_INVALID` without Redis: a list in the memory of one process ends with that process. */
function withLists(config: Config): Config {
  if (config.redis !== undefined) return config;
  throw new RollcallError(
    'USAGE_INVALID',
    'What full syncs have missed is kept in Redis, and the configuration has no redis.url',
    {
      remedy:
        'Add redis.url, then run rollcall pull --full, which lists what is missing. Without Redis only a higher ' +
        'deletions.withholdAbove lets these deletions through.',
    },
  );
}

/** What waits for a decision in a tenant, with its log. */
interface WaitingTenant extends Waiting {
  readonly tenant: string;
  readonly known: KnownProgress | null;
}

const ATTEMPTS = 3;

/** Reads `progress` and Redis. Writes nothing, needs no owner. Throws `INDEX_…`, `KAFKA_…`. */
async function readWaitingLists(
  assembly: Assembly,
  { tenants, signal }: { tenants: readonly TenantConfig[]; signal: AbortSignal },
): Promise<readonly WaitingTenant[]> {
  for (let attempt = 1; ; attempt += 1) {
    const logs = await readLogs(assembly, tenants, signal);
    const waiting: WaitingTenant[] = [];
    for (const tenant of tenants) {
      const known = logs.get(tenant.id) ?? null;
      const names = syncedCollections(tenant).map(({ name }) => name);
      const progress = new Map(names.map((name) => [name, known?.progress.get(name) ?? null]));
      const { deletions } = assembly.store.tenant(tenant.id);
      waiting.push({ tenant: tenant.id, known, ...(await readWaiting(deletions, progress)) });
    }
    // A sync that ended between the reads of log and Redis looks like a lost list.
    const isLost = waiting.some(({ collections }) => collections.some((each) => each.isLost));
    if (!isLost || attempt === ATTEMPTS) return waiting;
  }
}

const FIRST_KEYS = 10;

type Groups = ReadonlyMap<CollectionName, readonly NamedGroups[]>;
type Listed = WaitingTenant['collections'][number];

/** Counts the list by school; without counts where the topics cannot be read. */
async function groupsOf(
  { output, signal }: Pick<VerbContext, 'output' | 'signal'>,
  assembly: Assembly,
  { tenant: tenantId, collections: lists }: WaitingTenant,
): Promise<Groups> {
  if (lists.length === 0) return new Map();
  return readWithheldGroups(assembly, { tenantId, lists, signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    output.note(`! ${tenantId}: counts by school are unknown: ${describeError(error)}`);
    return new Map();
  });
}

interface ShowOptions {
  readonly groups: Groups;
  readonly allKeys: boolean;
  /** Null: all collections. */
  readonly only: ReadonlySet<string> | null;
}

/** Prints what an approval would remove. */
function showWaiting(output: Output, waiting: WaitingTenant, options: ShowOptions): void {
  const { tenant, digest, rows, collections } = waiting;
  if (collections.length === 0) {
    output.line(`${output.colors.bold(tenant)}  no deletion is withheld`);
    return;
  }
  const shown = collections.filter(({ collection }) => options.only?.has(collection) ?? true);
  output.line(output.colors.bold(tenant));
  output.table(
    ['  collection', 'missing', 'of', 'since', 'why'],
    shown.map((each) => [
      `  ${each.collection}`,
      formatCount(each.count),
      publishedOf(waiting, each),
      formatAge(each.sinceMs, Date.now()),
      whyOf(each),
    ]),
  );
  for (const each of shown) showCollection(output, each, options);
  output.line();
  if (digest === null) return;
  output.line(`  One list of ${countOf(rows, 'row')}: ${digest}. If the hub has really lost them:`);
  output.line(`  ${output.colors.cyan('→')} rollcall deletes approve ${digest} --tenant ${tenant}`);
}

function showCollection(output: Output, each: Listed, { groups, allKeys }: ShowOptions): void {
  if (each.keys.length === 0) return;
  output.line();
  output.line(`  ${each.collection}:`);
  // A whole school shows at a glance.
  for (const { by, counts, others } of (groups.get(each.collection) ?? []).map(firstGroups)) {
    const shown = counts.map((group) => `${printable(group.name ?? group.id)} ${formatCount(group.rows)}`);
    const more = others.groups > 0 ? [`and ${formatCount(others.groups)} more`] : [];
    output.line(`    by ${by}: ${[...shown, ...more].join(' · ')}`);
  }
  const named = allKeys ? each.keys : each.keys.slice(0, FIRST_KEYS);
  for (const key of named) output.line(`    ${printable(key)}`);
  const left = each.keys.length - named.length;
  if (left > 0) output.line(`    and ${countOf(left, 'other')} (--keys names all)`);
  const unlisted = each.count - each.keys.length;
  if (unlisted > 0)
    output.line(`    and ${formatCount(unlisted)} more than a list can hold: the next list has them`);
}

function whyOf({ isLost, isHeld, why }: Listed): string {
  if (isLost) return 'the list was lost; the next complete full sync lists it again (rollcall pull --full)';
  return isHeld ? (why ?? 'too many at once') : 'waits because of the others';
}

/** Rows of the collection before anything of the list is removed, and the share of the missing ones. */
function publishedOf({ known }: WaitingTenant, { collection, count }: Listed): string {
  const rows = known?.progress.get(collection)?.lastCompleteFull?.rows;
  if (rows === undefined) return '-';
  const all = rows + count;
  return `${formatCount(all)} (${((count / all) * 100).toFixed(1)} %)`;
}

function waitingAsJson({ tenant, digest, rows, collections }: WaitingTenant, groups: Groups): object {
  return {
    tenant,
    digest,
    rows,
    collections: collections.map((each) => {
      const { sinceMs, ...list } = each;
      return { ...list, since: isoOrNull(sinceMs), groups: groups.get(each.collection) ?? [] };
    }),
  };
}
