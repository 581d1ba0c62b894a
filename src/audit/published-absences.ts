import type { AbsenceChangeValue } from '../core/absences/event-encoder.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import type { DerivedCollection } from '../model/collections.ts';

/**
 * The student whom a record names, and the mapping under which it was written: under another mapping, the same
 * student may have another id.
 */
interface Named {
  readonly student: string | null;
  readonly mapping: string | null;
}

interface Published {
  /** The step of the last event; null if it cannot be read. */
  readonly step: number | null;
  /** According to the last record that names a student. */
  readonly named: Named;
  readonly hasGap: boolean;
  readonly isOfTwo: boolean;
}

interface PublishedProblem {
  readonly collection: DerivedCollection;
  readonly key: string;
  readonly kind: 'gap' | 'two-students';
}

const NOBODY: Named = { student: null, mapping: null };
const NOTHING: Published = { step: null, named: NOBODY, hasGap: false, isOfTwo: false };

/** What the records of `absences` and `absence-changes` say, absence by absence (invariants 6 and 11). */
export class PublishedAbsences {
  readonly #events = new Map<string, Published>();
  readonly #shown = new Map<string, Named>();
  /** One object for all absences of a student, because there are millions of absences. */
  readonly #students = new Map<string, Named>();

  /** A removal was read, so the key has no value any more: the next life of the key may begin with any step. */
  forget(collection: DerivedCollection, key: string): void {
    (collection === 'absences' ? this.#shown : this.#events).delete(key);
  }

  /** `version`: null if the record cannot be decoded. */
  takeShown(key: string, version: AbsenceVersionValue | null, mapping: string | null): void {
    this.#shown.set(key, this.#named(version, mapping));
  }

  /**
   * Of each key, compaction keeps the last record of the compacted part of a partition, and all records of the part
   * that is not compacted yet. So between two events that are in the topic, no event of the key may be missing. Only
   * `republish` publishes a step again, as a snapshot. `event`: null if the record cannot be decoded.
   */
  takeEvent(key: string, event: AbsenceChangeValue | null, mapping: string | null): void {
    const before = this.#events.get(key) ?? NOTHING;
    if (event === null) {
      this.#events.set(key, { ...before, step: null });
      return;
    }
    const { step, snapshot, version } = event;
    const isNext = before.step === null || step === before.step + 1 || (snapshot && step === before.step);
    const now = this.#named(version, mapping);
    this.#events.set(key, {
      step,
      named: now.student === null ? before.named : now,
      hasGap: before.hasGap || !isNext,
      isOfTwo: before.isOfTwo || areTwo(before.named, now),
    });
  }

  #named(version: AbsenceVersionValue | null, mapping: string | null): Named {
    const student = version?.student?.sourcedId ?? null;
    if (student === null) return NOBODY;
    const last = this.#students.get(student);
    if (last?.mapping === mapping) return last;
    const named = { student, mapping };
    this.#students.set(student, named);
    return named;
  }

  problems(): readonly PublishedProblem[] {
    const found: PublishedProblem[] = [];
    for (const [key, published] of this.#events) {
      const shown = this.#shown.get(key);
      if (published.hasGap) found.push({ collection: 'absence-changes', key, kind: 'gap' });
      if (published.isOfTwo) found.push({ collection: 'absence-changes', key, kind: 'two-students' });
      if (shown !== undefined && areTwo(shown, published.named))
        found.push({ collection: 'absences', key, kind: 'two-students' });
    }
    return found;
  }
}

/** Whether two records are of different students. A record that names no student may be of any. */
function areTwo(one: Named, other: Named): boolean {
  const areNamed = one.student !== null && other.student !== null;
  return areNamed && one.mapping === other.mapping && one.student !== other.student;
}
