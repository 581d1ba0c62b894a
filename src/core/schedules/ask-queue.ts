/**
 * Whom to ask for next, and when. Pure but for its state, which is ids only: at most those of the students wanted.
 *
 * - `change`: an absence of the student changed; asked at once.
 * - `again`: said to have lost lessons, or its last request failed; asked when its time has come.
 * - `round`: the student's turn in a round, in which each is asked once, evenly over the time it has.
 */
export type Ask =
  | { readonly kind: 'ask'; readonly student: string; readonly reason: 'change' | 'again' | 'round' }
  /** Infinite: only a change or a new round brings something to do. */
  | { readonly kind: 'wait'; readonly untilMs: number };

export class AskQueue {
  readonly #changed = new Set<string>();
  readonly #again = new Map<string, number>();
  /** The same by time, with entries that count no more. */
  #agenda: { readonly student: string; readonly atMs: number }[] = [];
  #wasAgain = false;
  readonly #inFlight = new Set<string>();
  /** Students of the round who have not been asked yet, in order. */
  #waiting = new Set<string>();
  /** Students of the round whose answer is owed: under way, or to be asked again after a failure. */
  readonly #owed = new Set<string>();
  #endMs = 0;
  #nextMs = 0;
  #pausedUntilMs = 0;

  /** Begins a round, which asks also those anew who are under way. Whoever was left of the one before is asked in this one, if at all. `endMs` past: without pauses. */
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

  /** Students of the round who have not been answered. */
  get unanswered(): number {
    return this.#waiting.size + this.#owed.size;
  }

  /** In the order in which they would be asked. */
  *unansweredStudents(): Iterable<string> {
    yield* this.#owed;
    yield* this.#waiting;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** An absence of the student changed. */
  change(student: string): void {
    this.#changed.add(student);
  }

  /** Takes the students that changed, so that they can be looked at anew. */
  takeChanged(): string[] {
    const taken = [...this.#changed];
    this.#changed.clear();
    return taken;
  }

  /** The student is to be asked once more. `isOwed`: the round is not over before. */
  askAgain(student: string, when: { readonly atMs: number; readonly isOwed: boolean }): void {
    this.#schedule(student, when.atMs);
    if (when.isOwed) this.#owed.add(student);
  }

  /** Nobody is asked before; a later call replaces an earlier one. */
  pauseUntil(atMs: number): void {
    this.#pausedUntilMs = atMs;
  }

  /** Takes the next student, who then is under way until {@link answered} or {@link failed}. */
  next(nowMs: number): Ask {
    if (nowMs < this.#pausedUntilMs) return { kind: 'wait', untilMs: this.#pausedUntilMs };
    for (const student of this.#changed) {
      if (this.#inFlight.has(student)) continue;
      this.#changed.delete(student);
      return this.#take(student, 'change');
    }
    const republication = this.#earliestAgain();
    const isAgainDue = republication !== null && republication.atMs <= nowMs;
    const student = this.#firstWaiting();
    const isRoundDue = student !== null && this.#nextMs <= nowMs;
    // In turns: students who fail for ever must not keep the others from being asked.
    if (isAgainDue && !(isRoundDue && this.#wasAgain)) return this.#take(republication.student, 'again');
    const untilMs = republication?.atMs ?? Number.POSITIVE_INFINITY;
    if (student === null) return { kind: 'wait', untilMs };
    if (this.#nextMs > nowMs) return { kind: 'wait', untilMs: Math.min(untilMs, this.#nextMs) };
    // Over what is left of the time, whatever an outage has taken of it.
    this.#nextMs = nowMs + Math.max(0, this.#endMs - nowMs) / this.#waiting.size;
    return this.#take(student, 'round');
  }

  answered(student: string): void {
    this.#inFlight.delete(student);
    this.#owed.delete(student);
  }

  /** The request failed and is repeated at a time. */
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
