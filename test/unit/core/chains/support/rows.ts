import type { ChainRow } from '../../../../../src/core/chains/chain-state.ts';

/** Makes a row of student `s`, unless the fields name another one. */
export function row(id: string, fields: Partial<ChainRow> = {}): ChainRow {
  return { id, replaces: null, replacedBy: null, isDeleted: false, studentId: 's', ...fields };
}

export function isSameRow(one: ChainRow | undefined, other: ChainRow | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
