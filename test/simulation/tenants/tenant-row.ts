import type { RowReader } from '../../../src/core/decoded-row.ts';
import { hashOf, simulatedReader, type SimulatedRow } from '../sessions/simulated-row.ts';

/** Part of every id and every content, which must occur in no event and no error (invariant 9). */
export const MARKER = 'zq';

/** A row with a number in its content, which rises with every change in the whole hub. */
export interface TenantRow extends SimulatedRow {
  /** The school of the row: rights can be lost for one school. */
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
