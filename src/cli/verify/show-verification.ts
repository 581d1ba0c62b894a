import { bringingSync } from '../../core/verify/bringing-sync.ts';
import { DIFFERENCE_KINDS, type Difference, type DifferenceState } from '../../core/verify/difference.ts';
import { exitCode } from '../exit-code.ts';
import type { TenantVerification } from '../../audit/verify-tenant.ts';
import type { CollectionReport } from '../../audit/verify-tools.ts';
import type { Output } from '../output.ts';
import { countOf, formatCount, printable } from '../../core/words.ts';

export interface VerifiedTenant extends TenantVerification {
  readonly tenant: string;
}

const SHOWN_AT_MOST = 20;
const SYNC_TITLES = { incremental: 'next sync', full: 'next full' } as const;
const SYNCS = ['incremental', 'full'] as const;
const STATES: readonly DifferenceState[] = ['withheld'];
const WHAT_IS_COUNTED =
  '  hub: rows there now (absences: chains of versions; schedules: days with lessons) · topic: keys with a value · equal: keys whose content agrees';

/** Prints the result: a table, the first differences, and what to do. */
export function showVerification(
  output: Output,
  { tenant, collections, indexTrouble }: VerifiedTenant,
  options: { readonly all: boolean; readonly isRepaired: boolean; readonly isAdvised: boolean },
): void {
  const { colors } = output;
  output.line(colors.bold(tenant));
  showTable(output, collections);
  const differences = collections.flatMap((each) => each.differences);
  showDifferences(output, differences, options.all);
  for (const { collection, why, remedy, foreseen } of collections) {
    if (why !== null) output.note(`✗ ${collection}: ${why}${remedy === null ? '' : `\n→ ${remedy}`}`);
    if (foreseen !== null)
      output.note(`! ${collection}: the next full sync will withhold the removals: ${foreseen}`);
  }
  if (indexTrouble !== null) output.note(`! The index was not compared: ${indexTrouble}`);
  const settled = sum(collections, (each) => each.settled);
  if (settled > 0) {
    output.line(`${countOf(settled, 'difference')} did not show again at the second check.`);
  }
  const skipped = sum(collections, (each) => each.indexSkipped);
  if (skipped > 0) {
    output.line(`${countOf(skipped, 'key')} of the index changed during the comparison: not reported.`);
  }
  output.line(verdictOf(collections));
  if (options.isAdvised) for (const line of adviceOf(collections, options)) output.line(line);
}

function showTable(output: Output, collections: readonly CollectionReport[]): void {
  const kinds = DIFFERENCE_KINDS.filter((kind) =>
    collections.some(({ differences }) =>
      differences.some((each) => each.kind === kind && each.state === 'wrong'),
    ),
  );
  const states = STATES.filter((state) =>
    collections.some(({ differences }) => differences.some((each) => each.state === state)),
  );
  const syncs = SYNCS.filter((sync) => collections.some((each) => countBrought(each, sync) > 0));
  const titles = ['hub', 'topic', 'equal', ...kinds, ...syncs.map((sync) => SYNC_TITLES[sync]), ...states];
  output.table(
    [
      { title: '  collection' },
      { title: '' },
      ...titles.map((title) => ({ title, align: 'right' as const })),
    ],
    collections.map((each) => [
      `  ${each.collection}`,
      outcomeOf(each),
      ...[each.hubRows, each.topicKeys, each.equal].map(formatCount),
      ...kinds.map((kind) =>
        formatCount(each.differences.filter((one) => one.kind === kind && one.state === 'wrong').length),
      ),
      ...syncs.map((sync) => formatCount(countBrought(each, sync))),
      ...states.map((state) => formatCount(each.differences.filter((one) => one.state === state).length)),
    ]),
  );
  output.line(output.colors.dim(WHAT_IS_COUNTED));
}

function countBrought({ differences }: CollectionReport, sync: (typeof SYNCS)[number]): number {
  return differences.filter((each) => bringingSync(each) === sync).length;
}

function outcomeOf({ outcome, differences }: CollectionReport): string {
  if (outcome !== 'compared') return outcome === 'not-offered' ? 'not offered' : outcome;
  if (differences.some(({ state }) => state === 'wrong')) return 'differs';
  if (differences.some(({ state }) => state === 'withheld')) return 'withheld';
  return 'equal';
}

const ORDER: Readonly<Record<DifferenceState, number>> = {
  wrong: 0,
  withheld: 1,
  pending: 2,
};

function showDifferences(output: Output, differences: readonly Difference[], all: boolean): void {
  const sorted = differences.toSorted((one, other) => ORDER[one.state] - ORDER[other.state]);
  const shown = all ? sorted : sorted.slice(0, SHOWN_AT_MOST);
  if (shown.length === 0) return;
  output.line();
  output.table(
    [{ title: '  collection' }, { title: 'kind' }, { title: '' }, { title: 'key' }],
    shown.map((each) => [`  ${each.collection}`, each.kind, stateText(each), printable(each.key)]),
  );
  const more = sorted.length - shown.length;
  if (more > 0) output.line(`  and ${formatCount(more)} more: --all shows them.`);
  output.line();
}

function stateText(difference: Difference): string {
  const sync = bringingSync(difference);
  if (sync !== null) return SYNC_TITLES[sync];
  return difference.state === 'wrong' ? '' : difference.state;
}

/** The result in one sentence. */
export function verdictOf(collections: readonly CollectionReport[]): string {
  const compared = collections.filter(({ outcome }) => outcome !== 'not-offered');
  const equal = compared.filter((each) => isCompared(each) && isEqual(each)).length;
  const [next = 0, full = 0] = SYNCS.map((sync) =>
    sum(compared.filter(isCompared), (each) => countBrought(each, sync)),
  );
  const ofThem =
    equal === compared.length
      ? allEqual(compared.length)
      : `${equal} of ${compared.length} collections are equal`;
  const brought = [
    ...(next === 0 ? [] : [`${countOf(next, 'change')} at the hub that the next incremental sync publishes`]),
    ...(full === 0 ? [] : [`${countOf(full, 'difference')} that only the next full sync finds`]),
  ];
  return brought.length === 0 ? `${ofThem}.` : `${ofThem}, but for ${brought.join(' and ')}.`;
}

function adviceOf(
  collections: readonly CollectionReport[],
  { isRepaired }: { isRepaired: boolean },
): string[] {
  // The lines above say why the other collections were not compared.
  const wrong = countIn(collections.filter(isCompared), 'wrong');
  const withheld = countIn(collections, 'withheld');
  const isListed = collections.every(({ foreseen }) => foreseen === null);
  const need = `${withheld === 1 ? 'needs' : 'need'} a decision${isListed ? '' : ', or will after the next full sync'}`;
  return [
    ...(wrong === 0
      ? []
      : [
          isRepaired
            ? `→ ${countOf(wrong, 'difference')} could not be repaired: see the messages of the sync above.`
            : '→ "rollcall verify --repair" publishes exactly what is missing.',
        ]),
    ...(withheld === 0 ? [] : [`→ ${countOf(withheld, 'removal')} ${need}: "rollcall deletes list".`]),
  ];
}

function isCompared({ outcome }: CollectionReport): boolean {
  return outcome === 'compared';
}

function isEqual({ differences }: CollectionReport): boolean {
  return differences.every(({ state }) => state === 'pending');
}

function countIn(collections: readonly CollectionReport[], state: DifferenceState): number {
  return sum(collections, ({ differences }) => differences.filter((each) => each.state === state).length);
}

function sum(collections: readonly CollectionReport[], of: (each: CollectionReport) => number): number {
  return collections.reduce((total, each) => total + of(each), 0);
}

/** 0: equal, or the next sync makes it so; 3: only removals that need a decision differ; 1: anything else. */
export function exitCodeFor(tenants: readonly VerifiedTenant[]): number {
  const collections = tenants.flatMap((each) => each.collections);
  const isBroken = collections.some(({ outcome }) => outcome === 'failed' || outcome === 'unproven');
  return exitCode({
    hasFailed: isBroken || countIn(collections, 'wrong') > 0,
    needsPerson: countIn(collections, 'withheld') > 0,
  });
}

function allEqual(collections: number): string {
  return collections === 1 ? 'The collection is equal' : `All ${collections} collections are equal`;
}
