/** The absent students, derived from current absences. */
export interface AbsentStudents {
  /**
   * Yields, in batches, students with a current absence that overlaps the days `from`..`to` (YYYY-MM-DD, both included,
   * in the tenant's time zone). A student may come twice.
   */
  between(from: string, to: string): AsyncIterable<readonly string[]>;
  /**
   * Calls `listener` after each commit with the students whose current absences it changed; returns a function that
   * stops this. The listener must not throw or wait.
   */
  onChange(listener: (students: ReadonlySet<string>) => void): () => void;
}

/** Used if absences are not mirrored. */
export const NOBODY_ABSENT: AbsentStudents = {
  // eslint-disable-next-line require-yield
  async *between() {},
  onChange: () => () => undefined,
};
