import type { AbsenceChangeValue } from '../../core/absence-change.ts';
import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';
import { MAPPING_HEADER } from '../../core/cloud-events.ts';
import type { ShownAbsence, PublishedEvents } from '../../core/verify/compare-chains.ts';
import { topicEntry } from '../../core/verify/topic-entry.ts';
import { CHAIN_COLLECTIONS } from '../../model/collections.ts';
import type { RecordCheck } from './record-check.ts';
import { TopicReader, type StoredRecord, type TopicReaderParts } from './topic-reader.ts';

/** `absences` and `absence-changes` as they stand in their topics. */
export class ChainTopicsView {
  readonly absences = new Map<string, ShownAbsence>();
  readonly changes = new Map<string, PublishedEvents>();
  /** Of the last event of each absence: the mapping that it was published under. */
  readonly #mappings = new Map<string, string>();
  readonly #check: RecordCheck;
  readonly #reading: TopicReader;

  constructor(parts: TopicReaderParts, check: RecordCheck) {
    this.#check = check;
    this.#reading = new TopicReader(parts, CHAIN_COLLECTIONS, (record) => this.#take(record));
  }

  readOn(signal: AbortSignal): Promise<void> {
    return this.#reading.readOn(signal);
  }

  async #take(record: StoredRecord): Promise<void> {
    const { key, topic, value, headers } = record;
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
      // Under another mapping the same student may go by another name.
      const mapping = String(headers[MAPPING_HEADER] ?? '');
      const isOfOtherMapping = (this.#mappings.get(key) ?? mapping) !== mapping;
      this.#mappings.set(key, mapping);
      this.changes.set(key, eventsAfter(before, { entry, event, isOfOtherMapping }));
    }
  }
}

/**
 * Compaction keeps of a key the last of what it has cleaned and all that came later: between two events that are there,
 * none is missing.
 */
function eventsAfter(
  before: PublishedEvents | null,
  told: { entry: string; event: AbsenceChangeValue | null; isOfOtherMapping: boolean },
): PublishedEvents {
  const { entry, event, isOfOtherMapping } = told;
  if (event === null) {
    const step = (before?.step ?? 0) + 1;
    const { hasGap = false, studentId = null, isOfTwo = false } = before ?? {};
    return { entry, versionId: null, isDeleted: false, step, hasGap, studentId, isOfTwo };
  }
  const { step, operation, version, previousVersion, snapshot } = event;
  // `republish --redact` publishes the last event again.
  const isAgain = snapshot && step === before?.step;
  const studentId = version.student?.sourcedId ?? null;
  // The hub may give a record itself to another student; no record of another student follows it.
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
