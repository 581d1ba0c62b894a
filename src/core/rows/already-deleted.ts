import type { ReadableRow } from './decoded-row.ts';
import { isJsonObject } from './raw-json.ts';

/**
 * Whether a row that is not published yet is deleted already: it is marked `tobedeleted`, or it has a `deletedTime`,
 * and the version that it replaces, if any, does not belong to a live absence (one whose deletion has not been
 * published). Some servers leave such rows out of the plain list, and return them for a filter by time. So only a full
 * sync, which reads the plain list, publishes them. `isLive`: whether a version belongs to a live absence.
 */
export function isAlreadyDeleted(
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
  const { sourcedId } = isJsonObject(replaces) ? replaces : {};
  return typeof sourcedId === 'string' ? sourcedId : null;
}
