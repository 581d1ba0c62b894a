import { Command } from 'commander';
import { syncedCollections, type Config } from '../config.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { sourceOf } from '../model/collections.ts';
import { APPROVE, approvalRefused, type ApproveOutcome } from '../owner/deletes.ts';
import { readSchoolsOnHold, type SchoolCount } from '../owner/schools-on-hold.ts';
import { readWaiting, type Waiting } from '../sync/read-waiting.ts';
import { asOwner, personHere } from './as-owner.ts';
import { choose, chooseTenant, chooseTenants, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { noteFailures } from './outcomes.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { quietAssembly, readLogs } from './with-assembly.ts';

const EXIT_CODES = `
Exit codes: 0 no row is on hold (any more); 1 it failed; 3 something needs a decision.`;

/** `rollcall deletes list|approve|history`: deletions that need a decision. */
export function command(): Command {
  const list = new Command('list')
    .description('Shows the deletions that wait for a decision, since when, and why. Changes nothing.')
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'show only these collections')
    .addHelpText('after', `\nRows that come back leave the list by themselves.\n${EXIT_CODES}`)
    .action(verbAction(listDeletes));
  const approval = new Command('approve')
    .description('Runs a full sync at once, and removes the listed rows that it does not find either.')
    .argument('<digest>', 'identifies the list that "deletes list" has shown; only this list is approved')
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option('--reason <text>', 'the reason, for "deletes history"')
    .addHelpText('after', EXIT_CODES)
    .action(verbAction(approve));
  const history = new Command('history')
    .description('Shows earlier holds and decisions: when, why, by whom and from which machine.')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText('after', HISTORY)
    .action(verbAction(showHistory));
  return new Command('deletes')
    .description('Deletions that wait for a decision, because too many rows are missing.')
    .addCommand(list.summary('what waits for a decision, since when, and why'))
    .addCommand(approval.summary('remove listed rows that the hub still does not have'))
    .addCommand(history.summary('what was decided, by whom, and why'));
}

const HISTORY = `
The kinds: "hold": removals need a decision from then on; "healed": all rows that were missing then are back; "approved":
removals; "accepted": rows unlike the published ones, by "pull --accept-new"; "reset": absences, by "state rebuild --reset".
The topic progress keeps these decisions for good.`;

type Listed = Waiting['collections'][number] & { readonly schools: readonly SchoolCount[] };

async function listDeletes({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<number> {
  const config = withLists(loadConfig({ withoutHub: true }));
  const { tenants, collections } = choose(config, flags);
  const only = new Set<string>(collections.map(sourceOf));
  await using assembly = quietAssembly(config);
  const logs = await readLogs(assembly, tenants, signal);
  const shown: object[] = [];
  let waits = false;
  for (const tenant of tenants) {
    const tenantId = tenant.id;
    const known = logs.get(tenantId)?.progress;
    const names = syncedCollections(tenant).map(({ name }) => name);
    const progress = new Map(names.map((name) => [name, known?.get(name) ?? null]));
    const waiting = await readWaiting(assembly.store.tenant(tenantId).deletions, progress);
    const listed: Listed[] = [];
    for (const list of waiting.collections) {
      const schools = await readSchoolsOnHold(assembly, { tenantId, list, signal });
      listed.push({ ...list, schools });
    }
    output.line(output.colors.bold(tenantId));
    if (listed.length === 0) output.line('  no row is on hold');
    else
      show(
        output,
        listed.filter(({ collection }) => only.size === 0 || only.has(collection)),
      );
    const { digest, rows } = waiting;
    const refusal = approvalRefused(tenantId, waiting);
    if (refusal !== null) output.line(`\n  ${refusal.message} (${refusal.code})\n  → ${refusal.remedy}`);
    else if (digest !== null) {
      output.line(`\n  One list of ${countOf(rows, 'row')}: ${digest}. If the hub has really lost them:`);
      output.line(`  ${output.colors.cyan('→')} rollcall deletes approve ${digest} --tenant ${tenantId}`);
    }
    waits ||= listed.length > 0;
    const asJson = listed.map(({ sinceMs, ...list }) => Object.assign(list, { since: isoOrNull(sinceMs) }));
    shown.push({ tenant: tenantId, digest, rows, collections: asJson });
  }
  output.data({ waits, tenants: shown });
  return exitCode({ needsPerson: waits });
}

const MOST_SHOWN = 10;

/** Prints what an approval would remove. */
function show(output: Output, listed: readonly Listed[]): void {
  output.table(
    ['  collection', 'missing', 'since', 'why'],
    listed.map((each) => [
      `  ${each.collection}`,
      formatCount(each.count),
      formatAge(each.sinceMs, Date.now()),
      whyOf(each),
    ]),
  );
  for (const { collection, keys, count, schools } of listed) {
    output.line(`\n  ${collection}:`);
    // A whole school shows at a glance.
    const named = schools.map(({ id, name, rows }) => `${printable(name ?? id)} ${formatCount(rows)}`);
    const more = named.length > MOST_SHOWN ? ` and ${named.length - MOST_SHOWN} more` : '';
    if (named.length > 0) output.line(`    by school: ${named.slice(0, MOST_SHOWN).join(' · ')}${more}`);
    for (const key of keys.slice(0, MOST_SHOWN)) output.line(`    ${printable(key)}`);
    if (count > MOST_SHOWN)
      output.line(`    and ${countOf(count - MOST_SHOWN, 'other')} (--json names all of the list)`);
  }
}

function whyOf({ isLost, isOnHold, why }: Listed): string {
  if (isLost) return 'the list was lost; the next complete full sync lists it again (rollcall pull --full)';
  return isOnHold ? (why ?? 'too many at once') : 'waits because of the others';
}

async function approve(verb: Verb<Scope & { readonly reason?: string }>): Promise<number> {
  const { output, signal, args, flags } = verb;
  const config = withLists(verb.loadConfig());
  const tenant = chooseTenant(config, flags.tenant);
  const [digest = ''] = args;
  await using assembly = quietAssembly(config);
  const outcome = await asOwner(assembly, {
    tenantId: tenant.id,
    request: APPROVE,
    parameters: { digest, person: personHere(flags.reason) },
    output,
    signal,
  });
  output.data({ digest, ...outcome });
  const { isSame, rows, collections, waiting } = outcome;
  if (isSame) showApproved(output, outcome);
  else if (waiting === 0) output.line('no row is on hold');
  else
    output.note(
      `✗ ${digest} is not the list any more: ${countOf(rows, 'row')} now; nothing was removed\n→ Look again: rollcall deletes list`,
    );
  return exitCode({
    hasFailed: collections.some((each) => each.outcome !== 'done'),
    needsPerson: waiting > 0,
  });
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
  noteFailures(output, collections);
  if (waiting > 0) output.note(`! ${countOf(waiting, 'row')} need another decision\n→ rollcall deletes list`);
}

async function showHistory({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<void> {
  const config = loadConfig({ withoutHub: true });
  await using assembly = quietAssembly(config);
  const logs = await readLogs(assembly, chooseTenants(config, flags.tenant), signal);
  const decisions = [...logs].flatMap(([tenant, known]) =>
    (known?.decisions ?? []).map(({ atMs, ...decision }) =>
      Object.assign({ tenant, at: isoOrNull(atMs) }, decision),
    ),
  );
  const titles = ['tenant', 'at', 'collection', 'kind', 'rows', 'removed', 'by', 'from', 'digest'] as const;
  output.table(
    [...titles, 'why'],
    decisions.map((each) =>
      [...titles.map((title) => each[title]), each.reason ?? each.why].map((cell) =>
        printable(String(cell ?? '-')),
      ),
    ),
  );
  output.data({ decisions });
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
        'deletions.holdAbove lets these deletions through.',
    },
  );
}
