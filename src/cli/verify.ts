import { Command } from 'commander';
import { auditTenant, type Finding } from '../audit/audit-tenant.ts';
import { enabledCollections } from '../config.ts';
import { removalsWait } from '../core/deletions/evidence.ts';
import { countOf, formatCount, printable } from '../core/words.ts';
import { topicReader } from '../log/read-only-log.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { compositeKey } from '../model/keys.ts';
import type { PullOutcome } from '../owner/pull.ts';
import { MAX_CORRUPT_KEYS, REPAIR } from '../owner/repair.ts';
import { planTenant, type CollectionPlan } from '../plan/plan-tenant.ts';
import { assemble, type Assembly } from '../session/assemble.ts';
import { asOwner } from './as-owner.ts';
import { choose, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { noteFailures, showOutcomes, showSyncs } from './outcomes.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall verify`: an audit of the topics, and the plan of a full sync. Without `--repair` it publishes nothing. */
export function command(): Command {
  return new Command('verify')
    .description(
      'Reads every record of the topics, compares every key with the index and with the hub, and reports each difference. Without "--repair" it publishes nothing.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--repair', 'correct what is wrong in the topics: rebuild the index, then run a full sync')
    .option('--ids', 'print the keys of the first differences, too')
    .addHelpText('after', HELP)
    .action(verbAction(verify));
}

const HELP = `
Kinds of differences, between the topic and the index or the hub:
  missing, left-over, different     the topic lacks the key, has a key that should not be there, or has other content
  undecodable                       the record cannot be decoded, or does not match its content-hash
  gap, two-students                 a step of an absence is missing or duplicated; an absence mixes two students
  reject-missing, reject-left-over  the topic "rejects" lacks a row that cannot be read, or has a row that should not be there

A collection is "equal" if nothing differs, and "pending" if later syncs settle all that differs, which is no fault. "next sync"
means that the next sync settles the difference, and "next full" that the next full sync does. "missing for the first time" means
that the next full sync only notes that the hub lacks the key. The second full sync in a row that does not find it removes it. (It
is the third one if the hub is paged by offset and its totals do not confirm that all rows came.)
A collection "differs" if something in its topic or index is wrong, and is "on hold" if removals need a decision. It is "unproven"
if it has had no complete full sync yet, or if the hub's list was incomplete or has rows without a readable sourcedId. It is
"failed" if the hub did not answer, or refused.
Keys are printed only with --ids or --json, because they may identify people.

--repair first says how many keys are wrong. Then it rebuilds the index of their collections, and runs a full sync of these
collections. For each wrong key, the full sync publishes the row that the hub has. It also publishes what has changed at the
hub. --repair then says how many records it has published, and verifies again. It never publishes a step of an absence twice,
so a gap stays. A key of the topic "absences" that belongs to no absence stays, too: "rollcall topics recreate absences"
removes it. Too many removals at once still need a decision.

Exit codes: 0 equal or pending; 1 something is wrong, or could not be compared; 3 the only differences
are removals that need a decision.

Example:
  rollcall verify --json | jq -c '.tenants[].collections[].differences[]'`;

/** What settles a difference, in words; `wrong`: no sync does; `on-hold`: a removal that needs a decision. */
const STATES = {
  wrong: 'wrong',
  'next-sync': 'next sync',
  'next-full': 'next full',
  'first-miss': 'missing for the first time',
  'on-hold': 'on hold',
} as const;

interface Difference extends Finding {
  readonly state: keyof typeof STATES;
}

/** The result for a collection; `--json` prints it. */
interface CollectionReport {
  readonly collection: CollectionName;
  readonly outcome: 'compared' | 'unproven' | 'failed' | 'not-offered';
  /** Why the comparison is missing or incomplete; null when it is complete. */
  readonly why: string | null;
  readonly remedy: string | null;
  /** Why the next full sync would put rows on hold; null when it would not. */
  readonly whyOnHold: string | null;
  /** Null for a derived collection, and for one that could not be planned. */
  readonly hubRows: number | null;
  readonly topicKeys: number;
  /** Keys that changed too often to be compared with the index. */
  readonly skipped: number;
  readonly differences: readonly Difference[];
}

interface VerifyOptions {
  readonly tenantId: string;
  readonly collections: readonly CollectionName[];
  readonly output: Output;
  readonly signal: AbortSignal;
}

async function verify(
  verb: Verb<Scope & { readonly repair?: boolean; readonly ids?: boolean }>,
): Promise<number> {
  const { output, signal, flags } = verb;
  const config = verb.loadConfig();
  const { tenants, collections: asked } = choose(config, flags);
  await using assembly = assemble(config);
  const results: object[] = [];
  const last: CollectionReport[] = [];
  for (const [at, tenant] of tenants.entries()) {
    if (tenants.length > 1) output.note(`${tenant.id}: ${at + 1} of ${countOf(tenants.length, 'tenant')}`);
    const names = enabledCollections(tenant).map(({ name }) => name);
    const collections = names.filter((name) => asked.length === 0 || asked.includes(name));
    const options = { tenantId: tenant.id, collections, output, signal };
    const before = await verifyTenant(assembly, options);
    const syncs = flags.repair === true ? await repair(assembly, before, options) : null;
    const now = syncs === null ? before : await verifyTenant(assembly, options);
    output.line(output.colors.bold(tenant.id));
    if (syncs !== null) showRepair(output, syncs);
    show(output, now, { tenantId: tenant.id, hasKeys: flags.ids === true });
    last.push(...now);
    results.push({ tenant: tenant.id, collections: now, repaired: syncs });
  }
  output.data({ tenants: results });
  return exitCode({
    hasFailed:
      last.some(({ outcome }) => outcome === 'unproven' || outcome === 'failed') ||
      inState(last, 'wrong').length > 0,
    needsPerson: inState(last, 'on-hold').length > 0,
  });
}

function inState(reports: readonly CollectionReport[], wanted: Difference['state']): readonly Difference[] {
  return reports.flatMap(({ differences }) => differences.filter(({ state }) => state === wanted));
}

/**
 * Compares the topics of a tenant with the hub and with the index, while a process may go on publishing to them:
 * 1. It notes where the topics end.
 * 2. It plans a full sync. What that sync would publish, and what it misses, is where topics and hub differ.
 * 3. It reads the keys that were published since step 1, and drops the planned differences of these keys: they may
 *    have been settled.
 * 4. It audits the topics as they are then: their records, the steps of absences, and the index.
 */
async function verifyTenant(
  assembly: Assembly,
  { tenantId, collections, output, signal }: VerifyOptions,
): Promise<readonly CollectionReport[]> {
  const { openReadOnlyLog } = assembly.tenant(tenantId);
  const log = openReadOnlyLog();
  const publishedSince = new Set<string>();
  const reader = topicReader(log, [...collections, 'rejects'], async ({ topic, key }) => {
    publishedSince.add(`${topic} ${key}`);
  });
  await reader.skip();
  const { progress: known } = await log.progress(signal);
  const isLoaded = (name: CollectionName): boolean => known.get(sourceOf(name))?.lastCompleteFull != null;
  const plans = await planTenant(assembly, {
    tenantId,
    collections,
    keepsKeys: true,
    emit: (event) => showSyncs(output, event),
    onRead: () => undefined,
    signal,
  });
  const planned = plans.flatMap((each) => plannedIn(each, assembly.config.redis !== undefined));
  // From now on the topics can be read to the last commit that `progress` names.
  await log.progress(signal);
  await reader.readOn(signal);
  const left = planned.filter((each) => !publishedSince.has(recordOf(each)));
  const onRead = (collection: CollectionName, count: number): void =>
    output.progress(`${collection}: ${formatCount(count)} records of the topic`);
  const audits = await auditTenant(assembly, { tenantId, collections, onRead, signal });
  return audits.map(({ collection, keys: topicKeys, findings, skipped }): CollectionReport => {
    const plan = plans.find((each) => each.collection === collection);
    const isFound = new Set(findings.map(({ key }) => key));
    const wrong = findings.map((each): Difference => Object.assign({ state: 'wrong' as const }, each));
    const doubt = doubtOn(plan, { tenantId, isLoaded: isLoaded(collection) });
    return {
      collection,
      outcome: outcomeOf(plan, { topicKeys, isProven: doubt === null }),
      why: doubt?.why ?? null,
      remedy: doubt?.remedy ?? null,
      whyOnHold: plan?.whyOnHold ?? null,
      hubRows: plan?.seen ?? null,
      topicKeys,
      skipped,
      differences: [
        ...wrong,
        ...left.filter((each) => each.collection === collection && !isFound.has(each.key)),
      ],
    };
  });
}

function outcomeOf(
  plan: CollectionPlan | undefined,
  { topicKeys, isProven }: { readonly topicKeys: number; readonly isProven: boolean },
): CollectionReport['outcome'] {
  if (plan?.outcome === 'not-offered' && topicKeys === 0) return 'not-offered';
  if (plan !== undefined && !['complete', 'inconclusive'].includes(plan.outcome)) return 'failed';
  return isProven ? 'compared' : 'unproven';
}

const AGAIN =
  'A list may be incomplete because the hub changes while it is read: run the command again. If this continues, "rollcall check" says what to do.';

/** Why the comparison of a collection proves nothing, and what to do; null if it proves what it says. */
function doubtOn(
  plan: CollectionPlan | undefined,
  { tenantId, isLoaded }: { readonly tenantId: string; readonly isLoaded: boolean },
): Pick<CollectionReport, 'why' | 'remedy'> | null {
  if (plan !== undefined && plan.outcome !== 'complete')
    return { why: plan.why, remedy: plan.outcome === 'inconclusive' ? AGAIN : plan.remedy };
  // Even if the plan is short, there is no doubt. Such a plan is complete only if at least as many rows are published
  // as the hub counts.
  if (isLoaded) return removalsWait(plan?.nameless ?? 0, null);
  return {
    why: 'it cannot be compared yet, because it has had no complete full sync',
    remedy: `Wait for its first load ("rollcall status --tenant ${tenantId}" shows how far it has got), or run "rollcall pull --full --tenant ${tenantId}". Then run the command again.`,
  };
}

/** The kind of finding to which a planned record, or a row that the plan misses, leads; null: no finding. */
const KINDS: Readonly<Record<keyof CollectionPlan['keys'], Finding['kind'] | null>> = {
  created: 'missing',
  updated: 'different',
  deleted: 'left-over',
  replaced: 'different',
  restored: 'different',
  forgotten: null,
  rejected: 'reject-missing',
  unrejected: 'reject-left-over',
  'on-hold': 'left-over',
  missing: 'left-over',
};

/**
 * The differences between hub and topic that a planned full sync shows, each with what will settle it. Without Redis,
 * the index of the running process is in its memory, where nobody else can see it. This index may have a row that the
 * topic lacks, and then no sync publishes the row. So without Redis, a missing or different row that the incremental
 * syncs have already passed counts as wrong, and not as settled by the next full sync.
 */
function plannedIn({ collection, keys, news }: CollectionPlan, hasRedis: boolean): Difference[] {
  return (Object.keys(KINDS) as (keyof typeof KINDS)[]).flatMap((planned) => {
    const kind = KINDS[planned];
    if (kind === null) return [];
    // An incremental sync of schedules reads students whose absences changed, and removes nothing.
    const isOfSchedules = collection === 'schedules';
    const stateOf = (key: string): Difference['state'] => {
      if (planned === 'on-hold') return planned;
      if (planned === 'missing') return 'first-miss';
      if (!isOfSchedules && news.has(key)) return 'next-sync';
      return hasRedis || isOfSchedules || kind === 'left-over' ? 'next-full' : 'wrong';
    };
    return keys[planned].map((key) => ({ collection, key, kind, state: stateOf(key) }));
  });
}

function recordOf({ collection, key, kind }: Finding): string {
  return kind.startsWith('reject-') ? `rejects ${compositeKey(collection, key)}` : `${collection} ${key}`;
}

/** Says what is wrong, and has the owner repair what is wrong; null when there is nothing to repair. */
async function repair(
  assembly: Assembly,
  reports: readonly CollectionReport[],
  { tenantId, output, signal }: VerifyOptions,
): Promise<readonly PullOutcome[] | null> {
  const all = inState(reports, 'wrong');
  const wrong = Map.groupBy(all, ({ collection }) => sourceOf(collection));
  if (all.length === 0) {
    output.note(`${tenantId}: nothing is wrong, so there is nothing to repair and nothing is published`);
    return null;
  }
  output.note(`${tenantId}: to repair: ${kindsOf(all)}`);
  const collections = Array.from(wrong, ([name, some]) => {
    const keysOf = (isWanted: (each: Difference) => boolean): string[] =>
      some.flatMap((each) => (isWanted(each) ? [each.key] : [])).slice(0, MAX_CORRUPT_KEYS);
    return {
      name,
      rows: keysOf(({ kind, collection }) => kind === 'undecodable' && collection === name),
      rejects: keysOf(({ kind }) => kind === 'reject-missing'),
      absences: keysOf(({ collection }) => collection === 'absences'),
    };
  });
  const request = { tenantId, request: REPAIR, parameters: { collections }, output, signal };
  return asOwner(assembly, request);
}

/** Such as `3 missing in users, 1 different in users`. */
function kindsOf(differences: readonly Difference[]): string {
  const kinds = Map.groupBy(differences, ({ collection, kind }) => `${kind} in ${collection}`);
  return Array.from(kinds, ([kind, some]) => `${formatCount(some.length)} ${kind}`).join(', ');
}

/** Prints how many records the full sync of a repair has published. */
function showRepair(output: Output, syncs: readonly PullOutcome[]): void {
  const published = syncs.reduce((sum, { created, updated, removed, rejected, derived }) => {
    return sum + created + updated + removed + rejected + derived.absences + derived.changes;
  }, 0);
  output.line(`The repair has published ${countOf(published, 'record')}:`);
  showOutcomes(output, syncs);
  noteFailures(output, syncs);
  output.line('After the repair:');
}

const SHOWN_AT_MOST = 20;
const TWO_COUNTS =
  'hub and topic are counted one after the other: while the hub changes, the two numbers may differ. The last column counts the differences.';

/** Prints a table, the differences (counted by kind, or the first of them), the result, and what to do. */
function show(
  output: Output,
  reports: readonly CollectionReport[],
  { tenantId, hasKeys }: { readonly tenantId: string; readonly hasKeys: boolean },
): void {
  output.table(
    ['  collection', '', 'hub', 'topic', 'differences'],
    reports.map((each) => [
      `  ${each.collection}`,
      resultOf(each),
      each.hubRows === null ? '' : formatCount(each.hubRows),
      formatCount(each.topicKeys),
      formatCount(each.differences.length),
    ]),
  );
  if (reports.some(({ hubRows, topicKeys }) => hubRows !== null && hubRows !== topicKeys))
    output.item(' ', TWO_COUNTS);
  const all = reports.flatMap(({ differences }) => differences);
  if (all.length > 0) showDifferences(output, all, hasKeys);
  noteFailures(output, reports);
  for (const { collection, whyOnHold, skipped } of reports) {
    if (whyOnHold !== null)
      output.note(`! ${collection}: the next full sync will put rows on hold: ${whyOnHold}`);
    if (skipped > 0)
      output.note(`! ${collection}: ${countOf(skipped, 'key')} could not be compared with the index`);
  }
  showVerdict(output, reports, tenantId);
}

function showDifferences(output: Output, differences: readonly Difference[], hasKeys: boolean): void {
  const cellsOf = ({ collection, kind, state }: Difference) => [`  ${collection}`, kind, STATES[state]];
  const kinds = Map.groupBy(differences, (each) => cellsOf(each).join());
  const rows = hasKeys
    ? differences.slice(0, SHOWN_AT_MOST).map((each) => cellsOf(each).concat(printable(each.key)))
    : Array.from(kinds, ([kind, some]) => [...kind.split(','), formatCount(some.length)]);
  output.table(['  collection', 'kind', '', hasKeys ? 'key' : 'keys'], rows);
  const more = differences.length - SHOWN_AT_MOST;
  if (hasKeys && more > 0) output.line(`  and ${formatCount(more)} more: --json has all.`);
}

/** The result for a collection in a word or two. */
function resultOf({ outcome, differences }: CollectionReport): string {
  if (outcome !== 'compared') return outcome.replace('-', ' ');
  if (differences.length === 0) return 'equal';
  const states = new Set(differences.map(({ state }) => state));
  if (states.has('wrong')) return 'differs';
  return states.has('on-hold') ? STATES['on-hold'] : 'pending';
}

/** The result in one sentence, then what is no fault, and what to do. */
function showVerdict(output: Output, reports: readonly CollectionReport[], tenantId: string): void {
  const offered = reports.filter(({ outcome }) => outcome !== 'not-offered');
  const equal = offered.filter((each) => resultOf(each) === 'equal').length;
  output.line(`${equal} of ${countOf(offered.length, 'collection is', 'collections are')} equal.`);
  const count = (state: Difference['state']): number => inState(reports, state).length;
  const settled = [
    [count('next-sync'), 'the next sync'],
    [count('next-full'), 'the next full sync'],
    [count('first-miss'), 'a later full sync'],
  ] as const;
  const settles = settled.flatMap(([keys, by]) =>
    keys > 0 ? [`${by} settles ${countOf(keys, 'key')}`] : [],
  );
  if (settles.length > 0) output.line(`Not equal yet, which is no fault: ${settles.join('; ')}.`);
  if (count('on-hold') > 0)
    output.line(
      `On hold: a person must decide about ${countOf(count('on-hold'), 'key')}.\n→ Decide after the next full sync: rollcall deletes list --tenant ${tenantId}`,
    );
  if (count('wrong') > 0)
    output.line(
      `Wrong: ${countOf(count('wrong'), 'key')}.\n→ To publish them as the hub has them: rollcall verify --repair --tenant ${tenantId}`,
    );
}
