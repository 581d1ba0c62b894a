/** Changes within this time are looked up together. */
const GATHER_MS = 1_000;

/** Collects students whose absences changed and who were not wanted, to look up whether they are wanted now. */
export class Newcomers {
  readonly #now: () => number;
  readonly #students = new Set<string>();
  #sinceMs = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  note(student: string): void {
    if (this.#students.size === 0) this.#sinceMs = this.#now();
    this.#students.add(student);
  }

  take(): ReadonlySet<string> {
    const taken = new Set(this.#students);
    this.#students.clear();
    return taken;
  }

  dueInMs(): number {
    if (this.#students.size === 0) return Number.POSITIVE_INFINITY;
    return this.#sinceMs + GATHER_MS - this.#now();
  }
}
