import type { WithheldList } from '../../pipeline/requests/read-withheld-list.ts';
import type { Output } from '../output.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../../core/words.ts';
import { firstGroups, type NamedGroups } from '../../core/withheld-groups.ts';
import type { TenantLists } from './read-lists.ts';

const FIRST_KEYS = 10;

/** By collection. */
export type Groups = ReadonlyMap<string, readonly NamedGroups[]>;

/** Prints the withheld lists. */
export function showLists(
  output: Output,
  tenants: readonly TenantLists[],
  options: { allKeys: boolean; groups: ReadonlyMap<string, Groups>; nowMs: number },
): void {
  for (const { tenant, collections } of tenants) {
    if (collections.length === 0) {
      output.line(`${output.colors.bold(tenant)}  no deletion is withheld`);
      continue;
    }
    output.line(output.colors.bold(tenant));
    showTable(output, collections, options.nowMs);
    for (const list of collections) {
      if (list.keys.length === 0) continue;
      output.line();
      output.line(`  ${list.collection}:`);
      showGroups(output, options.groups.get(tenant)?.get(list.collection) ?? []);
      showKeys(output, list, options.allKeys);
    }
    output.line();
  }
  output.data({
    waits: tenants.some(({ collections }) => collections.length > 0),
    tenants: tenants.map(({ tenant, collections }) => ({
      tenant,
      collections: collections.map((list) => ({
        ...asJson(list),
        groups: options.groups.get(tenant)?.get(list.collection) ?? [],
      })),
    })),
  });
}

function showTable(output: Output, lists: readonly WithheldList[], nowMs: number): void {
  output.table(
    [
      { title: '  collection' },
      { title: 'withheld', align: 'right' },
      { title: 'since', align: 'right' },
      { title: 'list' },
      { title: 'why' },
    ],
    lists.map((list) => [
      `  ${list.collection}`,
      formatCount(list.count),
      formatAge(list.sinceMs, nowMs),
      list.digest ?? '-',
      whyOf(list),
    ]),
  );
}

function whyOf({ keys, why, heldBy, collection }: WithheldList): string {
  if (keys.length === 0)
    return `the list was lost with the index: rollcall pull --full --collection ${collection} restores it`;
  return why ?? (heldBy === null ? 'too many at once' : `deletions of ${heldBy} need a decision`);
}

/** `by school: Prøvefjell barneskole 312 · 4f0e… 2`: whole classes or a whole school show at a glance. */
function showGroups(output: Output, groups: readonly NamedGroups[]): void {
  for (const { by, counts, others } of groups.map(firstGroups)) {
    const shown = counts.map(({ id, name, rows }) => `${printable(name ?? id)} ${formatCount(rows)}`);
    const more = others.groups > 0 ? [`and ${formatCount(others.groups)} more`] : [];
    output.line(`    by ${by}: ${[...shown, ...more].join(' · ')}`);
  }
}

function showKeys(output: Output, { keys, count }: WithheldList, all: boolean): void {
  const shown = all ? keys : keys.slice(0, FIRST_KEYS);
  for (const key of shown) output.line(`    ${printable(key)}`);
  if (shown.length < keys.length)
    output.line(`    and ${countOf(keys.length - shown.length, 'other')} (--keys names all)`);
  if (count > keys.length)
    output.line(
      `    and ${formatCount(count - keys.length)} more than a list can hold: the next list has them`,
    );
}

function asJson({ sinceMs, ...list }: WithheldList): Record<string, unknown> {
  return { ...list, since: isoOrNull(sinceMs), listed: list.keys.length };
}
