import type { ScanEvidence } from '../core/deletions/evidence.ts';
import type { PageMemory } from '../core/pages/page-memory.ts';
import type { KeyedRow } from '../core/rows/compare-with-published.ts';
import type { SyncClock } from '../core/watermark.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Reading } from '../source/source-scan.ts';
import type { Source } from '../source/source.ts';
import type { ActiveSync } from '../table/active-sync.ts';
import type { CollectionWriter } from '../table/collection-writer.ts';
import type { Deletions } from '../table/deletions.ts';
import type { Tenant, TenantCollection } from '../table/tenant.ts';
import type { HubFindings } from './hub-findings.ts';
import type { ScopeAnswers } from './scope-answers.ts';
import type { SyncOptions } from './sync-result.ts';

/** A collection of a session. */
export interface MirroredCollection {
  readonly tenant: Tenant;
  readonly settings: TenantCollection;
  readonly writer: CollectionWriter;
  readonly source: Source;
  readonly deletions: Deletions;
  /** The pages of earlier full syncs; undefined if every page is to be parsed. */
  readonly pages: PageMemory | undefined;
  readonly findings: HubFindings;
  /** Throws if topics have lost records. A full sync would compare its rows with these records. */
  readonly requireRecords: () => Promise<void>;
  /** The collections of the session. */
  readonly all: ReadonlyMap<CollectionName, MirroredCollection>;
}

export type RunOptions = SyncOptions & { readonly signal: AbortSignal };

/** A running sync. `sync` is the part that the writer keeps: what was seen and counted. */
export interface RunningSync {
  readonly own: MirroredCollection;
  readonly sync: ActiveSync;
  readonly options: RunOptions;
  readonly reading: Reading;
  readonly answers: ScopeAnswers;
  /** The scopes that the sync is to read. */
  readonly wanted: ReadonlySet<string>;
  /** Whether the sync reads only some scopes of the collection. Then it says nothing about the others. */
  readonly isPart: boolean;
  /** For a full sync with {@link MirroredCollection.pages}: what `PageMemory.beginFull` returned. */
  readonly pagesSince: number | undefined;
  readonly knownRowsBefore: number;
  /**
   * Values that had content and have none now, such as a class that lost all its students, by their keys. The end of the sync
   * decides about them.
   */
  readonly becameEmpty: Map<string, KeyedRow>;
}

/** The result of a sync's scans; the writer has their rows. */
export interface Scanned {
  readonly scans: readonly ScanEvidence[];
  readonly clock: SyncClock;
}
