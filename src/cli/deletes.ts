import { Command } from 'commander';
import type { Config, TenantConfig } from '../config.ts';
import { whyHold, type GuardLimits } from '../core/deletions/guard.ts';
import { needsReason, partsOf, type Part, type PartRows } from '../core/deletions/parts.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable, outOf } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import type { KnownProgress } from '../log/progress-reader.ts';
import type { DecisionRecord } from '../model/progress.ts';
import { APPROVE, approvalRefused, requestFor, type ApproveOutcome } from '../owner/approve.ts';
import { readSchools, type KnownSchools } from '../owner/schools-on-hold.ts';
import { assemble, type Assembly } from '../session/assemble.ts';
import type { Waiting } from '../sync/read-waiting.ts';
import { asOwner, personHere } from './as-owner.ts';
import { chooseTenant, chooseTenants, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { noteFailures } from './outcomes.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { readTenantProgress, waitingOf } from './verb-parts.ts';

const EXIT_CODES = `
Exit codes: 0 no row is on hold; 1 it failed; 3 something needs a decision.`;

const APPROVE_EXIT_CODES = `
Exit codes: 0 the parts are approved, and no row is on hold any more; 1 it failed; 3 a part is not on the list, so nothing was
removed, or something still needs a decision.`;

/** `rollcall deletes list|approve|history`: deletions that need a decision. */
export function command(): Command {
  const list = new Command('list')
    .description('Shows the deletions that wait for a decision, since when, and why. Changes nothing.')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText('after', PARTS)
    .action(verbAction(listDeletes));
  const approval = new Command('approve')
    .description(
      'Runs a full sync at once, and removes those rows of the named parts that this sync does not find.',
    )
    .argument(
      '<digest...>',
      'digests of parts that "deletes list" has shown; no row of another part is removed',
    )
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option(
      '--reason <text>',
      'the reason, for "deletes history"; needed if the parts are 90 % or more of a collection',
    )
    .addHelpText('after', APPROVE_EXIT_CODES)
    .action(verbAction(approve));
  const history = new Command('history')
    .description('Shows earlier holds and decisions: when, why, by whom and from which machine.')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText('after', HISTORY)
    .action(verbAction(showHistory));
  return new Command('deletes')
    .description(
      'Shows deletions that are on hold because too many rows are missing, and carries out what a person decides about them.',
    )
    .addCommand(list.summary('what waits for a decision, since when, and why'))
    .addCommand(approval.summary('remove listed rows that the hub still does not have'))
    .addCommand(history.summary('what was decided, by whom, and why'));
}

const PARTS = `
The list has parts, and a person approves each part as a whole. A part belongs to one school or to one collection. A school gets
a part if half or more of its rows in some collection are missing. This part has the missing rows of the school in each such
collection. At most ten schools get a part: those with the most missing rows. The part of a collection has all other missing rows
of this collection. Rows of results, categories, schedules and other collections that name no school are in the part of their
collection.

  part        its digest, by which "deletes approve" names it
  school      the school of the part; "several or none": the part has the other missing rows of its collection
  rows        missing rows, and how many rows of this school, or of this collection, are published
  why         why these rows are on hold now; numbers with "today" or "still missing" are those of the last full sync

Rows that come back leave the list by themselves. Whenever a part changes, it gets another digest.
${EXIT_CODES}`;

const HISTORY = `
"hold": a hold began, and removals needed a decision; "healed": the hold ended by itself, because all rows that were missing
when it began were back; "approved": a person approved removals; "accepted": a person accepted rows that do not match the published
ones ("pull --accept-new"). The topic "progress" keeps these records for good.`;

/** What waits for a decision in a tenant, as `--json` gives it. */
interface Parted extends Waiting {
  readonly parts: readonly Described[];
}
type Described = ReturnType<typeof described>;

/** Reads whole topics if rows are on hold. */
async function readParts(
  assembly: Assembly,
  tenant: TenantConfig,
  options: { known: KnownProgress | null | undefined; signal: AbortSignal },
): Promise<Parted> {
  const { known, signal } = options;
  const waiting = await waitingOf(assembly, tenant, known);
  if (waiting.rows === 0) return { ...waiting, parts: [] };
  const collections = waiting.collections.map(({ collection }) => collection);
  const found = await readSchools(assembly, { tenantId: tenant.id, collections, signal });
  const whyOfRows = (rows: PartRows) => whyOf(rows, waiting, assembly.config.deletions.holdAbove);
  const parts = partsOf(waiting.collections, found.schools);
  return { ...waiting, parts: parts.map((part) => described(part, found.names, whyOfRows)) };
}

function described(part: Part, names: KnownSchools['names'], whyOfRows: (rows: PartRows) => string) {
  const { digest, rows, school: id } = part;
  return {
    digest,
    rows,
    needsReason: needsReason(part),
    school: id === null ? null : { id, name: names.get(id) ?? null },
    collections: part.collections.map((each) => ({
      collection: each.collection,
      rows: each.keys.length,
      known: each.known,
      since: isoOrNull(each.sinceMs),
      why: whyOfRows(each),
      keys: each.keys,
    })),
  };
}

/**
 * Why these rows of a collection are on hold now: what the guard says of them alone, or of all missing rows of the
 * collection.
 */
function whyOf(
  { collection, keys, knownOfAll: known }: PartRows,
  waiting: Waiting,
  limits: GuardLimits,
): string {
  const listed = waiting.collections.find((each) => each.collection === collection);
  if (listed?.isOnHold !== true) return 'waits because other collections are on hold';
  // The guard judges the rows that are listed now. The last full sync may have counted others.
  const alone = whyHold({ missing: keys.length, removedToday: 0, known }, limits);
  if (alone !== null) return alone;
  if (keys.length === listed.count) return listed.why ?? 'too many at once';
  return `waits because ${collection} is on hold`;
}

async function listDeletes({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<number> {
  const config = withLists(loadConfig({ without: 'hub' }));
  const tenants = chooseTenants(config, flags.tenant);
  await using assembly = assemble(config);
  const logs = await readTenantProgress(assembly, tenants, signal);
  const all: object[] = [];
  let waits = false;
  for (const tenant of tenants) {
    const parted = await readParts(assembly, tenant, { known: logs.get(tenant.id), signal });
    output.line(output.colors.bold(tenant.id));
    const isWaiting = parted.collections.some(({ count }) => count > 0);
    if (isWaiting) show(output, tenant.id, parted);
    else output.line('  no row is on hold');
    waits ||= isWaiting;
    const { rows, parts } = parted;
    all.push({ tenant: tenant.id, rows, parts, incomplete: incompleteOf(parted) });
  }
  output.data({ waits, tenants: all });
  return exitCode({ needsPerson: waits });
}

/** Collections on hold without a list, or with more missing rows than a list can hold. */
function incompleteOf({ collections }: Waiting) {
  return collections.flatMap(({ collection, keys, count, isLost }) =>
    isLost || count > keys.length ? [{ collection, count, isLost }] : [],
  );
}

/** About how many ids of a part a person sees, to look them up at the hub. */
const SHOWN_OF_PART = 10;
/** The least number of ids of each collection, however many collections the part has. */
const SHOWN_OF_COLLECTION = 2;
/** What a command that approves nearly all of a collection also needs. */
const REASON = ' --reason "<text>"';

/** Prints what each approval would remove, what to do, and last, because they are many, ids of the missing rows. */
function show(output: Output, tenantId: string, parted: Parted): void {
  const { parts } = parted;
  if (parts.length > 0) showParts(output, parts);
  for (const { collection, count, isLost } of incompleteOf(parted))
    output.line(
      isLost
        ? `\n  ${collection}: the list of its missing rows was lost; the next complete full sync lists them again: rollcall pull --full --tenant ${tenantId}`
        : `\n  ${collection}: ${countOf(count, 'row')} missing, more than a list can hold. Only the rows in the table above can be approved`,
    );
  showWhatToDo(output, tenantId, parted);
  for (const { digest, rows, collections } of parts) {
    output.line(`\n  Missing rows of part ${digest}:`);
    const most = Math.max(SHOWN_OF_COLLECTION, Math.floor(SHOWN_OF_PART / collections.length));
    const shown = collections.flatMap(({ collection, keys }) =>
      keys.slice(0, most).map((key) => `    ${collection}: ${printable(key)}`),
    );
    for (const line of shown) output.line(line);
    if (rows > shown.length)
      output.line(`    and ${countOf(rows - shown.length, 'other')} (--json lists all of them)`);
  }
}

function showParts(output: Output, parts: readonly Described[]): void {
  const hasSchools = parts.some(({ school }) => school !== null);
  const nameOf = ({ school }: Described): string =>
    school === null ? 'several or none' : printable(school.name ?? school.id);
  output.table(
    ['  part', ...(hasSchools ? ['school'] : []), 'collection', 'rows', 'since', 'why'],
    parts.flatMap((part) =>
      part.collections.map((each, at) => [
        `  ${at === 0 ? part.digest : ''}`,
        ...(hasSchools ? [nameOf(part)] : []),
        each.collection,
        outOf(each.rows, each.known),
        formatAge(each.since, Date.now()),
        each.why,
      ]),
    ),
  );
}

function showWhatToDo(output: Output, tenantId: string, parted: Parted): void {
  const arrow = output.colors.cyan('→');
  const refusal = approvalRefused(tenantId, parted);
  if (refusal !== null) output.line(`\n  ${refusal.message} (${refusal.code})\n  ${arrow} ${refusal.remedy}`);
  if (refusal !== null || parted.parts.length === 0) return;
  output.line('\n  Are the rows of a part really gone? Approve this part:');
  for (const { digest, needsReason } of parted.parts)
    output.line(
      `  ${arrow} rollcall deletes approve ${digest} --tenant ${tenantId}${needsReason ? REASON : ''}`,
    );
  // Together the parts may be nearly all of a collection, although none of them is.
  if (parted.parts.length > 1)
    output.line(
      `  One command can approve several parts: rollcall deletes approve <digest> <digest> … --tenant ${tenantId}${REASON}`,
    );
  output.line(
    '  If they are not gone, correct the cause at the hub, and wait: the next complete full sync that finds them ends the hold by itself.',
  );
}

async function approve(verb: Verb<Scope & { readonly reason?: string }>): Promise<number> {
  const { output, signal, flags } = verb;
  const config = withLists(verb.loadConfig());
  const tenant = chooseTenant(config, flags.tenant);
  const person = personHere(flags.reason);
  const digests = [...new Set(verb.args)];
  await using assembly = assemble(config);
  const known = (await readTenantProgress(assembly, [tenant], signal)).get(tenant.id);
  const parted = await readParts(assembly, tenant, { known, signal });
  const refusal = approvalRefused(tenant.id, parted);
  if (refusal !== null) throw refusal;
  const parts = parted.parts.filter(({ digest }) => digests.includes(digest)).map(requestFor);
  const request = { tenantId: tenant.id, request: APPROVE, parameters: { parts, person }, output, signal };
  const outcome: ApproveOutcome =
    parts.length < digests.length
      ? { isSame: false, collections: [], waiting: parted.rows }
      : await asOwner(assembly, request);
  const { isSame, collections, waiting } = outcome;
  output.data({ digests, isSame, collections, waiting });
  const isOne = digests.length === 1;
  if (isSame) showApproved(output, outcome);
  else
    output.note(
      `✗ nothing was removed: ${isOne ? 'this part is' : 'at least one of these parts is'} not on the list: ${digests.map(printable).join(' ')}\n→ See whether ${isOne ? 'it has' : 'they have'} changed: rollcall deletes list --tenant ${tenant.id}\n→ See whether ${isOne ? 'it was' : 'they were'} approved: rollcall deletes history --tenant ${tenant.id}`,
    );
  if (isSame && waiting > 0)
    output.note(
      `! ${countOf(waiting, 'row still needs', 'rows still need')} a decision\n→ rollcall deletes list --tenant ${tenant.id}`,
    );
  const hasFailed = collections.some((each) => each.outcome !== 'done');
  return exitCode({ hasFailed, needsPerson: waiting > 0 || !isSame });
}

function showApproved(output: Output, { collections }: ApproveOutcome): void {
  output.table(
    ['  collection', 'outcome', 'listed', 'removed', 'came back'],
    collections.map((each) => [
      `  ${each.collection}`,
      each.outcome === 'done' ? 'removed' : each.outcome,
      ...[each.listed, each.removed, each.back].map(formatCount),
    ]),
  );
  noteFailures(output, collections);
}

async function showHistory({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<void> {
  const config = loadConfig({ without: 'hub' });
  await using assembly = assemble(config);
  const logs = await readTenantProgress(assembly, chooseTenants(config, flags.tenant), signal);
  const all = [...logs].flatMap(([tenant, known]) =>
    (known?.decisions ?? []).map((decision) => ({ tenant, decision })),
  );
  output.table(
    ['tenant', 'at', 'collection', 'kind', 'what happened', 'by', 'digest', 'why'],
    all.map(({ tenant, decision }) => {
      const { atMs, collection, kind, by, from, digest = '', reason, why } = decision;
      const who = by === undefined ? 'Rollcall' : `${by} on ${from}`;
      const cells = [tenant, isoOrNull(atMs) ?? '', collection, kind, whatHappened(decision), who, digest];
      return [...cells, reason ?? why ?? ''].map(printable);
    }),
  );
  const decisions = all.map(({ tenant, decision: { atMs, ...decision } }) =>
    Object.assign({ tenant, at: isoOrNull(atMs) }, decision),
  );
  output.data({ decisions });
}

function whatHappened({ kind, rows = 0, removed = 0 }: DecisionRecord): string {
  if (kind === 'accepted') return 'the new rows of the hub were accepted';
  if (kind === 'approved') return `${outOf(removed, rows)} approved rows were removed`;
  if (kind === 'hold') return `${countOf(rows, 'missing row was', 'missing rows were')} put on hold`;
  return 'the rows that were still missing came back';
}

/** Throws `USAGE_INVALID` without Redis: a list in the memory of one process ends with that process. */
function withLists(config: Config): Config {
  if (config.redis !== undefined) return config;
  const what = 'The list of missing rows is kept in Redis, and the configuration has no redis.url';
  const remedy =
    'A hold ends by itself when a full sync finds all rows. If the rows are really gone, add redis.url, and restart the process. Then run "rollcall pull --full"; after that, "rollcall deletes list" shows what is missing.';
  throw new RollcallError('USAGE_INVALID', what, { remedy });
}
