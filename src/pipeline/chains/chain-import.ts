import { absentEntryOf, encodeAbsent } from '../../core/chains/absent-entry.ts';
import { chainRowInForce, type AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import { encodeVersionEntry } from '../../core/chains/entry-codec.ts';
import type { ChainRow } from '../../core/chains/chain-state.ts';
import { absenceEntryOf, EntryImport, idsIn, type LoggedStep } from '../../core/chains/entry-import.ts';
import {
  decodePublishedAbsence,
  encodePublishedAbsence,
  type PublishedAbsence,
} from '../../core/chains/published-absence.ts';
import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import type { RowReader } from '../../core/decoded-row.ts';
import { isFramed } from '../../log/framing.ts';
import type { LoggedRecord } from '../../log/log.ts';
import type { IndexChange } from '../../state/index-store.ts';
import { ChainExamination, UNKNOWN_CONTENT, type ChainExaminationParts } from './chain-examination.ts';
import { dayNumber, encodeDay } from './ended-day.ts';
import { ImportedEntries } from './imported-entries.ts';

export interface ChainImportParts extends Omit<ChainExaminationParts, 'wasComplete'> {
  /** Decodes a framed value of one of the three topics. */
  readonly decode: (framed: Buffer) => Promise<unknown>;
  /** The reader of `absence-versions`. */
  readonly reader: Pick<RowReader, 'mapping' | 'hashOf' | 'readAgain'>;
  readonly absentSinceMs: () => number;
  /**
   * The last offset of a partition of `absence-versions` that the last complete full sync covers. Null if it is not
   * known.
   */
  readonly completeUpTo: ((partition: number) => number) | null;
  /** Whether every chain was published at least once. Null if `progress` was lost: then the events must show it. */
  readonly wasComplete: boolean | null;
}

const EMPTY = Buffer.alloc(0);

/**
 * Imports the chain index from the public topics, for an installation without a complete changelog (rule 15 in
 * core/chains/chain-rules.ts). Publishes nothing: chains that are not published, or whose record in `absences` is
 * outdated, stay pending for the next sync.
 */
export class ChainImport {
  readonly #parts: ChainImportParts;
  readonly #entries: ImportedEntries;
  #lastFirstSequence = 0;
  #hasPublishedNews = false;
  #isFirstLoadOver: boolean;

  constructor(parts: ChainImportParts) {
    this.#parts = parts;
    this.#entries = new ImportedEntries(parts.replay);
    this.#isFirstLoadOver = parts.wasComplete ?? false;
  }

  /** Whether the first load is over, so that later events are news. Known after `finish`. */
  get isFirstLoadOver(): boolean {
    return this.#isFirstLoadOver;
  }

  /** The greatest sequence number of a first publication. Later transactions must not have a lesser one. */
  get lastFirstSequence(): number {
    return this.#lastFirstSequence;
  }

  /** Imports records of one partition of `absence-versions`, in log order. */
  async versions(records: readonly LoggedRecord[]): Promise<void> {
    const { reader } = this.#parts;
    const decode = (value: Buffer): Promise<unknown> => this.#decode(value);
    const latest = new Map(records.map((record) => [record.key, record]));
    const chainRows: { id: string; row: ChainRow | null }[] = [];
    const changes: IndexChange[] = [];
    for (const { key, value, mapping, hash } of latest.values()) {
      const version = value === null ? null : ((await decode(value)) as AbsenceVersionValue | undefined);
      // The record cannot be decoded. With a hash that no row has, the next full sync publishes the row again.
      if (version === undefined) changes.push({ area: 'rows', key, value: UNKNOWN_CONTENT });
      else if (version === null) chainRows.push({ id: key, row: null });
      else chainRows.push({ id: key, row: chainRowInForce(reader, { value: version, mapping, hash }) });
    }
    const entries = await this.#entries.linked(
      chainRows.map(({ id }) => id),
      chainRows.flatMap(({ row }) => (row === null ? [] : idsIn(row))),
    );
    const replay = new EntryImport(entries);
    for (const { id, row } of chainRows) {
      const isNews = this.#isNews(latest.get(id));
      if (row === null) replay.removal(id);
      else replay.row(row, { isNews });
      changes.push({ area: 'open', key: id, value: isNews || row === null ? EMPTY : null });
    }
    await this.#write(replay, changes);
  }

  /** Whether a record was committed after the last complete full sync. */
  #isNews(record: LoggedRecord | undefined): boolean {
    if (record === undefined) return false;
    const last = this.#parts.completeUpTo?.(record.partition);
    return last !== undefined && record.offset > last;
  }

  /** Imports records of one partition of `absence-changes`, in log order. */
  async steps(records: readonly LoggedRecord[]): Promise<void> {
    const steps: LoggedStep[] = [];
    const changes: IndexChange[] = [];
    const last = new Map<string, { step: LoggedStep | null; atMs: number }>();
    for (const { key, value, firstSequence, mapping } of records) {
      if (value === null) {
        last.set(key, { step: null, atMs: 0 });
        continue;
      }
      const change = (await this.#decode(value)) as AbsenceChangeValue | undefined;
      // An undecodable event counts as forgotten: consumers know nothing of it either.
      if (change === undefined) {
        last.set(key, { step: null, atMs: 0 });
        continue;
      }
      // A snapshot does not show that the first load runs: events that were news are republished as snapshots (ADR 15).
      this.#hasPublishedNews ||= !change.snapshot;
      const step: LoggedStep = {
        absenceId: key,
        step: change.step,
        isDeletion: change.operation === 'DELETED',
        // The record's hash header is over the event, not over this version.
        row: chainRowInForce(this.#parts.reader, { value: change.version, mapping, hash: null }),
        mergedInto: change.mergedInto,
        since: firstSequence ?? 0,
      };
      steps.push(step);
      this.#lastFirstSequence = Math.max(this.#lastFirstSequence, step.since);
      last.set(key, { step, atMs: change.detectedAt });
    }
    const entries = await this.#entries.linked(
      steps.map(({ row }) => row.id),
      steps.flatMap(({ row }) => idsIn(row)),
    );
    const replay = new EntryImport(entries);
    for (const step of steps) replay.step(step);
    const published = await this.#entries.published([...last.keys()]);
    for (const [absenceId, { step, atMs }] of last) {
      const shown = published.get(absenceId)?.shown ?? null;
      const entry = step === null ? null : absenceEntryOf(step);
      const isEnded = entry?.isPublishedAsDeleted === true;
      changes.push(
        { area: 'ended', key: absenceId, value: isEnded ? encodeDay(dayNumber(atMs)) : null },
        absenceChange(absenceId, { entry, shown }),
      );
    }
    await this.#write(replay, changes);
  }

  /** Imports records of one partition of `absences`, in log order. */
  async currents(records: readonly LoggedRecord[]): Promise<void> {
    const { absentSinceMs } = this.#parts;
    const latest = new Map(records.map((record) => [record.key, record]));
    const published = await this.#entries.published([...latest.keys()]);
    const changes: IndexChange[] = [];
    for (const [absenceId, { value, hash }] of latest) {
      const entry = published.get(absenceId)?.entry ?? null;
      const current =
        value === null ? null : ((await this.#decode(value)) as AbsenceVersionValue | undefined);
      const shown = current === undefined ? UNKNOWN_CONTENT : current === null ? null : hash;
      changes.push(absenceChange(absenceId, { entry, shown }));
      const absent = current === null || current === undefined ? null : absentEntryOf(current);
      const isKept = absent !== null && absent.toMs >= absentSinceMs();
      changes.push({ area: 'absent', key: absenceId, value: isKept ? encodeAbsent(absent) : null });
    }
    await this.#parts.replay.write(changes);
  }

  /**
   * Undefined for a value without the contract's framing: another program wrote it. Throws if the registry does not
   * know the schema or the value does not fit it, because the registry may be at fault.
   */
  async #decode(value: Buffer): Promise<unknown> {
    return isFramed(value) ? this.#parts.decode(value) : undefined;
  }

  /** Called once everything is read: leaves chains pending that the log does not show, or shows wrongly. */
  async finish(): Promise<void> {
    this.#isFirstLoadOver =
      this.#parts.wasComplete ?? (this.#hasPublishedNews && (await this.#holdsEvents()));
    const examination = new ChainExamination({ ...this.#parts, wasComplete: this.#isFirstLoadOver });
    for await (const entries of this.#parts.replay.entries('absences')) {
      await examination.nameByPublished(
        new Map(entries.map(([id, value]) => [id, decodePublishedAbsence(id, value)])),
      );
      await examination.presume(entries);
    }
    for await (const entries of this.#parts.replay.entries('versions'))
      await examination.examineVersions(entries);
    for await (const entries of this.#parts.replay.entries('absences'))
      await examination.examineAbsences(entries);
  }

  /** A purged topic begins with a first load again, even if its old events still exist before their nulls. */
  async #holdsEvents(): Promise<boolean> {
    for await (const entries of this.#parts.replay.entries('absences')) {
      if (entries.some(([id, value]) => decodePublishedAbsence(id, value).entry !== null)) return true;
    }
    return false;
  }

  async #write(replay: EntryImport, more: readonly IndexChange[]): Promise<void> {
    const changes: IndexChange[] = [...replay.changed].map(([id, entry]) => ({
      area: 'versions',
      key: id,
      value: encodeVersionEntry(id, entry),
    }));
    await this.#parts.replay.write([...changes, ...more]);
  }
}

function absenceChange(absenceId: string, published: PublishedAbsence): IndexChange {
  const isNothing = published.entry === null && published.shown === null;
  return {
    area: 'absences',
    key: absenceId,
    value: isNothing ? null : encodePublishedAbsence(absenceId, published),
  };
}
