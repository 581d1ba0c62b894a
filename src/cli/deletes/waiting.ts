import { syncedCollections, type TenantConfig } from '../../config.ts';
import { firstGroups, type NamedGroups } from '../../core/withheld-groups.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../../core/words.ts';
import { describeError } from '../../errors.ts';
import { readKnownProgress, type KnownProgress } from '../../log/progress-reader.ts';
import type { CollectionName } from '../../model/collections.ts';
import { readWithheldGroups } from '../../owner/read-withheld-groups.ts';
import type { Assembly } from '../../session/assemble.ts';
import { readWaiting, type Waiting } from '../../sync/read-waiting.ts';
import type { Output } from '../output.ts';
import type { VerbContext } from '../verb-action.ts';
import { withAdmin } from '../with-assembly.ts';

/** What waits for a decision in a tenant, with its log. */
export interface WaitingTenant extends Waiting {
  readonly tenant: string;
  readonly known: KnownProgress | null;
}

const ATTEMPTS = 3;

/** Reads `progress` and Redis. Writes nothing, needs no owner. Throws `INDEX_…`, `KAFKA_…`. */
export async function readWaitingLists(
  assembly: Assembly,
  { tenants, signal }: { tenants: readonly TenantConfig[]; signal: AbortSignal },
): Promise<readonly WaitingTenant[]> {
  const { kafka, registry, config } = assembly;
  const { topicPrefix } = config.kafka;
  const tenantIds = tenants.map(({ id }) => id);
  for (let attempt = 1; ; attempt += 1) {
    const logs = await withAdmin({ assembly, signal }, (admin) =>
      readKnownProgress({ kafka, admin, registry, topicPrefix, tenantIds, signal }),
    );
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
export async function groupsOf(
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
export function showWaiting(output: Output, waiting: WaitingTenant, options: ShowOptions): void {
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

export function waitingAsJson({ tenant, digest, rows, collections }: WaitingTenant, groups: Groups): object {
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
