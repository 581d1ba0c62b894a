import type { District } from '../district/district.ts';
import type { Row } from '../district/row.ts';
import type { Listing } from '../district/row-store.ts';
import type { Random } from '../random.ts';

/** One kind of thing that happens in a district. */
export interface Change {
  readonly name: string;
  /** How often, in relation to the others. */
  readonly weight: number;
  /** False if there was nothing to change. */
  readonly make: (district: District, random: Random) => boolean;
}

/** Any row that fits, of at most thirty looked at. */
export function anyRow(
  listing: Listing,
  options: { random: Random; fits?: ((row: Row) => boolean) | undefined },
): Row | undefined {
  if (listing.rows.length === 0) return undefined;
  for (let attempt = 0; attempt < 30; attempt += 1) {
    const row = options.random.pick(listing.rows);
    if (options.fits === undefined || options.fits(row)) return row;
  }
  return undefined;
}
