import { RollcallError } from '../../errors.ts';
import { decodeAbsent } from '../../core/chains/absent-entry.ts';
import { decodePublishedAbsence } from '../../core/chains/published-absence.ts';
import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import type { ChainCollection } from '../../model/collections.ts';
import type { CollectionIndex, IndexArea, IndexChange } from '../../state/index-store.ts';
import type { OutgoingRecord } from '../../log/log.ts';
import { KnownChains, type LookUp } from './chain-lookup.ts';
import { contradictionChanges } from './contradiction-changes.ts';
import { noTally, type ChainOutcome, type ChainTask, type RecordPlace } from './chain-task.ts';
import { dayNumber, decodeDay } from './ended-day.ts';
import { PendingRecords } from './pending-records.ts';
import { forgetting, hiding, renderChains, type RenderChainsParts } from './render-chains.ts';
import { resolveTask, type ReadPublishedVersions, type Resolved } from './resolve-task.ts';
import { VersionBodies } from './version-bodies.ts';

export interface AbsenceViewParts extends RenderChainsParts {
  readonly encodeVersion: (value: AbsenceVersionValue) => Buffer;
  /** The index of `absence-versions`. */
  readonly index: Pick<CollectionIndex, 'keys' | 'entries' | 'count' | 'rebuild'>;
  readonly decodeVersion: (body: Buffer) => AbsenceVersionValue;
  readonly readPublishedVersions: ReadPublishedVersions;
  /** How long after a deletion the absence's key in `absence-changes` is nulled, ms. */
  readonly forgetAfterMs: number;
}

/** At most so many pending versions are revisited in one transaction. */
const REVISIT_AT_ONCE = 5_000;
/**
 * Where more are pending, the records of so many are read back in one pass over the log. With those of the rest of their
 * chains, some 55,000 of a kilobyte, they must fit into {@link PendingRecords}: Rollcall asks the hub for others one by one.
 */
const READ_BACK_AT_ONCE = 25_000;
const NONE: ReadonlySet<string> = new Set();
const FORGET_AT_ONCE = 5_000;
/** A hub that serves lists, but has failed to answer for single rows for so long, is taken to have no answer. */
const UNANSWERED_FOR_AT_MOST_MS = 5 * 60_000;
const LOOK_UP_AT_ONCE = 5_000;

/**
 * Derives `absences` and `absence-changes` from changed versions (spec 3; contract, `absences` and `absence-changes`).
 * The decisions are in core/chains. The result joins the transaction of the versions; the index changes only after the
 * commit.
 */
export class AbsenceView {
  readonly #parts: AbsenceViewParts;
  readonly #pending = new PendingRecords();
  /** Since when ends of syncs leave chains waiting for the hub's answer (ms); null if none waits. */
  #unansweredSinceMs: number | null = null;

  constructor(parts: AbsenceViewParts) {
    this.#parts = parts;
  }

  /** Absences that were deleted before this time (ms since the epoch) are forgotten. */
  get forgottenBeforeMs(): number {
    return this.#parts.now() - this.#parts.forgetAfterMs;
  }

  async resolve(task: Omit<ChainTask, 'publishesUnanswered'>): Promise<ChainOutcome> {
    const nowMs = this.#parts.now();
    const unansweredForMs = nowMs - (this.#unansweredSinceMs ?? nowMs);
    const publishesUnanswered = unansweredForMs >= UNANSWERED_FOR_AT_MOST_MS;
    const bodies = new VersionBodies(this.#parts.encodeVersion, task.bodies);
    const resolved = await this.#resolve({ ...task, publishesUnanswered }, bodies);
    if (task.mode === 'final') {
      this.#unansweredSinceMs = resolved.isUnanswered ? (this.#unansweredSinceMs ?? nowMs) : null;
    }
    this.#keepPending(resolved, bodies);
    const outcome = renderChains(this.#parts, task, { ...resolved, bodies });
    const { changes, count } = await this.#contradictions(task, resolved);
    return { ...outcome, changes: [...outcome.changes, ...changes], contradictions: count };
  }

  async #resolve(task: ChainTask, bodies: VersionBodies): Promise<Resolved> {
    return this.#healing(() =>
      resolveTask(task, {
        kept: (versionId) => this.#kept(versionId, bodies),
        readPublishedVersions: this.#parts.readPublishedVersions,
      }),
    );
  }

  /** Has the index made again when `work` meets an entry that cannot be decoded. Throws INDEX_DIVERGED then. */
  async #healing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      // Another version of Rollcall wrote the entry, or it is damaged.
      await this.#parts.index.rebuild();
      throw new RollcallError('INDEX_DIVERGED', 'an entry of the chain index cannot be decoded', {
        remedy: 'Rollcall rebuilds the index from the topics.',
        cause: error,
      });
    }
  }

  #kept(versionId: string, bodies: VersionBodies): AbsenceVersionValue | undefined {
    const body = this.#pending.get(versionId);
    if (body === undefined) return undefined;
    const value = this.#parts.decodeVersion(body);
    bodies.note(value, body);
    return value;
  }

  /** Versions of pending chains, in groups for {@link readBack}. */
  async *pendingVersions(): AsyncGenerator<readonly string[]> {
    let group: string[] = [];
    for await (const ids of this.#parts.index.keys('open')) {
      group.push(...ids);
      if (group.length < READ_BACK_AT_ONCE) continue;
      yield group;
      group = [];
    }
    if (group.length > 0) yield group;
  }

  /**
   * Returns a group of pending versions in batches that each fit into a transaction. The records of several batches and
   * of the rest of their chains are read in one pass over the log: otherwise each batch would take a pass of its own.
   * Every change of these versions must be committed, or staged and not resolved yet.
   */
  async readBack(group: readonly string[], lookUp: LookUp): Promise<readonly (readonly string[])[]> {
    const batches: (readonly string[])[] = [];
    for (let at = 0; at < group.length; at += REVISIT_AT_ONCE)
      batches.push(group.slice(at, at + REVISIT_AT_ONCE));
    if (batches.length < 2) return batches;
    const wanted = new Set<string>();
    for (const revisit of batches) {
      const known = new KnownChains(lookUp);
      await this.#healing(() => known.complete({ rows: [], gone: [], vanished: [], revisit }));
      for (const [id, entry] of known.versions) if (entry?.state === 'present') wanted.add(id);
    }
    const lacking = [...wanted].filter((id) => !this.#pending.has(id));
    if (lacking.length > REVISIT_AT_ONCE) await this.#keepPublished(wanted);
    return batches;
  }

  async #keepPublished(versionIds: ReadonlySet<string>): Promise<void> {
    const { readPublishedVersions, encodeVersion } = this.#parts;
    this.#pending.clear();
    await readPublishedVersions({ versionIds, absenceIds: NONE }, (id, { value, hash }) => {
      // A value that the mapping in force changed needs its hash, too: its batch reads it once more.
      if (hash === null) this.#pending.keep(id, encodeVersion(value));
      else this.#pending.drop(id);
    });
  }

  /** How many keys the two topics have after these changes, by the index. */
  async countRows(changes: readonly IndexChange[], lookUp: LookUp): Promise<Record<ChainCollection, number>> {
    const published = await this.#countAfter('absences', changes, lookUp);
    // An absence that was published as deleted has an event but no record in `absences`.
    const ended = await this.#countAfter('ended', changes, lookUp);
    // This throws if the index was lost or restored meanwhile: then the counts are wrong.
    await lookUp('absences', []);
    return { 'absence-changes': published, absences: published - ended };
  }

  async #countAfter(area: IndexArea, changes: readonly IndexChange[], lookUp: LookUp): Promise<number> {
    const { index } = this.#parts;
    const last = new Map<string, Buffer | null>();
    for (const change of changes) if (change.area === area) last.set(change.key, change.value);
    let count = await index.count(area);
    const keys = [...last.keys()];
    for (let at = 0; at < keys.length; at += LOOK_UP_AT_ONCE) {
      const some = keys.slice(at, at + LOOK_UP_AT_ONCE);
      const before = await lookUp(area, some);
      for (const [position, key] of some.entries()) {
        count += Number(last.get(key) !== null) - Number((before[position] ?? null) !== null);
      }
    }
    return count;
  }

  /**
   * Nulls the keys of absences that were published as deleted long enough ago.
   *
   * @param transaction the transaction that will carry the records
   * @param but absences to leave out
   */
  async *forgetDeleted(place: () => RecordPlace, but: ReadonlySet<string>): AsyncGenerator<ChainOutcome> {
    const lastDay = dayNumber(this.#parts.now() - this.#parts.forgetAfterMs);
    let due: string[] = [];
    for await (const batch of this.#parts.index.entries('ended')) {
      for (const [absenceId, day] of batch) {
        if (decodeDay(day) < lastDay && !but.has(absenceId)) due.push(absenceId);
      }
      if (due.length < FORGET_AT_ONCE) continue;
      yield this.#forget(due, place());
      due = [];
    }
    if (due.length > 0) yield this.#forget(due, place());
  }

  /** Nulls records of `absences` for which no event exists, once every absence is published again. */
  async *hideWithoutEvent(place: () => RecordPlace, but: ReadonlySet<string>): AsyncGenerator<ChainOutcome> {
    for await (const batch of this.#parts.index.entries('absences')) {
      const orphans = batch.flatMap(([id, value]) => {
        const { entry, shown } = decodePublishedAbsence(id, value);
        return entry === null && shown !== null && !but.has(id) ? [id] : [];
      });
      if (orphans.length > 0) yield this.#hide(orphans, place());
    }
  }

  /** Removals of `absent` entries that ended before the window of schedules. */
  async *outlivedAbsents(but: ReadonlySet<string>): AsyncGenerator<readonly IndexChange[]> {
    const sinceMs = this.#parts.absentSinceMs();
    for await (const batch of this.#parts.index.entries('absent')) {
      const outlived = batch.filter(
        ([absenceId, value]) => decodeAbsent(value).toMs < sinceMs && !but.has(absenceId),
      );
      if (outlived.length > 0) yield outlived.map(([key]) => ({ area: 'absent', key, value: null }));
    }
  }

  #hide(absenceIds: readonly string[], place: RecordPlace): ChainOutcome {
    const records = absenceIds.map((absenceId, at) =>
      hiding({
        tenantId: this.#parts.tenantId,
        absenceId,
        id: `${place.transactionId}-${place.firstRecord + at}`,
      }),
    );
    const changes = absenceIds.flatMap((key): IndexChange[] =>
      (['absences', 'absent'] as const).map((area) => ({ area, key, value: null })),
    );
    const tally = { ...noTally(), hidden: absenceIds.length };
    return { records, changes, tally, publishedOpen: 0, contradictions: null, students: new Set() };
  }

  #forget(absenceIds: readonly string[], place: RecordPlace): ChainOutcome {
    const records: OutgoingRecord[] = [];
    const changes: IndexChange[] = [];
    for (const absenceId of absenceIds) {
      const id = `${place.transactionId}-${place.firstRecord + records.length}`;
      records.push(forgetting({ tenantId: this.#parts.tenantId, absenceId, id }));
      for (const area of ['absences', 'ended'] as const) changes.push({ area, key: absenceId, value: null });
    }
    const tally = { ...noTally(), forgotten: absenceIds.length };
    return { records, changes, tally, publishedOpen: 0, contradictions: null, students: new Set() };
  }

  #keepPending({ changed, known, resolution, records }: Resolved, bodies: VersionBodies): void {
    for (const id of new Set([...resolution.versions.keys(), ...changed])) {
      const after = resolution.versions.get(id);
      const entry = after === undefined ? (known.versions.get(id) ?? null) : after;
      const value = entry?.isResolved === false ? records.get(id) : undefined;
      if (value === undefined) this.#pending.drop(id);
      else this.#pending.keep(id, bodies.of(value));
    }
  }

  /** The changes of the contradictions in the index, and their number afterwards. */
  async #contradictions(
    { lookups }: Pick<ChainTask, 'lookups'>,
    { known, resolution }: Resolved,
  ): Promise<{ changes: IndexChange[]; count: number }> {
    const versionIds = [...known.versions.keys()];
    const before = await this.#parts.index.count('contradictions');
    if (before === 0 && resolution.contradictions.length === 0) return { changes: [], count: 0 };
    const reported = before > 0 ? await lookups.lookUp('contradictions', versionIds) : [];
    const changes = contradictionChanges(resolution.contradictions, { versionIds, reported });
    const had = new Set(versionIds.filter((_id, at) => (reported[at] ?? null) !== null));
    const count = changes.reduce(
      (sum, { key, value }) => sum + Number(value !== null) - Number(had.has(key)),
      before,
    );
    return { changes, count };
  }
}
