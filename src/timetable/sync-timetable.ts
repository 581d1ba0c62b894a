import { lastFullPullDue, type FullPullTime } from '../core/full-pull-time.ts';
import { nextSync, type NextSync } from '../core/next-sync.ts';
import type { CollectionName } from '../model/collections.ts';
import type { SyncMode } from '../model/progress.ts';
import type { MirroredCollection } from '../sync/mirrored-collection.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import { jitteredPauseMs } from '../retry-policy.ts';
import { HubError } from '../hub/hub-error.ts';
import type { DeletionMemory } from '../state/index-store.ts';
import type { Emit } from '../core/pipeline-events.ts';

/** State of the parents' collection: `ready` has had a complete full sync, `waiting` has not. */
export type ParentState = 'ready' | 'waiting' | 'not-offered';

/**
 * Whether the hub offers a collection, for `pull`, `status` and readiness. It is stored beside the index, so that `status`
 * knows it when no process runs.
 */
export class Offer {
  readonly #collection: CollectionName;
  readonly #memory: DeletionMemory;
  #isNotOffered: boolean;
  #isReported = false;

  /** `isNotOffered`: the stored state. */
  constructor(collection: CollectionName, memory: DeletionMemory, isNotOffered: boolean) {
    this.#collection = collection;
    this.#memory = memory;
    this.#isNotOffered = isNotOffered;
  }

  get isNotOffered(): boolean {
    return this.#isNotOffered;
  }

  /** Returns whether this process reports it for the first time since the hub last offered the collection. */
  async noteNotOffered(): Promise<boolean> {
    const isNews = !this.#isReported;
    this.#isReported = true;
    if (!this.#isNotOffered) await this.#memory.setNotOffered(this.#collection, true);
    this.#isNotOffered = true;
    return isNews;
  }

  async noteOffered(): Promise<void> {
    this.#isReported = false;
    if (this.#isNotOffered) await this.#memory.setNotOffered(this.#collection, false);
    this.#isNotOffered = false;
  }
}

/** `runner`: the one of the parents' collection. */
export function parentState(
  isComplete: boolean,
  runner: { readonly isNotOffered: boolean } | undefined,
): ParentState {
  if (isComplete) return 'ready';
  return runner?.isNotOffered === true ? 'not-offered' : 'waiting';
}

/** When the hub does not offer the parents' collection, it does not offer the nested one either. */
export function parentNotOffered(collection: CollectionName, parent: CollectionName): HubError {
  return new HubError(
    'HUB_NOT_OFFERED',
    `${collection} cannot be read: the hub does not offer ${parent}, whose ids the requests need`,
    { remedy: `Remove ${collection} from the configuration; the others are mirrored anyway.` },
  );
}

/** A collection whose syncs run in a session. */
export interface SyncedCollection {
  readonly collection: CollectionName;
  readonly sync: MirroredCollection;
  /** The collection whose rows lead to this one's scans; null for most. */
  readonly parent: CollectionName | null;
  /** State of the parents' collection; ready when there is none. */
  readonly parents: () => ParentState;
  /** Whether the configuration may name parents that it did not name when the last complete full sync ran. */
  readonly hasNewParents: () => Promise<boolean>;
  readonly offer: Offer;
  /** Whether the hub filters the collection by the time of a change, or its source knows which scopes have changed. */
  readonly hasIncremental: boolean;
  readonly fullPull: FullPullTime;
  readonly deltaEveryMs: number;
  readonly now: () => number;
  /** 0 to 1 */
  readonly random: () => number;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly emit: Emit;
}

const LONGEST_RETRY_MS = 300_000;
/** As long as a refused client waits before it asks for a token again (hub/token.ts). */
const LONGEST_ASKED_MS = 600_000;
const SHORTEST_RETRY_MS = 1_000;

/** When a sync that failed or proved nothing may run again. By mode: a failed full sync says little about incremental ones. */
export class SyncRetries {
  readonly #parts: Pick<SyncedCollection, 'deltaEveryMs' | 'now' | 'random'>;
  /** In a row. */
  readonly #failures: Record<SyncMode, number> = { FULL: 0, INCREMENTAL: 0 };
  readonly #notBeforeMs: Record<SyncMode, number> = { FULL: 0, INCREMENTAL: 0 };
  #notedAtMs = 0;

  constructor(parts: Pick<SyncedCollection, 'deltaEveryMs' | 'now' | 'random'>) {
    this.#parts = parts;
  }

  /** The mode's syncs work. */
  clear(mode: SyncMode): void {
    this.#failures[mode] = 0;
    this.#notBeforeMs[mode] = 0;
  }

  /**
   * Notes one more failure in a row; returns for how many ms such a sync is not tried again. `askedMs`: how long the
   * hub, its token endpoint or an open circuit lets nothing through: a sync before that would only fail again.
   */
  postpone(mode: SyncMode, askedMs = 0): number {
    const { deltaEveryMs, now, random } = this.#parts;
    this.#failures[mode] += 1;
    const firstMs = Math.max(SHORTEST_RETRY_MS, Math.min(deltaEveryMs, 15_000));
    const backoff = { firstMs, longestMs: LONGEST_RETRY_MS };
    const ownMs = jitteredPauseMs(backoff, this.#failures[mode], random);
    const retryInMs = Math.max(SHORTEST_RETRY_MS, ownMs, Math.min(askedMs, LONGEST_ASKED_MS));
    this.postponeUntil(mode, now() + retryInMs);
    return retryInMs;
  }

  postponeUntil(mode: SyncMode, atMs: number): void {
    this.#notedAtMs = this.#parts.now();
    this.#notBeforeMs[mode] = atMs;
  }

  /** A time that was noted by a clock that has been set back since does not count. */
  notBefore(mode: SyncMode, nowMs: number): number {
    return nowMs < this.#notedAtMs ? 0 : this.#notBeforeMs[mode];
  }
}

/** If only full syncs bring changes, the pause between them is this many times their duration. */
const FULL_RESTS = 10;

/** Which sync of a collection is due, from the results of its last syncs. The rules are in core/next-sync.ts. */
export class SyncTimetable {
  readonly #parts: SyncedCollection;
  readonly #retries: SyncRetries;
  #lastSyncAtMs: number | null = null;
  #lastFullAtMs: number | null;
  #isFilterRefused = false;
  #fullTookMs = 0;

  constructor(parts: SyncedCollection, retries: SyncRetries) {
    this.#parts = parts;
    this.#retries = retries;
    const { isMappingNew, completeSinceMs } = parts.sync.writer.committed;
    // Fields that `drop` and `pseudonymise` newly name must leave the topics now, not with the next daily full sync.
    this.#lastFullAtMs = isMappingNew ? null : completeSinceMs;
  }

  next(): NextSync {
    const { sync, fullPull, deltaEveryMs, now } = this.#parts;
    const nowMs = now();
    const hubNowMs = sync.findings.hubTimeMs(nowMs);
    const watermarkMs = sync.writer.progress?.watermarkMs ?? null;
    // Which scopes have changed is known, however long ago all were read.
    const isByTime = watermarkMs === null || sync.source.changes === undefined;
    return nextSync({
      watermarkMs: isByTime ? watermarkMs : hubNowMs,
      lastFullAtMs: this.#isWrongTenant ? null : this.#lastFullAtMs,
      lastSyncAtMs: this.#lastSyncAtMs,
      fullDueAtMs: lastFullPullDue(fullPull, nowMs),
      fullNotBeforeMs: this.#retries.notBefore('FULL', nowMs),
      confirmAtMs: sync.settling.missing.owed?.atMs ?? null,
      incrementalNotBeforeMs: this.#retries.notBefore('INCREMENTAL', nowMs),
      deltaEveryMs,
      hasIncremental: this.canBeIncremental && this.mayBringChanges,
      fullEveryMs: this.#isFilterRefused ? Math.max(deltaEveryMs, this.#fullTookMs * FULL_RESTS) : null,
      hubNowMs,
      nowMs,
    });
  }

  /** Whether incremental syncs are possible; otherwise a full sync replaces each. */
  get canBeIncremental(): boolean {
    const { writer } = this.#parts.sync;
    const isKnown = writer.committed.completeSinceMs !== null && writer.progress?.watermarkMs != null;
    return this.hasIncremental && isKnown && !this.#isWrongTenant;
  }

  /** Whether the hub supports the filter of incremental syncs; true until it refuses it. */
  get hasIncremental(): boolean {
    return this.#parts.hasIncremental && !this.#isFilterRefused;
  }

  /** Whether an incremental sync has anything to read. */
  get mayBringChanges(): boolean {
    return this.#parts.sync.source.changes?.isEmpty !== true;
  }

  /** Almost none of the rows were known: only a full sync shows which tenant they belong to. */
  get #isWrongTenant(): boolean {
    return this.#parts.sync.identity?.isFlagged(this.#parts.collection) === true;
  }

  noteFilterRefused(): void {
    this.#isFilterRefused = true;
  }

  /** A full sync is due at once. */
  requireFull(): void {
    this.#lastFullAtMs = null;
  }

  noteEnd(mode: SyncMode, { kind }: SyncResult, startedAtMs: number): void {
    const nowMs = this.#parts.now();
    // The pause after a full sync counts from its end, because it may have taken long.
    this.#lastSyncAtMs = mode === 'FULL' ? nowMs : startedAtMs;
    if (mode === 'FULL') this.#fullTookMs = nowMs - startedAtMs;
    if (mode === 'FULL' && kind === 'complete') this.#lastFullAtMs = startedAtMs;
  }
}
