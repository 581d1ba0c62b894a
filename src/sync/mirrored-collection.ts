import type { PageTally } from '../core/row-changes.ts';
import type { PageMemory } from '../core/pages/page-memory.ts';
import type { LateRowWatch } from '../core/late-rows.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { HubFindings } from './hub-findings.ts';
import type { IdentityCheck } from './identity.ts';
import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from '../state/index-store.ts';
import type { Settling } from './settle-missing.ts';
import type { SyncStats } from '../core/sync-stats.ts';
import type { Source } from '../source/source.ts';

/** A collection of a session, as its syncs know it. */
export interface MirroredCollection {
  readonly writer: CollectionWriter;
  /** The pages of earlier full syncs; null where every page is to be parsed. */
  readonly pages: PageMemory | null;
  readonly source: Pick<Source, 'begin' | 'scopeOf' | 'changes'>;
  /** Throws when the topics have lost records that a full sync compares with. */
  readonly requireRecords: () => Promise<void>;
  readonly collection: CollectionName;
  readonly memory: DeletionMemory;
  readonly settling: Settling;
  /** How many scopes are opened ahead of their turn. */
  readonly scopesAhead: number;
  /** Null when requests use the keys of another collection's rows: such rows cannot be another tenant's. */
  readonly identity: IdentityCheck | null;
  readonly overlapMs: number;
  /** The watermark that the session began with: another process, with another overlap, may have stored it. */
  readonly inheritedWatermarkMs: number | null;
  /** Finds rows that incremental syncs missed; lives as long as the session. */
  readonly late: LateRowWatch;
  readonly findings: HubFindings;
  readonly now: () => number;
  readonly randomId: () => string;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onPage: (stats: SyncStats, tally: PageTally) => void;
}
