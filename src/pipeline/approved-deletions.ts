import type { KeyedRow } from '../core/row-changes.ts';
import { hasSeen, type ActiveSync } from './active-sync.ts';
import { RECHECK_AT_MOST, recheck } from './recheck.ts';
import type { DeletionParts } from './withheld-deletions.ts';

/** Keys to look up in the index at once. */
const KEYS_AT_ONCE = 5_000;

/** The part of an approval that may be published: what this sync still does not find at the hub. */
export interface Release {
  /** Keys of rows to remove. */
  readonly gone: readonly string[];
  /** Values that are empty now. */
  readonly becameEmpty: readonly KeyedRow[];
  /** The keys of both. */
  readonly keys: readonly string[];
}

/**
 * Finds the approved keys that the hub still does not have. Up to 100 are requested by id; a key without an answer counts
 * as missing, because the sync that listed it and this one both missed it.
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
  // Skip keys that an earlier sync of the same approval has removed.
  const remaining = await knownOf(parts, [...approved]);
  const missed = remaining.filter((key) => !hasSeen(sync, 'rows', key));
  // Remove unwanted keys without a request: the hub may have them.
  const [asked, unwanted] = [
    missed.filter((key) => parts.writer.known.isWanted(key)),
    missed.filter((key) => !parts.writer.known.isWanted(key)),
  ];
  const confirmed = asked.length <= RECHECK_AT_MOST ? await stillMissing(parts, asked) : asked;
  const gone = [...unwanted, ...confirmed];
  return { gone, becameEmpty, keys: [...gone, ...becameEmpty.flatMap(({ key }) => key ?? [])] };
}

async function stillMissing(parts: DeletionParts, missed: readonly string[]): Promise<readonly string[]> {
  const { gone, unanswered } = await recheck(parts, missed);
  return [...gone, ...unanswered];
}

/**
 * Publishes a release; returns how many of the approved keys are removed now, including those of an earlier attempt. They
 * do not count as deletions of the day, because a person has decided on them.
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
  const remaining = await knownOf({ writer }, [...approved]);
  if (release.keys.length > 0) emit({ kind: 'approved', collection, rows: release.keys.length });
  return approved.size - remaining.length + release.becameEmpty.length;
}

async function knownOf(
  { writer }: Pick<DeletionParts, 'writer'>,
  keys: readonly string[],
): Promise<readonly string[]> {
  const known: string[] = [];
  for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
    for (const key of await writer.known.among(keys.slice(from, from + KEYS_AT_ONCE))) known.push(key);
  }
  return known;
}
