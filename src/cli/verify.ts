import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import { enabledCollections } from '../config.ts';
import { bringingSync } from '../core/verify/bringing-sync.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Assembly } from '../session/assemble.ts';
import type { CollectionReport } from '../audit/verify-tools.ts';
import { verifyTenant } from '../audit/verify-tenant.ts';
import type { PullOutcome } from '../owner/pull.ts';
import { chooseCollection, chooseTenants, requireMirrored } from './choose.ts';
import type { Output } from './output.ts';
import { WorkProgress } from './work-progress.ts';
import type { ProgressLine } from './progress-line.ts';
import { troubles } from './pull.ts';
import { verbAction, type VerbContext } from './verb-action.ts';
import { repairTenant } from './verify/repair-tenant.ts';
import { exitCodeFor, showVerification, type VerifiedTenant } from './verify/show-verification.ts';
import { withAssembly } from './with-assembly.ts';
import { countOf } from '../core/words.ts';

interface VerifyFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
  readonly all?: boolean | undefined;
  readonly repair?: boolean | undefined;
}

/** `rollcall verify`: compares the topics with the hub. */
export function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'Reads the hub and the topics, and reports every key that differs. Without --repair it owns nothing and writes ' +
        'nothing, and may run while a process mirrors the tenant: it checks every difference again before it reports it.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--all', 'show all differences, not only the first 20')
    .option(
      '--repair',
      'publish exactly what is missing: rebuild the index from the topics, then run a full sync',
    )
    .addHelpText('after', wrapped(HELP))
    .action(verbAction<VerifyFlags>((context, { options }) => verify(context, options)));
}

const HELP = `
Kinds of differences:
  missing           the hub has it, the topic does not
  left-over         the topic has it, the hub does not
  different         both have it, with different contents
  undecodable       the record cannot be decoded, or does not match its headers
  gap               a step of an absence is missing in the topic
  reject-missing    the hub has a row that cannot be read, rejects does not have it
  reject-left-over  rejects has it, the hub does not, or it can be read now
  index             the index and the topic differ

States of a difference:
  next sync       changed at the hub since the last sync: the next incremental one publishes it
  next full       only the next full sync finds it ("rollcall pull --full" runs one): gone from the hub, or in a collection
                  without incremental syncs
  withheld        needs a decision

Memory holds one collection at a time, as keys with 16 bytes each, and fingerprints of the hub's keys: some 150 MB per
million rows; for absences also the links between versions, about 1 KB per version. The command reads the hub
completely; for schedules it sends a request for each student.

With --repair, the process that runs for the tenant repairs a collection that differs; without such a process, this
command owns the tenant meanwhile. Then the command compares again. Equal rows are not published again, and removals are
subject to the guard. A published step of an absence is never published again, so a gap stays.

Exit codes: 0 equal, or the next sync makes it so; 1 something differs, or could not be compared; 3 only removals that
need a decision differ.

Examples:
  rollcall verify
  rollcall verify --repair
  rollcall verify --tenant north --collection users absences --all
  rollcall verify --json | jq -c '.tenants[].collections[].differences[]'`;

async function verify(context: VerbContext, flags: VerifyFlags): Promise<number> {
  const config = context.loadConfig();
  const tenants = chooseTenants(config, flags.tenant).map(({ id }) => id);
  const collections = [...new Set((flags.collection ?? []).map(chooseCollection))];
  requireMirrored(chooseTenants(config, flags.tenant), collections);
  const progress = context.output.progress();
  return withAssembly(config, async (assembly) => {
    const found: Found[] = [];
    for (const tenant of tenants) {
      const options = { tenant, collections, progress, signal: context.signal };
      const before = await compare(assembly, options);
      const syncs = flags.repair === true ? await repair(assembly, { ...options, before }) : null;
      const after = syncs === null ? before : await compare(assembly, options);
      found.push({ before, after, syncs });
    }
    progress.end();
    for (const each of found) show(context.output, each, flags);
    context.output.data({
      tenants: found.map(({ before, after, syncs }) => ({
        ...after,
        collections: after.collections.map(asJson),
        ...(syncs === null ? {} : { repaired: { before: before.collections.map(asJson), passes: syncs } }),
      })),
    });
    return exitCodeFor(found.map(({ after }) => after));
  });
}

/** A pending difference gets `bringing`, the sync that removes it. */
function asJson({ differences, ...report }: CollectionReport): Record<string, unknown> {
  return {
    ...report,
    differences: differences.map((each) => {
      const bringing = bringingSync(each);
      return bringing === null ? each : { ...each, bringing };
    }),
  };
}

interface Found {
  readonly before: VerifiedTenant;
  readonly after: VerifiedTenant;
  /** Null: nothing was repaired. */
  readonly syncs: readonly PullOutcome[] | null;
}

function repair(
  assembly: Assembly,
  options: { tenant: string; before: VerifiedTenant; progress: ProgressLine; signal: AbortSignal },
): Promise<readonly PullOutcome[] | null> {
  const { tenant: tenantId, before, progress, signal } = options;
  const differences = before.collections.flatMap((each) => each.differences);
  return repairTenant(assembly, { tenantId, differences, progress, signal });
}

function show(output: Output, { before, after, syncs }: Found, { all = false }: VerifyFlags): void {
  if (syncs !== null) {
    showVerification(output, before, { all, isRepaired: false, isAdvised: false });
    const published = syncs.reduce((sum, { created, updated }) => sum + created + updated, 0);
    const removed = syncs.reduce((sum, each) => sum + each.removed, 0);
    const counts = `${countOf(published, 'row')} published, ${countOf(removed, 'key')} removed`;
    output.line(`Repaired by a full sync: ${counts}, and the rejects and absences derived from them.`);
    output.line();
    for (const [trouble, names] of troubles(syncs)) output.note(`✗ ${names.join(', ')}: ${trouble}`);
  }
  showVerification(output, after, { all, isRepaired: syncs !== null, isAdvised: true });
}

async function compare(
  assembly: Assembly,
  options: {
    tenant: string;
    collections: readonly CollectionName[];
    progress: ProgressLine;
    signal: AbortSignal;
  },
): Promise<VerifiedTenant> {
  const { tenant, collections, progress, signal } = options;
  const expected =
    collections.length > 0 ? collections.length : enabledCollections(assembly.tenant(tenant).config).length;
  const bars = new WorkProgress(progress, { title: `${tenant}: collections`, expected });
  const verified = await verifyTenant(assembly, {
    tenantId: tenant,
    collections,
    onProgress: ({ collection, what, count, of = null }) => bars.set(collection, { done: count, of, what }),
    onReport: ({ collection }) => bars.end(collection),
    signal,
  });
  return { tenant, ...verified };
}
