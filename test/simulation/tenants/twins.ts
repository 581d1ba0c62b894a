import type { HubVersion } from '../chains/hub-version.ts';
import { tenantRow, type TenantRow } from './tenant-row.ts';

/** A row, a version of an absence, or a student of a class, as the hub lists it. */
export interface ListedRow {
  readonly id: string;
  readonly row: TenantRow | HubVersion | { readonly sourcedId: string };
}

/** One of this many ids is listed twice. */
const ONE_OF = 5;

/**
 * A page in which some ids are listed twice, the second time with an older version, which no sync may publish. Nothing is
 * promised for a hub that shows one of a pair without the other (invariant 8), and the totals count ids.
 */
export function withTwins(page: readonly ListedRow[]): readonly ListedRow[] {
  return page.flatMap((listed) => {
    const twin = Number(listed.id.slice(-2)) % ONE_OF === 0 ? twinOf(listed) : null;
    return twin === null ? [listed] : [listed, twin];
  });
}

function twinOf({ id, row }: ListedRow): ListedRow | null {
  if (!('version' in row) || row.version === 1) return null;
  return { id, row: tenantRow({ ...row, version: row.version - 1, isReadable: true }) };
}
