import { describeError, isFromHub } from '../errors.ts';
import type { DeletionParts } from './withholding.ts';

/** More candidates than this are not asked for one by one; they must be missing from two passes (design). */
export const CONFIRM_AT_MOST = 100;

/**
 * Asks the hub for candidates one by one; `unanswered`: it could not tell.
 *
 * @param controlRow a row that the hub has just given, asked for with them: a hub that has lost sight of that one, too (a
 *   token without rights, an empty answer), tells nothing of the others
 */
export async function confirmGone(
  parts: DeletionParts,
  keys: readonly string[],
  controlRow?: string,
): Promise<{ gone: readonly string[]; unanswered: readonly string[] }> {
  if (keys.length === 0) return { gone: [], unanswered: [] };
  const unanswered = (why: string): { gone: readonly string[]; unanswered: readonly string[] } => {
    parts.emit({ kind: 'second-pass', collection: parts.collection, rows: keys.length, why });
    return { gone: [], unanswered: keys };
  };
  try {
    const existing = await parts.findExisting(controlRow === undefined ? keys : [...keys, controlRow]);
    if (controlRow !== undefined && !existing.has(controlRow))
      return unanswered('the hub does not find a row either that it has just given');
    return { gone: keys.filter((key) => !existing.has(key)), unanswered: [] };
  } catch (error) {
    if (!isFromHub(error)) throw error;
    return unanswered(describeError(error));
  }
}
