import type { ReadableRow } from '../rows/decoded-row.ts';

/**
 * Whether a row that is not known yet is over already. Public servers hide such rows from the plain list and show them to
 * filters, so only a full sync, which reads the plain list, takes them in. `isLive`: whether a version is of a live absence.
 */
export function isOverBeforeMet(
  { value }: Pick<ReadableRow, 'value'>,
  isLive: (key: string) => boolean,
): boolean {
  const row = value as { status?: unknown; deletedTime?: unknown; replaces?: unknown };
  if (row.status === 'tobedeleted') return true;
  if (row.deletedTime === null || row.deletedTime === undefined) return false;
  const replaced = replacedBy(row);
  return replaced === null || !isLive(replaced);
}

/** The id of the version that a version of an absence replaces; null for none, and for a row of another collection. */
export function replacedBy({ replaces }: { replaces?: unknown }): string | null {
  const { sourcedId } = (typeof replaces === 'object' && replaces !== null ? replaces : {}) as {
    sourcedId?: unknown;
  };
  return typeof sourcedId === 'string' ? sourcedId : null;
}
