import { hasMet, type ActiveSync } from './active-sync.ts';
import { findApproved, releaseApproved } from './approved-deletions.ts';
import type { DeletionResult, JudgedSync } from './judged-sync.ts';
import { reconcileList, withhold, type DeletionParts } from './withholding.ts';

const NONE_APPROVED: ReadonlySet<string> = new Set();

/**
 * Resolves a proper answer of the hub that it has no rows, while some are published. Lost rights look the same, so one
 * sync has no consequences. When the next full sync gets the same answer, all published rows are listed for a decision.
 * Only a person's approval removes them, and only if the hub then still answers the same.
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
    return nothingResolved(withheldBefore, () => memory.setNote(collection, isFirst));
  }
  const mayRelease = note.isOfEmpty && approved.size > 0;
  if (note.isOfEmpty && !mayRelease && note.count === writer.wantedRows)
    return { ...nothingResolved(withheldBefore, () => Promise.resolve()), empty: 'listed' };
  const release = mayRelease
    ? await findApproved(parts, sync, judged)
    : { gone: [], becameEmpty: [], keys: [] };
  const released = new Set(release.keys);
  const remains = (key: string): boolean =>
    writer.isWanted(key) && !hasMet(sync, 'rows', key) && !released.has(key);
  const remaining = await writer.find('rows', remains);
  const why = completeness.kind === 'proven' ? null : completeness.why;
  const withheld =
    remaining.count === 0
      ? null
      : {
          keys: remaining.keys,
          count: remaining.count,
          why: why ?? 'the hub says that the collection is empty',
          isOwn: true,
          emptyPassId: passId,
        };
  if (withheld !== null) {
    await withhold(parts, withheld, release.keys);
    parts.emit({ kind: 'withheld', collection, rows: withheld.count, why: withheld.why });
  }
  const approvedGone = mayRelease ? await releaseApproved(parts, sync, release, approved) : null;
  return {
    withheld: withheld?.count ?? 0,
    wantsSecondSync: false,
    approvedGone,
    empty: withheld === null ? 'approved' : 'listed',
    remember: async () => {
      await reconcileList(parts, withheld, release.keys);
      if (withheld === null) await memory.setMissing(collection, new Map());
    },
  };
}

function nothingResolved(withheld: number, remember: () => Promise<void>): DeletionResult {
  return { withheld, wantsSecondSync: false, approvedGone: null, remember };
}

/** A full sync got another answer: only two empty answers in a row count. */
export async function forgetEmpty({ collection, memory }: DeletionParts): Promise<void> {
  const note = await memory.note(collection);
  if (note !== null && note.emptyPassId !== null)
    await memory.setNote(collection, { ...note, emptyPassId: null, isOfEmpty: false });
}
