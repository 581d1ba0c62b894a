import { Command } from 'commander';
import { pino } from 'pino';
import type { Config, TenantConfig } from '../config.ts';
import { formatCount, isoOrNull, printable } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { sourceOf } from '../model/collections.ts';
import { assemble, type Assembly } from '../session/assemble.ts';
import { chooseCollection, chooseTenants, requireMirrored } from './choose.ts';
import { approve, type ApproveFlags } from './deletes/approve.ts';
import { readWaitingLists } from './deletes/read-waiting-lists.ts';
import { groupsOf, showWaiting, waitingAsJson } from './deletes/show-waiting.ts';
import { EXIT, exitCode } from './exit-code.ts';
import { wrapped } from './help-text.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';

interface DeletesFlags extends ApproveFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly keys?: boolean | undefined;
}

const EXIT_CODES = `
Exit codes: 0 nothing is withheld (any more); 1 it failed; 3 something needs a decision.`;

/** `rollcall deletes list|approve|history`: deletions that need a decision. */
export function deletesCommand(): Command {
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
      'Removes what is listed and still missing: runs a full sync of the collections concerned at once. It first shows ' +
        'what it would remove, and asks; without a terminal it needs the digest or --yes. If a process runs for the ' +
        'tenant, that process does the work; otherwise this command owns the tenant meanwhile.',
    )
    .argument('[digest]', 'of the list that "deletes list" has shown; no other list is approved')
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option('--reason <text>', 'why; kept in the log line and in progress')
    .option('--yes', 'without asking, whatever is listed')
    .addHelpText(
      'after',
      wrapped(`${EXIT_CODES}

Examples:
  rollcall deletes approve --tenant north
  rollcall deletes approve 3f9a0c51b2e7 --tenant north --reason "the school has closed"`),
    )
    .action(verbAction(approveDeletes));
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
    showWaiting(output, each, { groups, keys: options.keys === true ? 'all' : 'first', only });
    shown.push(waitingAsJson(each, groups));
  }
  const waits = waiting.some(({ collections }) => collections.length > 0);
  output.data({ waits, tenants: shown });
  return exitCode({ needsPerson: waits });
}

async function approveDeletes(
  context: VerbContext,
  { args, options }: VerbInput<DeletesFlags>,
): Promise<number> {
  const config = withLists(context.loadConfig());
  const [tenant, another] = chooseTenants(config, options.tenant);
  if (tenant === undefined || another !== undefined) {
    throw new RollcallError('USAGE_INVALID', 'Several tenants are configured, each with a list of its own', {
      remedy: 'Name one with --tenant.',
    });
  }
  await using assembly = quietAssembly(config);
  return await approve(context, assembly, { tenant, digest: args[0], flags: options });
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
      [
        ...['tenant', 'when', 'list', 'collection'].map((title) => ({ title })),
        ...['listed', 'removed'].map((title) => ({ title, align: 'right' as const })),
        ...['by', 'from', 'reason'].map((title) => ({ title })),
      ],
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

function quietAssembly(config: Config): Assembly {
  return assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
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
