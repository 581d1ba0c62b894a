import { judgeScan } from '../../core/verify/judge-scan.ts';
import type { HubScan } from './hub-rows.ts';

/** What a walk brought that none before it had; of it, what was there when the first one began. */
export interface ScanFindings {
  readonly scan: HubScan;
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
export async function readUntilComplete(
  knownRows: number,
  read: (firstStartedAtMs: number | null) => Promise<ScanFindings>,
): Promise<Doubt | null> {
  let firstStartedAtMs: number | null = null;
  let rows = 0;
  for (let number = 1; ; number += 1) {
    const { scan, news, oldNews } = await read(firstStartedAtMs);
    rows += news;
    const verdict = judgeScan({ scan: { ...scan, knownRows }, number, news, oldNews });
    if (verdict.kind === 'complete') return null;
    // A walk without a row after one that had some is no empty collection.
    if (verdict.kind === 'unproven') return { why: verdict.why, isEmpty: verdict.isEmpty && rows === 0 };
    if (number === 1) firstStartedAtMs = scan.startedAtMs;
  }
}
