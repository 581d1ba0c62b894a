import { judgeScan } from '../core/verify/judge-scan.ts';
import type { HubScan } from './hub-rows.ts';

export interface ScanFindings {
  readonly scan: HubScan;
  /** Rows that no earlier scan had. */
  readonly news: number;
  /** The part of `news` that was at the hub when the first scan began. */
  readonly newRowsThereAtStart: number;
}

/**
 * Repeats a scan until all rows are seen, or another scan will not help. `firstStartedAtMs`: start of the first scan by
 * the hub's clock, ms since the epoch; null for the first scan itself, and when the hub sends no time. Returns null when
 * the scans together saw all rows, else why they do not prove it.
 */
export async function readUntilComplete(
  read: (firstStartedAtMs: number | null) => Promise<ScanFindings>,
): Promise<string | null> {
  let firstStartedAtMs: number | null = null;
  for (let number = 1; ; number += 1) {
    const { scan, news, newRowsThereAtStart } = await read(firstStartedAtMs);
    const verdict = judgeScan({ scopes: scan.scopes, number, news, newRowsThereAtStart });
    if (verdict.kind === 'complete') return null;
    if (verdict.kind === 'unproven') return verdict.why;
    if (number === 1) firstStartedAtMs = scan.startedAtMs;
  }
}
