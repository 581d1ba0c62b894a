import type { PageTally } from '../core/page-decision.ts';
import type { LateRowWatch } from '../core/late-rows.ts';
import type { CollectionWriter } from './collection-writer.ts';
import type { HubFindings } from './hub-findings.ts';
import type { TenantIdentity } from './tenant-identity.ts';
import type { DeletionParts } from './withholding.ts';
import type { SyncStats } from './sync-stats.ts';
import type { SourceScan } from './source-page.ts';

export interface SyncParts {
  readonly writer: CollectionWriter;
  readonly scans: (order?: 'known-first') => Promise<readonly SourceScan[]>;
  /** Throws when the topics no longer hold what a full pass compares with. */
  readonly requireRecords: () => Promise<void>;
  readonly deletions: DeletionParts;
  /** Null where rows are asked for by the keys of others: those cannot be another tenant's. */
  readonly identity: TenantIdentity | null;
  readonly overlapMs: number;
  /** The watermark that the session began with: another process, with another overlap, may have stored it. */
  readonly inheritedWatermarkMs: number | null;
  /** Finds rows that deltas have missed; lives as long as the session. */
  readonly late: LateRowWatch;
  readonly findings: HubFindings;
  readonly now: () => number;
  readonly randomId: () => string;
  readonly onPage: (stats: SyncStats, tally: PageTally) => void;
}
