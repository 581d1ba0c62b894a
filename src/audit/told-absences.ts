import type { AbsenceChangeValue } from '../core/absence-change.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import type { DerivedCollection } from '../model/collections.ts';

interface Told {
  /** Of the last event; null if that cannot be read. */
  readonly step: number | null;
  /** The last one that a record names. */
  readonly student: string | null;
  /** The mapping that `student` was published under: under another one the same student can have another id. */
  readonly mapping: string | null;
  readonly hasGap: boolean;
  readonly isOfTwo: boolean;
}

interface ToldProblem {
  readonly collection: DerivedCollection;
  readonly key: string;
  readonly kind: 'gap' | 'two-students';
}

const NOTHING: Told = { step: null, student: null, mapping: null, hasGap: false, isOfTwo: false };

/** What the records of `absences` and `absence-changes` say, absence by absence (invariants 6 and 11). */
export class ToldAbsences {
  readonly #events = new Map<string, Told>();
  readonly #shown = new Map<string, Pick<Told, 'student' | 'mapping'>>();

  /** The key was nulled: a new life of it begins with any step. */
  forget(collection: DerivedCollection, key: string): void {
    (collection === 'absences' ? this.#shown : this.#events).delete(key);
  }

  takeShown(key: string, version: AbsenceVersionValue | null, mapping: string | null): void {
    this.#shown.set(key, { student: version?.student?.sourcedId ?? null, mapping });
  }

  /**
   * Compaction keeps the last record of the compacted part of a partition and all later ones: between two events in the
   * topic none may be missing. Only `republish` publishes a step again, as a snapshot.
   */
  takeEvent(key: string, event: AbsenceChangeValue | null, mapping: string | null): void {
    const before = this.#events.get(key) ?? NOTHING;
    if (event === null) {
      this.#events.set(key, { ...before, step: null });
      return;
    }
    const { step, snapshot, version } = event;
    const isNext = before.step === null || step === before.step + 1 || (snapshot && step === before.step);
    const now = { student: version.student?.sourcedId ?? null, mapping };
    this.#events.set(key, {
      ...(now.student === null ? { student: before.student, mapping: before.mapping } : now),
      step,
      hasGap: before.hasGap || !isNext,
      isOfTwo: before.isOfTwo || areTwo(before, now),
    });
  }

  problems(): readonly ToldProblem[] {
    const found: ToldProblem[] = [];
    for (const [key, told] of this.#events) {
      const shown = this.#shown.get(key);
      if (told.hasGap) found.push({ collection: 'absence-changes', key, kind: 'gap' });
      if (told.isOfTwo) found.push({ collection: 'absence-changes', key, kind: 'two-students' });
      if (shown !== undefined && areTwo(shown, told))
        found.push({ collection: 'absences', key, kind: 'two-students' });
    }
    return found;
  }
}

/** A record without a student fits any. */
function areTwo(one: Pick<Told, 'student' | 'mapping'>, other: Pick<Told, 'student' | 'mapping'>): boolean {
  const areNamed = one.student !== null && other.student !== null;
  return areNamed && one.mapping === other.mapping && one.student !== other.student;
}
