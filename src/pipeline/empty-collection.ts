import { hasMet, type ActiveSync } from './active-sync.ts';
import { findApproved, releaseApproved } from './approved-deletions.ts';
import type { DeletionResult, JudgedSync } from './judged-sync.ts';
import { reconcileList, withhold, type DeletionParts } from './withholding.ts';

const NONE_APPROVED: ReadonlySet<string> = new Set();

/**
 * The hub says properly that it has no rows, where some are known. Lost rights look like that: nothing follows from
 * one pass. When the next full pass hears the same, all that is known is listed for a person, and nothing else lets it
 * out than that person's approval, given to a hub that still says so.
 */
export async function resolveEmpty(
  parts: DeletionParts,
  sync: ActiveSync,
  judged: JudgedSync & { readonly withheldBefore: number },
): Promise<DeletionResult> {
  const { collection, memory, writer } = parts;
  const { completeness, approved = NONE_APPROVED, withheldBefore } = judged;
  const { passId } = sync.stats;
  const note = await memory.note(collection);
  if (note === null || note.emptyPassId === null) {
    const isFirst = {
      why: null,
      count: 0,
      settledPassId: null,
      isOfEmpty: false,
      ...note,
      emptyPassId: passId,
    };
    return unsettled(withheldBefore, () => memory.setNote(collection, isFirst));
  }
  const mayRelease = note.isOfEmpty && approved.size > 0;
  if (note.isOfEmpty && !mayRelease && note.count === writer.wantedRows)
    return { ...unsettled(withheldBefore, () => Promise.resolve()), empty: 'listed' };
  const release = mayRelease
    ? await findApproved(parts, sync, judged)
    : { gone: [], becameEmpty: [], keys: [] };
  const released = new Set(release.keys);
  const isLeft = (key: string): boolean =>
    writer.isWanted(key) && !hasMet(sync, 'rows', key) && !released.has(key);
  const left = await writer.find('rows', isLeft);
  const why = completeness.kind === 'proven' ? null : completeness.why;
  const held =
    left.count === 0
      ? null
      : {
          keys: left.keys,
          count: left.count,
          why: why ?? 'it is said to be empty',
          isOwn: true,
          emptyPassId: passId,
        };
  if (held !== null) {
    await withhold(parts, held, release.keys);
    parts.emit({ kind: 'withheld', collection, rows: held.count, why: held.why });
  }
  const approvedGone = mayRelease ? await releaseApproved(parts, sync, release, approved) : null;
  return {
    withheld: held?.count ?? 0,
    wantsSecondSync: false,
    approvedGone,
    empty: held === null ? 'approved' : 'listed',
    remember: async () => {
      await reconcileList(parts, held, release.keys);
      if (held === null) await memory.setMissing(collection, new Map());
    },
  };
}

function unsettled(withheld: number, remember: () => Promise<void>): DeletionResult {
  return { withheld, wantsSecondSync: false, approvedGone: null, remember };
}

/** A full pass heard something else: that the hub has no rows must be said twice in a row. */
export async function forgetEmpty({ collection, memory }: DeletionParts): Promise<void> {
  const note = await memory.note(collection);
  if (note !== null && note.emptyPassId !== null)
    await memory.setNote(collection, { ...note, emptyPassId: null, isOfEmpty: false });
}
