import { hostname, userInfo } from 'node:os';
import { Command } from 'commander';
import { syncedCollections, type Config } from '../config.ts';
import { firstGroups, type NamedGroups } from '../core/withheld-groups.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import { APPROVE, type ApproveOutcome } from '../owner/deletes.ts';
import { readWithheldGroups } from '../owner/read-withheld-groups.ts';
import { readWaiting, type Waiting } from '../sync/read-waiting.ts';
import { asOwner } from './as-owner.ts';
import { choose, chooseTenant, chooseTenants } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly, readLogs } from './with-assembly.ts';

interface DeletesFlags {
  readonly reason?: string | undefined;
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
}

const EXIT_CODES = `
Exit codes: 0 nothing is withheld (any more); 1 it failed; 3 something needs a decision.`;

/** `rollcall deletes list|approve|history`: deletions that need a decision. */
export function command(): Command {
  const list = new Command('list')
    .description('Shows what waits for a decision in each tenant, since when, and why. It writes nothing.')
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'show only these collections')
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
  const logs = await readLogs(assembly, tenants, signal);
  const shown: object[] = [];
  let waits = false;
  for (const tenant of tenants) {
    const known = logs.get(tenant.id) ?? null;
    const names = syncedCollections(tenant).map(({ name }) => name);
    const progress = new Map(names.map((name) => [name, known?.progress.get(name) ?? null]));
    const waiting = await readWaiting(assembly.store.tenant(tenant.id).deletions, progress);
    const options = { tenantId: tenant.id, lists: waiting.collections, signal };
    const groups: Groups =
      waiting.collections.length === 0 ? new Map() : await readWithheldGroups(assembly, options);
    showWaiting(output, tenant.id, { waiting, progress, groups, only });
    shown.push(waitingAsJson(tenant.id, waiting, groups));
    waits ||= waiting.collections.length > 0;
  }
  output.data({ waits, tenants: shown });
  return exitCode({ needsPerson: waits });
}

async function approve(context: VerbContext, { args, options }: VerbInput<DeletesFlags>): Promise<number> {
  const { output, signal } = context;
  const config = withLists(context.loadConfig());
  const tenant = chooseTenant(config, options.tenant);
  const [digest = ''] = args;
  await using assembly = quietAssembly(config);
  const outcome = await asOwner(assembly, {
    tenantId: tenant.id,
    request: APPROVE,
    parameters: { digest, by: userName(), from: hostname(), reason: options.reason ?? null },
    output,
    signal,
  });
  output.data({ digest, ...outcome });
  const { isSame, rows, collections, waiting } = outcome;
  if (isSame) showApproved(output, outcome);
  else if (waiting === 0) output.line('no deletion is withheld');
  else
    output.note(
      `✗ ${digest} is not the list any more: ${countOf(rows, 'row')} now; nothing was removed\n→ Look again: rollcall deletes list`,
    );
  return exitCode({
    hasFailed: collections.some((each) => each.outcome !== 'done'),
    needsPerson: waiting > 0,
  });
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

async function showHistory(context: VerbContext, { options }: VerbInput<DeletesFlags>): Promise<void> {
  const { output, signal } = context;
  const config = context.loadConfig({ withoutHub: true });
  await using assembly = quietAssembly(config);
  const logs = await readLogs(assembly, chooseTenants(config, options.tenant), signal);
  const approvals = [...logs].flatMap(([tenant, known]) =>
    (known?.approvals ?? []).map(({ collection, approval }) =>
      Object.assign({ tenant, collection }, approval),
    ),
  );
  if (approvals.length === 0) output.line('no approval is known');
  else {
    output.table(
      ['tenant', 'when', 'list', 'collection', 'listed', 'removed', 'by', 'from', 'reason'],
      approvals.map(({ tenant, atMs, digest, collection, listed, removed, by, from, reason }) =>
        [
          tenant,
          isoOrNull(atMs) ?? '-',
          digest,
          collection,
          formatCount(listed),
          formatCount(removed),
          by,
          from,
          reason ?? '-',
        ].map(printable),
      ),
    );
  }
  output.data({ approvals });
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

const FIRST_KEYS = 10;

type Groups = ReadonlyMap<CollectionName, readonly NamedGroups[]>;
type Listed = Waiting['collections'][number];

/** Prints what an approval would remove. `only`: these collections; null: all. */
function showWaiting(
  output: Output,
  tenant: string,
  options: {
    readonly waiting: Waiting;
    readonly progress: ReadonlyMap<CollectionName, Progress | null>;
    readonly groups: Groups;
    readonly only: ReadonlySet<string> | null;
  },
): void {
  const { waiting, progress, groups, only } = options;
  const { bold, cyan } = output.colors;
  if (waiting.collections.length === 0) {
    output.line(`${bold(tenant)}  no deletion is withheld`);
    return;
  }
  const shown = waiting.collections.filter(({ collection }) => only?.has(collection) ?? true);
  output.line(bold(tenant));
  output.table(
    ['  collection', 'missing', 'of', 'since', 'why'],
    shown.map((each) => {
      const left = progress.get(each.collection)?.lastCompleteFull?.rows;
      const of = left === undefined ? '-' : formatCount(left + each.count);
      const since = formatAge(each.sinceMs, Date.now());
      return [`  ${each.collection}`, formatCount(each.count), of, since, whyOf(each)];
    }),
  );
  for (const { collection, keys, count } of shown) {
    if (keys.length === 0) continue;
    output.line(`\n  ${collection}:`);
    // A whole school shows at a glance.
    for (const { by, counts, others } of (groups.get(collection) ?? []).map(firstGroups)) {
      const named = counts.map((group) => `${printable(group.name ?? group.id)} ${formatCount(group.rows)}`);
      const more = others.groups > 0 ? [`and ${formatCount(others.groups)} more`] : [];
      output.line(`    by ${by}: ${[...named, ...more].join(' · ')}`);
    }
    for (const key of keys.slice(0, FIRST_KEYS)) output.line(`    ${printable(key)}`);
    if (count > FIRST_KEYS)
      output.line(`    and ${countOf(count - FIRST_KEYS, 'other')} (--json names all of the list)`);
  }
  if (waiting.digest === null) return;
  const { digest, rows } = waiting;
  output.line(`\n  One list of ${countOf(rows, 'row')}: ${digest}. If the hub has really lost them:`);
  output.line(`  ${cyan('→')} rollcall deletes approve ${digest} --tenant ${tenant}`);
}

function whyOf({ isLost, isHeld, why }: Listed): string {
  if (isLost) return 'the list was lost; the next complete full sync lists it again (rollcall pull --full)';
  return isHeld ? (why ?? 'too many at once') : 'waits because of the others';
}

function waitingAsJson(tenant: string, { digest, rows, collections }: Waiting, groups: Groups): object {
  return {
    tenant,
    digest,
    rows,
    collections: collections.map(({ sinceMs, ...list }) =>
      Object.assign(list, { since: isoOrNull(sinceMs), groups: groups.get(list.collection) ?? [] }),
    ),
  };
}
