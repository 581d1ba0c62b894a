import type { RowReader } from '../../../src/core/decoded-row.ts';

/** A row with a number as content, which rises with every change in the whole hub. */
export interface SimulatedRow {
  readonly sourcedId: string;
  readonly version: number;
  readonly modifiedAtMs: number;
  readonly isReadable: boolean;
}

/** The version and whether it can be read: a re-stamp leaves it as it is. */
export function hashOf({ version, isReadable }: SimulatedRow): Buffer {
  const hash = Buffer.alloc(16);
  hash.writeUInt32BE(version, 0);
  hash.writeUInt8(isReadable ? 0 : 1, 4);
  return hash;
}

/** The version in a `content-hash` header. */
export function versionIn(hash: string): number {
  return Buffer.from(hash, 'hex').readUInt32BE(0);
}

export const simulatedReader: RowReader = {
  read(row) {
    const read = row as SimulatedRow;
    if (!read.isReadable) return simulatedReader.reject(row, 'simulated');
    const { sourcedId, modifiedAtMs } = read;
    return { kind: 'row', sourcedId, value: read, hash: hashOf(read), modifiedAtMs };
  },
  reject(row, reason) {
    const read = row as SimulatedRow;
    const { sourcedId, modifiedAtMs } = read;
    return {
      kind: 'reject',
      sourcedId,
      rejectId: sourcedId,
      reason,
      text: null,
      modifiedAtMs,
      hash: hashOf(read),
    };
  },
  encode: (value) => Buffer.from(String((value as SimulatedRow).version)),
};
