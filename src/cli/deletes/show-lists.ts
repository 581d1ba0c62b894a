import type { WithheldList } from '../../pipeline/requests/read-withheld-list.ts';
import type { Output } from '../output.ts';
import { countOf, formatAge, formatCount, isoOrNull, printable } from '../../core/words.ts';
import type { TenantLists } from './read-lists.ts';

const FIRST_KEYS = 10;

/** Prints the withheld lists. */
export function showLists(
  output: Output,
  tenants: readonly TenantLists[],
  options: { allKeys: boolean; nowMs: number },
): void {
  for (const { tenant, collections } of tenants) {
    if (collections.length === 0) {
      output.line(`${output.colors.bold(tenant)}  no deletion is withheld`);
      continue;
    }
    output.line(output.colors.bold(tenant));
    showTable(output, collections, options.nowMs);
    for (const list of collections) showKeys(output, list, options.allKeys);
    output.line();
  }
  output.data({
    waits: tenants.some(({ collections }) => collections.length > 0),
    tenants: tenants.map(({ tenant, collections }) => ({ tenant, collections: collections.map(asJson) })),
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

function showKeys(output: Output, { collection, keys, count }: WithheldList, all: boolean): void {
  if (keys.length === 0) return;
  const shown = all ? keys : keys.slice(0, FIRST_KEYS);
  output.line();
  output.line(`  ${collection}:`);
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
