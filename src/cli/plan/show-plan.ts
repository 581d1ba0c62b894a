import type { CollectionName } from '../../model/collections.ts';
import type { CollectionPlan } from '../../plan/plan-tenant.ts';
import { PLANNED_KINDS, type PlannedKind } from '../../plan/recorder.ts';
import type { Output } from '../output.ts';
import { notOfferedAmong, rejectLines, troubles } from '../pull.ts';
import { countOf, formatCount, printable } from '../../core/words.ts';

export interface TenantPlan {
  readonly tenant: string;
  /** Mirrored, but not planned. */
  readonly leftOut: readonly CollectionName[];
  readonly collections: readonly CollectionPlan[];
}

const ALWAYS_SHOWN: ReadonlySet<PlannedKind> = new Set(['created', 'updated', 'deleted', 'rejected']);

/** Prints a table, the keys if requested, withheld deletions with their reasons, and what to do next. */
export function showPlan(
  output: Output,
  plan: TenantPlan,
  options: { readonly isNamed: boolean; readonly showsKeys: boolean },
): void {
  const { collections } = plan;
  output.line(output.colors.bold(plan.tenant));
  showTable(output, collections);
  if (options.showsKeys) showKeys(output, collections);
  for (const { collection, withheld, whyWithheld } of collections) {
    if (withheld === 0) continue;
    const why = whyWithheld === null ? '' : `: ${whyWithheld}`;
    output.note(`! ${collection}: ${countOf(withheld, 'deletion')} would be withheld${why}`);
  }
  for (const { collection, missing } of collections) {
    if (missing > 0)
      output.note(
        `! ${collection}: ${countOf(missing, 'row')} missing, and removed if another full sync misses them too`,
      );
  }
  for (const line of rejectLines(collections.map((each) => ({ ...each, rejected: each.counts.rejected }))))
    output.note(line);
  const lacking = options.isNamed ? [] : notOfferedAmong(collections);
  if (lacking.length > 0) output.note(`! the hub does not offer ${namesOf(lacking)}; the others are planned`);
  for (const [trouble, names] of troubles(collections.filter((each) => !lacking.includes(each))))
    output.note(`✗ ${names.join(', ')}: ${trouble}`);
  for (const line of circumstances(plan)) output.note(line);
  for (const line of conclusion(collections)) output.line(line);
}

function showTable(output: Output, collections: readonly CollectionPlan[]): void {
  const kinds = PLANNED_KINDS.filter(
    (kind) => ALWAYS_SHOWN.has(kind) || collections.some(({ counts }) => counts[kind] > 0),
  );
  const rows = collections.map((each) => [
    `  ${each.collection}`,
    ...kinds.map((kind) => formatCount(each.counts[kind])),
    each.unchanged === null ? '' : formatCount(each.unchanged),
    each.unchanged === null ? '' : formatCount(each.withheld),
    each.outcome === 'complete' ? '' : each.outcome.replace('-', ' '),
  ]);
  const total = (of: (each: CollectionPlan) => number): string => formatCount(sum(collections, of));
  const totals = [
    '  total',
    ...kinds.map((kind) => total(({ counts }) => counts[kind])),
    total(({ unchanged }) => unchanged ?? 0),
    total(({ withheld }) => withheld),
  ];
  output.table(
    [
      { title: '  collection' },
      ...[...kinds, 'unchanged', 'withheld'].map((title) => ({ title, align: 'right' as const })),
      { title: '' },
    ],
    collections.length > 1 ? [...rows, totals] : rows,
  );
}

function showKeys(output: Output, collections: readonly CollectionPlan[]): void {
  const rows = collections.flatMap(({ collection, keys, withheldKeys }) => [
    ...PLANNED_KINDS.flatMap((kind) => keys[kind].map((key) => [`  ${collection}`, kind, printable(key)])),
    ...withheldKeys.map((key) => [`  ${collection}`, 'withheld', printable(key)]),
  ]);
  if (rows.length > 0) {
    output.line();
    output.table([{ title: '  collection' }, { title: 'kind' }, { title: 'key' }], rows);
  }
  for (const { collection, keysLeftOut } of collections)
    if (keysLeftOut > 0) output.line(`  and ${countOf(keysLeftOut, 'more key')} of ${collection}`);
  output.line();
}

function circumstances({ collections, leftOut }: TenantPlan): string[] {
  const overtaken = collections.filter(({ isOvertaken, unchanged }) => isOvertaken && unchanged !== null);
  return [
    ...(overtaken.length === 0
      ? []
      : [
          `! ${namesOf(overtaken)}: the owner published while the plan was made; records that it published may be counted`,
        ]),
    ...leftOut.map((name) => `! ${name} is left out: see "rollcall plan --help"`),
  ];
}

/** One sentence on what would be published, and one on what to do next. */
function conclusion(collections: readonly CollectionPlan[]): string[] {
  const records = sum(collections, ({ counts }) =>
    PLANNED_KINDS.reduce((all, kind) => all + counts[kind], 0),
  );
  const withheld = sum(collections, (each) => each.withheld);
  const isComplete = collections.every(({ outcome }) => outcome === 'complete' || outcome === 'not-offered');
  const unless = isComplete ? '' : ' of what could be read';
  return [
    records === 0
      ? `A full sync would publish nothing${unless}.`
      : `A full sync would publish ${countOf(records, 'record')}${unless}.`,
    ...(records === 0
      ? []
      : ['→ "rollcall pull --full" publishes this now; a running process does so with its own syncs.']),
    ...(withheld === 0
      ? []
      : [
          `→ ${countOf(withheld, 'deletion')} would need a decision: "rollcall deletes list" shows those that a sync has found.`,
        ]),
  ];
}

function namesOf(collections: readonly CollectionPlan[]): string {
  return collections.map(({ collection }) => collection).join(', ');
}

function sum(collections: readonly CollectionPlan[], of: (each: CollectionPlan) => number): number {
  return collections.reduce((total, each) => total + of(each), 0);
}
