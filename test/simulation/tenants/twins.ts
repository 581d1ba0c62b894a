import { tenantRow, type TenantRow } from './tenant-row.ts';

/** A row, or a student of a class, as the hub lists it. */
export interface ListedRow {
  readonly id: string;
  readonly row: TenantRow | { readonly sourcedId: string };
}

/** Of so many ids one is listed twice in a page, and another one once more on the next page. */
const ONE_OF = 5;
const IN_A_PAGE = 0;
const ON_THE_NEXT_PAGE = 3;

/**
 * A page with the second contents under some of its ids: older versions, which no reader may take for the row, at
 * whatever pass. `due`: those of the page before; `later`: those for the next one, if there is one. A hub that shows one
 * of a pair without the other is promised nothing (invariant 8), and the totals count ids.
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
