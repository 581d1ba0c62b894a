import { RollcallError, describeError } from '../errors.ts';
import type { DeletionParts } from './withholding.ts';

/** More candidates than this are not asked for one by one; they must be missing from two passes (design). */
export const CONFIRM_AT_MOST = 100;

/** Asks the hub for candidates one by one; `unanswered`: it could not tell. */
export async function confirmGone(
  parts: DeletionParts,
  keys: readonly string[],
): Promise<{ gone: readonly string[]; unanswered: readonly string[] }> {
  if (keys.length === 0) return { gone: [], unanswered: [] };
  try {
    const existing = await parts.findExisting(keys);
    return { gone: keys.filter((key) => !existing.has(key)), unanswered: [] };
  } catch (error) {
    if (!(error instanceof RollcallError) || !error.code.startsWith('HUB_')) throw error;
    parts.say({
      kind: 'second-pass',
      collection: parts.collection,
      rows: keys.length,
      why: describeError(error),
    });
    return { gone: [], unanswered: keys };
  }
}
