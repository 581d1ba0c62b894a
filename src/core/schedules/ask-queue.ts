/**
 * The queue of students to ask the hub for. Its state holds only ids of wanted students.
 *
 * - `change`: an absence of the student changed; the request is due at once.
 * - `again`: a day seems to have lost its lessons, or the last request failed; the request has its own time.
 * - `round`: the student's turn in a full sync, which asks for each student once, evenly spread over its time.
 */
export type Ask =
  | { readonly kind: 'ask'; readonly student: string; readonly reason: 'change' | 'again' | 'round' }
  /** ms since the epoch; infinite when only a change or a new full sync brings a request. */
  | { readonly kind: 'wait'; readonly untilMs: number };

export class AskQueue {
  readonly #changed = new Set<string>();
  readonly #again = new Map<string, number>();
  /** The entries in order of time, outdated ones included. */
  #agenda: { readonly student: string; readonly atMs: number }[] = [];
  #wasAgain = false;
  readonly #inFlight = new Set<string>();
  /** Students of the full sync without a request so far, in order. */
  #waiting = new Set<string>();
  /** Students of the full sync whose answer is outstanding: in flight, or to be asked again after a failure. */
  readonly #owed = new Set<string>();
  #endMs = 0;
  #nextMs = 0;
  #pausedUntilMs = 0;

  /**
   * Begins a full sync over `students`, in their order, spread until `endMs`; an `endMs` in the past means without pauses.
   * It also asks again for students whose request is in flight, and drops other students that the last one did not reach.
   */
  beginRound(round: {
    readonly students: Iterable<string>;
    readonly nowMs: number;
    readonly endMs: number;
  }): void {
    this.#waiting = new Set(round.students);
    this.#owed.clear();
    for (const student of this.#again.keys()) if (!this.#waiting.has(student)) this.#again.delete(student);
    this.#endMs = round.endMs;
    this.#nextMs = round.nowMs;
  }

  /** Number of students of the full sync without an answer. */
  get unanswered(): number {
    return this.#waiting.size + this.#owed.size;
  }

  /** Their ids, in the order of their requests. */
  *unansweredStudents(): Iterable<string> {
    yield* this.#owed;
    yield* this.#waiting;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** An absence of the student changed. */
  change(student: string): void {
    this.#changed.add(student);
  }

  /** Removes and returns the students whose absences changed. */
  takeChanged(): string[] {
    const taken = [...this.#changed];
    this.#changed.clear();
    return taken;
  }

  /** Schedules another request for the student. `isOwed`: the full sync is not over before its answer. */
  askAgain(student: string, when: { readonly atMs: number; readonly isOwed: boolean }): void {
    this.#schedule(student, when.atMs);
    if (when.isOwed) this.#owed.add(student);
  }

  /** Pauses all requests until `atMs`; a later call replaces an earlier one. */
  pauseUntil(atMs: number): void {
    this.#pausedUntilMs = atMs;
  }

  /** Takes the next student, whose request is then in flight until {@link answered} or {@link failed}. */
  next(nowMs: number): Ask {
    if (nowMs < this.#pausedUntilMs) return { kind: 'wait', untilMs: this.#pausedUntilMs };
    for (const student of this.#changed) {
      if (this.#inFlight.has(student)) continue;
      this.#changed.delete(student);
      return this.#take(student, 'change');
    }
    const again = this.#earliestAgain();
    const isAgainDue = again !== null && again.atMs <= nowMs;
    const student = this.#firstWaiting();
    const isRoundDue = student !== null && this.#nextMs <= nowMs;
    // Alternate: students whose requests keep failing must not block the others.
    if (isAgainDue && !(isRoundDue && this.#wasAgain)) return this.#take(again.student, 'again');
    const untilMs = again?.atMs ?? Number.POSITIVE_INFINITY;
    if (student === null) return { kind: 'wait', untilMs };
    if (this.#nextMs > nowMs) return { kind: 'wait', untilMs: Math.min(untilMs, this.#nextMs) };
    // Spread the rest over the remaining time, also after an outage.
    this.#nextMs = nowMs + Math.max(0, this.#endMs - nowMs) / this.#waiting.size;
    return this.#take(student, 'round');
  }

  answered(student: string): void {
    this.#inFlight.delete(student);
    this.#owed.delete(student);
  }

  /** The request failed; the next attempt is at `atMs`. */
  failed(student: string, atMs: number): void {
    this.#inFlight.delete(student);
    this.#schedule(student, atMs);
  }

  #take(student: string, reason: 'change' | 'again' | 'round'): Ask {
    this.#inFlight.add(student);
    this.#again.delete(student);
    this.#wasAgain = reason === 'again';
    if (this.#waiting.delete(student)) this.#owed.add(student);
    return { kind: 'ask', student, reason };
  }

  #firstWaiting(): string | null {
    for (const student of this.#waiting) if (!this.#inFlight.has(student)) return student;
    return null;
  }

  #schedule(student: string, atMs: number): void {
    this.#again.set(student, atMs);
    let [low, high] = [0, this.#agenda.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#agenda[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    this.#agenda.splice(low, 0, { student, atMs });
  }

  #earliestAgain(): { readonly student: string; readonly atMs: number } | null {
    if (this.#agenda.length > 2 * this.#again.size + 100) {
      this.#agenda = this.#agenda.filter(({ student, atMs }) => this.#again.get(student) === atMs);
    }
    for (let first = this.#agenda[0]; first !== undefined; first = this.#agenda[0]) {
      if (this.#again.get(first.student) === first.atMs) break;
      this.#agenda.shift();
    }
    const isReady = ({ student, atMs }: { student: string; atMs: number }): boolean =>
      this.#again.get(student) === atMs && !this.#inFlight.has(student);
    return this.#agenda.find(isReady) ?? null;
  }
}
