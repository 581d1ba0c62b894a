import { exitCode } from '../exit-code.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Assembly } from '../../pipeline/assemble.ts';
import { DELETES, type DeletesOutcome, type DeletesParameters } from '../../pipeline/requests/deletes.ts';
import { asOwner } from '../as-owner.ts';
import type { Output } from '../output.ts';
import type { ProgressLine } from '../progress-line.ts';
import { countOf, formatCount } from '../../core/words.ts';
import { readLists, type Scope } from './read-lists.ts';

/** A list that changes during this many attempts to approve it stays withheld. */
const ATTEMPTS = 5;

export interface Decisions {
  readonly tenant: string;
  readonly outcomes: readonly DeletesOutcome[];
  /** Named lists that do not exist. */
  readonly unknownDigests: readonly string[];
  /** Number of withheld deletions after the decision, by collection in scope; new ones may have been added. */
  readonly waiting: ReadonlyMap<CollectionName, number>;
  /** The part of `waiting` whose list was lost with the index: the next full sync lists them again. */
  readonly lost: ReadonlySet<CollectionName>;
}

interface DecideOptions {
  readonly scope: Scope;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

/** `digests` null: the lists as they are now. Throws the errors of {@link asOwner}. */
export async function approveLists(
  assembly: Assembly,
  options: DecideOptions & { readonly digests: readonly string[] | null },
): Promise<readonly Decisions[]> {
  const decisions: Decisions[] = [];
  for (const each of options.scope) {
    decisions.push(await approveListed(assembly, { ...options, scope: [each] }));
  }
  // A list belongs to one tenant: it is missing only if no tenant has it.
  const found = decisions.flatMap(({ unknownDigests }) => unknownDigests);
  const missing = new Set(
    found.filter((digest) => decisions.every(({ unknownDigests }) => unknownDigests.includes(digest))),
  );
  return decisions.map(({ tenant, outcomes, waiting, lost, unknownDigests }) => ({
    tenant,
    outcomes,
    waiting,
    lost,
    unknownDigests: unknownDigests.filter((digest) => missing.has(digest)),
  }));
}

async function approveListed(
  assembly: Assembly,
  options: DecideOptions & { readonly digests: readonly string[] | null },
): Promise<Decisions> {
  const { scope, digests: named } = options;
  const tenant = scope[0]?.tenant.id ?? '';
  const outcomes = new Map<CollectionName, DeletesOutcome>();
  let unknownDigests: readonly string[] = [];
  for (let attempt = 1; ; attempt += 1) {
    const lists = (await readLists(assembly, options))[0]?.collections ?? [];
    const known = new Set(lists.flatMap(({ digest }) => digest ?? []));
    if (attempt === 1) unknownDigests = (named ?? []).filter((digest) => !known.has(digest));
    const isWanted = (collection: CollectionName): boolean =>
      attempt === 1 || outcomes.get(collection)?.outcome === 'other-list';
    const chosen = lists.filter(
      ({ collection, digest }) =>
        digest !== null && (named === null || named.includes(digest)) && isWanted(collection),
    );
    if (chosen.length > 0) {
      const decided = await ask(assembly, options, {
        action: 'approve',
        collections: chosen.map(({ collection }) => collection),
        digests: chosen.flatMap(({ digest }) => digest ?? []),
      });
      for (const each of decided) outcomes.set(each.collection, each);
    }
    const hasChanged = [...outcomes.values()].some(({ outcome }) => outcome === 'other-list');
    // A named list is approved unchanged, or not at all.
    if (!hasChanged || named !== null || chosen.length === 0 || attempt >= ATTEMPTS) break;
  }
  return {
    tenant,
    outcomes: [...outcomes.values()],
    unknownDigests,
    ...(await stillWaiting(assembly, options, [...outcomes.values()])),
  };
}

/** Throws the errors of {@link asOwner}. */
export async function discardLists(
  assembly: Assembly,
  options: DecideOptions,
): Promise<readonly Decisions[]> {
  const decisions: Decisions[] = [];
  for (const each of options.scope) {
    const here = { ...options, scope: [each] };
    const lists = (await readLists(assembly, here))[0]?.collections ?? [];
    const collections = lists.map(({ collection }) => collection);
    const outcomes =
      collections.length === 0
        ? []
        : await ask(assembly, here, { action: 'discard', collections, digests: [] });
    decisions.push({
      tenant: each.tenant.id,
      outcomes: outcomes.filter(({ outcome }) => outcome !== 'nothing'),
      unknownDigests: [],
      ...(await stillWaiting(assembly, here, outcomes)),
    });
  }
  return decisions;
}

function ask(
  assembly: Assembly,
  { scope, progress, signal }: DecideOptions,
  parameters: DeletesParameters,
): Promise<readonly DeletesOutcome[]> {
  const tenantId = scope[0]?.tenant.id ?? '';
  return asOwner(assembly, { tenantId, request: DELETES, parameters, progress, signal });
}

/** An owner's answer that nothing is withheld takes precedence: the owner knows its commits before any reader does. */
async function stillWaiting(
  assembly: Assembly,
  options: DecideOptions,
  outcomes: readonly DeletesOutcome[],
): Promise<Pick<Decisions, 'waiting' | 'lost'>> {
  const empty = new Set(outcomes.flatMap((each) => (each.waiting === 0 ? [each.collection] : [])));
  const listed = (await readLists(assembly, options))[0]?.collections ?? [];
  const lists = listed.filter(({ collection }) => !empty.has(collection));
  return {
    waiting: new Map(lists.map(({ collection, count }) => [collection, count])),
    lost: new Set(lists.flatMap(({ collection, keys }) => (keys.length === 0 ? [collection] : []))),
  };
}

/** 1 if the hub failed or was inconclusive, 3 if something needs a decision or a named list does not exist, else 0. */
export function decisionExit(decisions: readonly Decisions[]): number {
  const outcomes = decisions.flatMap((each) => each.outcomes);
  return exitCode({
    hasFailed: outcomes.some(({ outcome }) => outcome === 'failed' || outcome === 'suspect'),
    needsPerson: decisions.some(
      ({ waiting, unknownDigests }) => waiting.size > 0 || unknownDigests.length > 0,
    ),
  });
}

export function showDecisions(
  output: Output,
  action: 'approve' | 'discard',
  decisions: readonly Decisions[],
): void {
  for (const decided of decisions) {
    const { tenant, outcomes, unknownDigests, waiting, lost } = decided;
    output.line(output.colors.bold(tenant));
    if (outcomes.length > 0) showOutcomes(output, action, decided);
    else if (unknownDigests.length === 0 && waiting.size === 0) output.line('  no deletion is withheld');
    for (const digest of unknownDigests)
      output.note(
        `✗ ${tenant}: there is no list ${digest}: it has changed, or was decided on; nothing was released\n→ rollcall deletes list`,
      );
    for (const { collection, outcome, why, remedy } of outcomes) {
      if (outcome === 'other-list')
        output.note(
          `✗ ${collection}: the list changed meanwhile; nothing was released\n→ rollcall deletes list`,
        );
      if (why !== null) output.note(`✗ ${collection}: ${why}${remedy === null ? '' : `\n→ ${remedy}`}`);
    }
    for (const [collection, count] of waiting) {
      const undecided = `${countOf(count, 'deletion')} ${count === 1 ? 'needs' : 'need'} a decision`;
      output.note(
        lost.has(collection)
          ? `! ${collection}: ${undecided}; the list was lost with the index\n→ rollcall pull --full --collection ${collection}`
          : `! ${collection}: ${undecided} (rollcall deletes list)`,
      );
    }
  }
  output.data({
    waits: decisions.some(({ waiting }) => waiting.size > 0),
    tenants: decisions.map(({ tenant, outcomes, unknownDigests, waiting }) => ({
      tenant,
      unknownLists: unknownDigests,
      collections: outcomes,
      waiting: Object.fromEntries(waiting),
    })),
  });
}

function showOutcomes(output: Output, action: 'approve' | 'discard', { outcomes, waiting }: Decisions): void {
  const counted = action === 'approve' ? (['released', 'back'] as const) : [];
  output.table(
    [
      { title: '  collection' },
      { title: 'outcome' },
      { title: 'listed', align: 'right' },
      ...counted.map((title) => ({ title: title === 'back' ? 'came back' : title, align: 'right' as const })),
      { title: 'still withheld', align: 'right' },
    ],
    outcomes.map((each) => [
      `  ${each.collection}`,
      each.outcome === 'done' ? (action === 'approve' ? 'released' : 'discarded') : each.outcome,
      formatCount(each.listed),
      ...counted.map((title) => formatCount(each[title])),
      formatCount(waiting.get(each.collection) ?? 0),
    ]),
  );
}
