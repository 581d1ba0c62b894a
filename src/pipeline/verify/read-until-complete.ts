import { judgeScan } from '../../core/verify/judge-scan.ts';
import type { HubScan } from './hub-rows.ts';

export interface ScanFindings {
  readonly scan: HubScan;
  /** Rows that no earlier scan had. */
  readonly news: number;
  /** The part of `news` that was at the hub when the first scan began. */
  readonly newRowsThereAtStart: number;
}

/** Why the scans do not prove that all rows were seen. */
export interface Doubt {
  readonly why: string;
  /** The hub returns no rows: either it has none, or the token has no rights. */
  readonly isEmpty: boolean;
}

/**
 * Repeats a scan until all rows are seen, or another scan will not help. `firstStartedAtMs`: start of the first scan by
 * the hub's clock, ms since the epoch; null for the first scan itself, and when the hub sends no time. Returns null when
 * the scans together saw all rows.
 */
export async function readUntilComplete(
  knownRows: number,
  read: (firstStartedAtMs: number | null) => Promise<ScanFindings>,
): Promise<Doubt | null> {
  let firstStartedAtMs: number | null = null;
  let rows = 0;
  for (let number = 1; ; number += 1) {
    const { scan, news, newRowsThereAtStart } = await read(firstStartedAtMs);
    rows += news;
    const verdict = judgeScan({ scan: { ...scan, knownRows }, number, news, newRowsThereAtStart });
    if (verdict.kind === 'complete') return null;
    // A scan without rows after one with rows does not show an empty collection.
    if (verdict.kind === 'unproven') return { why: verdict.why, isEmpty: verdict.isEmpty && rows === 0 };
    if (number === 1) firstStartedAtMs = scan.startedAtMs;
  }
}
