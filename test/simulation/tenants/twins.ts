import type { HubVersion } from '../chains/hub-version.ts';
import { tenantRow, type TenantRow } from './tenant-row.ts';

/** A row, a version of an absence, or a student of a class, as the hub lists it. */
export interface ListedRow {
  readonly id: string;
  readonly row: TenantRow | HubVersion | { readonly sourcedId: string };
}

/** One of this many ids is listed twice in a page, and another one again on the next page. */
const ONE_OF = 5;
const IN_A_PAGE = 0;
const ON_THE_NEXT_PAGE = 3;

/**
 * A page with second contents under some of its ids: older versions, which no sync may publish. `due`: those of the page
 * before; `later`: those for the next page, if there is one. Nothing is promised for a hub that shows one of a pair without
 * the other (invariant 8), and the totals count ids.
 */
export function withTwins(
  some: readonly ListedRow[],
  due: readonly ListedRow[],
): { readonly page: readonly ListedRow[]; readonly later: readonly ListedRow[] } {
  if (some.length === 0) return { page: some, later: [] };
  const later: ListedRow[] = [];
  const page = some.flatMap((listed) => {
    const twin = twinOf(listed);
    const kind = Number(listed.id.slice(-2)) % ONE_OF;
    if (twin !== null && kind === ON_THE_NEXT_PAGE) later.push(twin);
    return twin !== null && kind === IN_A_PAGE ? [listed, twin] : [listed];
  });
  return { page: [...due, ...page], later };
}

function twinOf({ id, row }: ListedRow): ListedRow | null {
  if (!('version' in row) || row.version === 1) return null;
  return { id, row: tenantRow({ ...row, version: row.version - 1, isReadable: true }) };
}
