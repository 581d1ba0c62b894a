import type { KeyedRow } from '../core/page-decision.ts';
import { hasMet, type ActiveSync } from './active-sync.ts';
import { CONFIRM_AT_MOST, confirmGone } from './confirm-gone.ts';
import type { DeletionParts } from './withholding.ts';

/** What the index is asked for at once. */
const KEYS_AT_ONCE = 5_000;

/** What of an approval may go out: still gone from the hub, by this pass. */
export interface Release {
  /** Rows to remove. */
  readonly gone: readonly string[];
  /** Values that hold nothing any more. */
  readonly becameEmpty: readonly KeyedRow[];
  /** The keys of both. */
  readonly keys: readonly string[];
}

/**
 * What of an approval is still gone. A few are asked for once more; what cannot be told then has still been missed by
 * the pass that listed it and by this one.
 */
export async function findApproved(
  parts: DeletionParts,
  sync: ActiveSync,
  judged: {
    readonly becameEmpty: readonly KeyedRow[];
    readonly approved?: ReadonlySet<string> | undefined;
  },
): Promise<Release> {
  const { approved } = judged;
  if (approved === undefined || approved.size === 0) return { gone: [], becameEmpty: [], keys: [] };
  const becameEmpty = judged.becameEmpty.filter(({ key }) => key !== null && approved.has(key));
  // Not those that an earlier pass of the same approval has removed: they are no longer among the rows known.
  const left = await knownOf(parts, [...approved]);
  const missed = left.filter((key) => !hasMet(sync, 'rows', key));
  // What the configuration no longer wants goes without a question: the hub may well have it.
  const [asked, unwanted] = [
    missed.filter((key) => parts.writer.isWanted(key)),
    missed.filter((key) => !parts.writer.isWanted(key)),
  ];
  const confirmed = asked.length <= CONFIRM_AT_MOST ? await stillMissing(parts, asked) : asked;
  const gone = [...unwanted, ...confirmed];
  return { gone, becameEmpty, keys: [...gone, ...becameEmpty.flatMap(({ key }) => key ?? [])] };
}

async function stillMissing(parts: DeletionParts, missed: readonly string[]): Promise<readonly string[]> {
  const { gone, unanswered } = await confirmGone(parts, missed);
  return [...gone, ...unanswered];
}

/**
 * Publishes it; returns how many of the approved keys are gone now, those that an earlier attempt removed included.
 * They do not count to the day's sum: a person has looked at them.
 */
export async function releaseApproved(
  { writer, collection, emit }: DeletionParts,
  sync: ActiveSync,
  release: Release,
  approved: ReadonlySet<string>,
): Promise<number | null> {
  if (approved.size === 0) return null;
  await writer.publish(sync, release.becameEmpty);
  await writer.remove(sync, 'rows', release.gone);
  const left = await knownOf({ writer }, [...approved]);
  if (release.keys.length > 0) emit({ kind: 'approved', collection, rows: release.keys.length });
  return approved.size - left.length + release.becameEmpty.length;
}

async function knownOf(
  { writer }: Pick<DeletionParts, 'writer'>,
  keys: readonly string[],
): Promise<readonly string[]> {
  const known: string[] = [];
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    for (const key of await writer.known(keys.slice(from, from + KEYS_AT_ONCE))) known.push(key);
  }
  return known;
}
