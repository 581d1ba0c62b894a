import type { AbsenceChangeValue } from '../core/absence-change.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import type { ShownAbsence, PublishedEvents } from '../core/verify/compare-chains.ts';
import { topicEntry } from '../core/verify/topic-entry.ts';
import { CHAIN_COLLECTIONS } from '../model/collections.ts';
import type { RecordCheck } from './record-check.ts';
import type { LoggedRecord } from '../log/log.ts';
import { TopicReader, type TopicReaderParts } from '../log/read-only-log.ts';

/** The contents of the topics `absences` and `absence-changes`. */
export class ChainTopicsView {
  readonly absences = new Map<string, ShownAbsence>();
  readonly changes = new Map<string, PublishedEvents>();
  /** By absence, the mapping of its last event. */
  readonly #mappings = new Map<string, string>();
  readonly #check: RecordCheck;
  readonly #reader: TopicReader;

  constructor(parts: TopicReaderParts, check: RecordCheck) {
    this.#check = check;
    this.#reader = new TopicReader(parts, CHAIN_COLLECTIONS, (record) => this.#take(record));
  }

  readOn(signal: AbortSignal): Promise<void> {
    return this.#reader.readOn(signal);
  }

  async #take(record: LoggedRecord): Promise<void> {
    const { key, topic, value } = record;
    const isShown = topic === 'absences';
    if (value === null) {
      (isShown ? this.absences : this.changes).delete(key);
      return;
    }
    const checked = await this.#check.check({ ...record, value });
    const entry = topicEntry(checked.hash, checked.isSound);
    if (isShown) {
      const shown = checked.value as AbsenceVersionValue | null;
      this.absences.set(key, {
        entry,
        versionId: shown?.sourcedId ?? null,
        studentId: shown?.student?.sourcedId ?? null,
      });
    } else {
      const before = this.changes.get(key) ?? null;
      const event = checked.value as AbsenceChangeValue | null;
      // Under another mapping the same student can have another id.
      const mapping = record.mapping ?? '';
      const isOfOtherMapping = (this.#mappings.get(key) ?? mapping) !== mapping;
      this.#mappings.set(key, mapping);
      this.changes.set(key, eventsAfter(before, { entry, event, isOfOtherMapping }));
    }
  }
}

/**
 * Adds an event to the summary of an absence. Compaction keeps the last record of the compacted part of a partition and
 * all later ones: between two events in the topic, none may be missing.
 */
function eventsAfter(
  before: PublishedEvents | null,
  next: { entry: string; event: AbsenceChangeValue | null; isOfOtherMapping: boolean },
): PublishedEvents {
  const { entry, event, isOfOtherMapping } = next;
  if (event === null) {
    const step = (before?.step ?? 0) + 1;
    const { hasGap = false, studentId = null, isOfTwo = false } = before ?? {};
    return { entry, versionId: null, isDeleted: false, step, hasGap, studentId, isOfTwo };
  }
  const { step, operation, version, previousVersion, snapshot } = event;
  // `republish` publishes the last event again.
  const isAgain = snapshot && step === before?.step;
  const studentId = version.student?.sourcedId ?? null;
  // The hub may move a record to another student; but the next version of a chain never has another student.
  const isSameRecord = before?.versionId === version.sourcedId;
  const former = isOfOtherMapping
    ? null
    : (previousVersion?.student?.sourcedId ?? (isSameRecord ? null : (before?.studentId ?? null)));
  const isOther = former !== null && studentId !== null && former !== studentId;
  const isNext = before === null || before.versionId === null || step === before.step + 1 || isAgain;
  return {
    entry,
    versionId: version.sourcedId,
    isDeleted: operation === 'DELETED',
    step,
    hasGap: !isNext || before?.hasGap === true,
    studentId: studentId ?? before?.studentId ?? null,
    isOfTwo: isOther || before?.isOfTwo === true,
  };
}
