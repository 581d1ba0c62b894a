import type { RowReader } from '../../../src/core/decoded-row.ts';
import { hashOf, simulatedReader, type SimulatedRow } from '../sessions/simulated-row.ts';

/** In every id and every content: must occur in no event and no error (invariant 9). */
export const MARKER = 'zq';

/** A row whose content is told apart by a number that rises with every change in the whole hub. */
export interface TenantRow extends SimulatedRow {
  /** Of which school: rights can be lost for one. */
  readonly school: number;
  readonly name: string;
}

export function tenantRow(row: Omit<TenantRow, 'name'>): TenantRow {
  return { ...row, name: `${MARKER} ${row.sourcedId} as of ${row.version}` };
}

export function hashTextOf(row: TenantRow): string {
  return hashOf(row).toString('hex');
}

export const tenantReader: RowReader = {
  ...simulatedReader,
  read: (row) =>
    (row as TenantRow).isReadable
      ? simulatedReader.read(row)
      : simulatedReader.reject(row, 'a field could not be read'),
  encode: (value) => Buffer.from(JSON.stringify(value)),
};
