import { judgeWalk } from '../../core/verify/judge-walk.ts';
import type { HubWalk } from './hub-rows.ts';

/** What a walk brought that none before it had; of it, what was there when the first one began. */
export interface WalkNews {
  readonly walk: HubWalk;
  readonly news: number;
  readonly oldNews: number;
}

/** Why nothing is proven by what the hub was seen to have. */
export interface Doubt {
  readonly why: string;
  /** It says that it has no rows: which may be true, or all that a token without rights is shown. */
  readonly isEmpty: boolean;
}

/**
 * Reads until it is certain, or another walk will not make it so. `firstStartedAtMs`: when the first walk began, null
 * for that one itself, and where the hub does not tell. Returns null when all was seen, in the walks together.
 */
export async function readUntilWhole(
  knownRows: number,
  read: (firstStartedAtMs: number | null) => Promise<WalkNews>,
): Promise<Doubt | null> {
  let firstStartedAtMs: number | null = null;
  let rows = 0;
  for (let number = 1; ; number += 1) {
    const { walk, news, oldNews } = await read(firstStartedAtMs);
    rows += news;
    const verdict = judgeWalk({ walk: { ...walk, knownRows }, number, news, oldNews });
    if (verdict.kind === 'whole') return null;
    // A walk without a row after one that had some is no empty collection.
    if (verdict.kind === 'unproven') return { why: verdict.why, isEmpty: verdict.isEmpty && rows === 0 };
    if (number === 1) firstStartedAtMs = walk.startedAtMs;
  }
}
