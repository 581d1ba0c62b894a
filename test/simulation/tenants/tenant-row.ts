import type { RowReader } from '../../../src/core/rows/decoded-row.ts';

/** Part of every id and every content, which must occur in no event and no error (invariant 9). */
export const MARKER = 'zq';

/** A row with a number in its content, which rises with every change in the whole hub. */
export interface TenantRow {
  readonly sourcedId: string;
  readonly version: number;
  readonly modifiedAtMs: number;
  readonly isReadable: boolean;
  readonly name: string;
}

export function tenantRow(row: Omit<TenantRow, 'name'>): TenantRow {
  return { ...row, name: `${MARKER} ${row.sourcedId} as of ${row.version}` };
}

/** Of the version and whether it can be read: a re-stamp leaves it as it is. */
function hashOf({ version, isReadable }: TenantRow): Buffer {
  const hash = Buffer.alloc(16);
  hash.writeUInt32BE(version, 0);
  hash.writeUInt8(isReadable ? 0 : 1, 4);
  return hash;
}

/** A row without its stamp. */
export function contentOf(row: TenantRow): Omit<TenantRow, 'modifiedAtMs'> {
  const { modifiedAtMs: _, ...content } = row;
  return content;
}

export const tenantReader = {
  read(row: unknown) {
    const value = row as TenantRow;
    const { sourcedId, modifiedAtMs, isReadable } = value;
    return isReadable
      ? { kind: 'row', sourcedId, value: contentOf(value), hash: hashOf(value), modifiedAtMs }
      : tenantReader.reject(row, 'a field could not be read');
  },
  reject(row: unknown, reason: string) {
    const value = row as TenantRow;
    const { sourcedId, modifiedAtMs } = value;
    const text = JSON.stringify(contentOf(value));
    return {
      kind: 'reject',
      sourcedId: sourcedId || null,
      rejectId: sourcedId || 'nameless',
      reason,
      text,
      modifiedAtMs,
      hash: hashOf(value),
    };
  },
  encode: (value: object) => Buffer.from(JSON.stringify(value)),
  mapping: null,
} as RowReader;
