/** Who is absent, as the chains of absences tell it. */
export interface AbsentStudents {
  /** Students with a current absence that overlaps the days `from`..`to` (YYYY-MM-DD, both included, tenant's zone). In batches, a student may come twice. */
  between(from: string, to: string): AsyncIterable<readonly string[]>;
  /** Called with students whose current absences were changed by a committed transaction; returns how to stop. Must not throw or wait. */
  onChange(listener: (students: ReadonlySet<string>) => void): () => void;
}

/** Where absences are not mirrored. */
export const NOBODY_ABSENT: AbsentStudents = {
  // eslint-disable-next-line require-yield
  async *between() {},
  onChange: () => () => undefined,
};
