import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import { pino } from 'pino';
import { syncedCollections, type Config, type TenantConfig } from '../config.ts';
import { describeError, RollcallError } from '../errors.ts';
import { exitCode } from './exit-code.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { assemble, type Assembly } from '../pipeline/assemble.ts';
import { chooseCollection, chooseTenants } from './choose.ts';
import { approveLists, decisionExit, discardLists, showDecisions } from './deletes/decide.ts';
import { readLists, type TenantLists } from './deletes/read-lists.ts';
import { readWithheldGroups } from '../pipeline/read-withheld-groups.ts';
import { showLists, type Groups } from './deletes/show-lists.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';

interface DeletesFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly keys?: boolean | undefined;
  readonly list?: string[] | undefined;
}

const EXIT_CODES = `
Exit codes: 0 nothing is withheld (any more); 1 it failed; 3 something needs a decision.`;

/** `rollcall deletes list|approve|discard`: deletions that need a decision. */
export function deletesCommand(): Command {
  const list = withScope(new Command('list'))
    .description('Shows which deletions need a decision, since when, and why. It writes nothing.')
    .option('--keys', 'name every key, not only the first ten')
    .addHelpText(
      'after',
      wrapped(`
Each list has a short digest: "deletes approve --list <digest>" approves exactly that list and no later one.
${EXIT_CODES}`),
    )
    .action(verbAction(listDeletes));
  const approve = withScope(new Command('approve'))
    .description(
      'Releases the lists as they are now: runs a full sync at once, and removes each listed row that it does not ' +
        'find, regardless of their number. Rows that are back stay; rows that are not listed are guarded as usual. ' +
        'If a process runs for the tenant, that process does the work; otherwise this command owns the tenant meanwhile.',
    )
    .option('--list <digest...>', 'only lists with these digests, unless they have changed since')
    .addHelpText(
      'after',
      wrapped(`${EXIT_CODES}

Examples:
  rollcall deletes approve --collection enrollments
  rollcall deletes approve --tenant north --list 3f9a0c51b2e7`),
    )
    .action(verbAction(approveDeletes));
  const discard = withScope(new Command('discard'))
    .description(
      'Forgets the lists: nothing is removed, and nothing is withheld any more. The next full sync judges by the ' +
        'numbers alone, and may list the same rows again.',
    )
    .addHelpText('after', wrapped(EXIT_CODES))
    .action(verbAction(discardDeletes));
  return new Command('deletes')
    .description('Deletions that the guard withholds because they are too many: a person decides.')
    .addCommand(list.summary('which deletions are withheld, since when, and why'))
    .addCommand(approve.summary('remove listed rows that the hub still does not have'))
    .addCommand(discard.summary('forget the list; nothing is removed'));
}

function withScope(command: Command): Command {
  return command
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections');
}

async function listDeletes(context: VerbContext, { options }: VerbInput<DeletesFlags>): Promise<number> {
  const config = withLists(context.loadConfig({ withoutHub: true }));
  const scope = scopeOf(config, options);
  await using assembly = quietAssembly(config);
  const lists = await readLists(assembly, { scope, signal: context.signal });
  const groups = new Map<string, Groups>();
  for (const { tenant: tenantId, collections } of lists) {
    const { signal } = context;
    const read = await readWithheldGroups(assembly, { tenantId, lists: collections, signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        context.output.note(
          `! ${tenantId}: counts by school, class and date are unknown: ${describeError(error)}`,
        );
        return new Map();
      },
    );
    groups.set(tenantId, read);
  }
  showLists(context.output, lists, { allKeys: options.keys ?? false, groups, nowMs: Date.now() });
  return exitCode({ needsPerson: waits(lists) });
}

function waits(lists: readonly TenantLists[]): boolean {
  return lists.some(({ collections }) => collections.some(({ count }) => count > 0));
}

async function approveDeletes(context: VerbContext, { options }: VerbInput<DeletesFlags>): Promise<number> {
  const config = withLists(context.loadConfig());
  const scope = scopeOf(config, options);
  await using assembly = quietAssembly(config);
  const progress = context.output.progress();
  const decisions = await approveLists(assembly, {
    scope,
    digests: options.list ?? null,
    progress,
    signal: context.signal,
  });
  progress.end();
  showDecisions(context.output, 'approve', decisions);
  return decisionExit(decisions);
}

async function discardDeletes(context: VerbContext, { options }: VerbInput<DeletesFlags>): Promise<number> {
  const config = withLists(context.loadConfig());
  const scope = scopeOf(config, options);
  await using assembly = quietAssembly(config);
  const progress = context.output.progress();
  const decisions = await discardLists(assembly, { scope, progress, signal: context.signal });
  progress.end();
  showDecisions(context.output, 'discard', decisions);
  return decisionExit(decisions);
}

/** Throws `USAGE_INVALID` without Redis: a list in the memory of one process ends with that process. */
function withLists(config: Config): Config {
  if (config.redis !== undefined) return config;
  throw new RollcallError(
    'USAGE_INVALID',
    'The lists of withheld deletions are kept in Redis, and the configuration has no redis.url',
    {
      remedy:
        'Add redis.url, then run rollcall pull --full, which lists what is withheld. Without Redis only a higher ' +
        'deletions.withholdAbove lets these deletions through.',
    },
  );
}

function quietAssembly(config: Config): Assembly {
  return assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
}

/** The chosen tenants, each with the source collections of the chosen collections. Throws `USAGE_INVALID`. */
function scopeOf(
  config: Config,
  { tenant, collection }: DeletesFlags,
): readonly { tenant: TenantConfig; collections: readonly CollectionName[] }[] {
  const named = collection === undefined ? null : new Set(collection.map(chooseCollection).map(sourceOf));
  const scope = chooseTenants(config, tenant).map((each) => ({
    tenant: each,
    collections: syncedCollections(each)
      .map(({ name }) => name)
      .filter((name) => named === null || named.has(name)),
  }));
  for (const name of named ?? []) {
    if (scope.some(({ collections }) => collections.includes(name))) continue;
    throw new RollcallError('USAGE_INVALID', `${name} is not mirrored`, {
      remedy: 'Enable it under tenants.collections, or name another collection.',
    });
  }
  return scope.filter(({ collections }) => collections.length > 0);
}
