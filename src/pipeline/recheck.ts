import { describeError, isFromHub } from '../errors.ts';
import type { DeletionParts } from './withheld-deletions.ts';

/** Above this number, candidates are not requested by id; two syncs must miss them (design). */
export const RECHECK_AT_MOST = 100;

/**
 * Requests candidates from the hub by id; `unanswered`: keys without a conclusive answer. A row that the hub finds is in
 * neither list.
 *
 * @param controlRow a row that the hub has just returned, requested together with the candidates: if the hub does not find
 *   this row either (a token without rights, an empty answer), what else it does not find proves nothing
 */
export async function recheck(
  parts: DeletionParts,
  keys: readonly string[],
  controlRow?: string,
): Promise<{ gone: readonly string[]; unanswered: readonly string[] }> {
  if (keys.length === 0) return { gone: [], unanswered: [] };
  const unanswered = (
    rest: readonly string[],
    why: string,
  ): { gone: readonly string[]; unanswered: readonly string[] } => {
    if (rest.length > 0)
      parts.emit({ kind: 'second-sync', collection: parts.collection, rows: rest.length, why });
    return { gone: [], unanswered: rest };
  };
  try {
    const existing = await parts.findExisting(controlRow === undefined ? keys : [...keys, controlRow]);
    const notFound = keys.filter((key) => !existing.has(key));
    if (controlRow !== undefined && !existing.has(controlRow))
      return unanswered(notFound, 'asked again, the hub does not find a row that it has just returned');
    return { gone: notFound, unanswered: [] };
  } catch (error) {
    if (!isFromHub(error)) throw error;
    return unanswered(keys, describeError(error));
  }
}
