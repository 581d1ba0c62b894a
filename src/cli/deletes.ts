import { hostname, userInfo } from 'node:os';
import { Command } from 'commander';
import type { Config, TenantConfig } from '../config.ts';
import { countOf, formatCount, isoOrNull, printable } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { sourceOf } from '../model/collections.ts';
import { APPROVE, type ApproveOutcome } from '../owner/deletes.ts';
import { asOwner } from './as-owner.ts';
import { chooseCollection, chooseTenant, chooseTenants, requireMirrored } from './choose.ts';
import { groupsOf, readWaitingLists, showWaiting, waitingAsJson } from './deletes/waiting.ts';
import { EXIT, exitCode } from './exit-code.ts';
import { wrapped } from './help-text.ts';
import type { Output } from './output.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';

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
      wrapped(`
Everything that waits in a tenant is one list with one short digest: "deletes approve <digest>" approves exactly that list
and no later one. Rows that come back leave it by themselves.
${EXIT_CODES}`),
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
    .addHelpText('after', wrapped(EXIT_CODES))
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
  const tenants = chooseTenants(config, options.tenant);
  const only = namedIn(tenants, options.collection);
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

/** The source collections of the named ones; null: all. Throws `USAGE_INVALID`. */
function namedIn(
  tenants: readonly TenantConfig[],
  names: readonly string[] | undefined,
): ReadonlySet<string> | null {
  if (names === undefined) return null;
  const sources = names.map(chooseCollection).map(sourceOf);
  requireMirrored(tenants, sources);
  return new Set(sources);
}
