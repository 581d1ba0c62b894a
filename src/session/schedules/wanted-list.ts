import { localDate, type FullPullTime } from '../../core/full-pull-time.ts';
import type { AskQueue } from '../../core/schedules/ask-queue.ts';
import { windowAround, type DayWindow } from '../../core/lessons/window.ts';
import type { Waker } from '../../timetable/waker.ts';
import type { AbsentStudents } from '../../absences/absent-students.ts';
import { Newcomers } from './newcomers.ts';

export interface WantedListParts {
  readonly absent: AbsentStudents;
  /** Lists the wanted students in the order in which to ask for them. */
  readonly wanted: (window: DayWindow) => Promise<Set<string>>;
  /** Whether only listed students are asked for; otherwise a changed absence can make a student wanted. */
  readonly onlyWanted: boolean;
  readonly size: { readonly daysBack: number; readonly daysAhead: number };
  readonly fullPull: FullPullTime;
  readonly now: () => number;
  /** The session's signal; ends the listening to changes. */
  readonly signal: AbortSignal;
}

/** The wanted students. A wanted student whose absences change is asked for at once. */
export class WantedList {
  readonly #parts: WantedListParts;
  readonly #queue: AskQueue;
  readonly #newcomers: Newcomers;
  /** Null until the students have been listed. */
  #wanted: Set<string> | null = null;

  constructor(parts: WantedListParts, { queue, waker }: { queue: AskQueue; waker: Waker }) {
    this.#parts = parts;
    this.#queue = queue;
    this.#newcomers = new Newcomers(parts.now);
    const stop = parts.absent.onChange((students) => {
      this.#noteChanges(students);
      waker.wake();
    });
    parts.signal.addEventListener('abort', stop, { once: true });
  }

  /** The days that are mirrored now. */
  window(): DayWindow {
    const { now, fullPull, size } = this.#parts;
    return windowAround(localDate(now(), fullPull.timeZone), size);
  }

  /** Whether the student is known to be wanted. */
  has(student: string): boolean {
    return this.#wanted?.has(student) === true;
  }

  /** Whether the student is known not to be wanted. */
  lacks(student: string): boolean {
    return this.#wanted?.has(student) === false;
  }

  /** How many students are wanted; 1 before they are listed. */
  get size(): number {
    return this.#wanted?.size ?? 1;
  }

  /** The students listed last; lists them if they never were. */
  async current(): Promise<ReadonlySet<string>> {
    return this.#wanted ?? (await this.list(this.window()));
  }

  /** Lists the wanted students again. Students whose absences changed are still asked for, if they are wanted. */
  async list(window: DayWindow): Promise<ReadonlySet<string>> {
    const changedBefore = this.#queue.takeChanged();
    const wanted = await this.#parts.wanted(window);
    // A student who changed while the list was made may be missing from it.
    const changedMeanwhile = this.#queue.takeChanged();
    this.#wanted = wanted;
    for (const student of changedBefore) if (wanted.has(student)) this.#queue.change(student);
    this.#noteChanges(new Set(changedMeanwhile));
    return wanted;
  }

  /** In how many ms {@link admitNewcomers} has something to look up. */
  newcomersDueInMs(): number {
    return this.#newcomers.dueInMs();
  }

  /** Looks up which students whose absences changed have become wanted; these are asked for. */
  async admitNewcomers(): Promise<void> {
    const newcomers = this.#newcomers.take();
    if (newcomers.size === 0) return;
    const wanted = await this.#parts.wanted(this.window());
    for (const student of newcomers) {
      if (!wanted.has(student)) continue;
      this.#wanted?.add(student);
      this.#queue.change(student);
    }
  }

  #noteChanges(students: ReadonlySet<string>): void {
    for (const student of students) {
      // Until the students are listed, every student is kept; the list decides.
      if (!this.lacks(student)) this.#queue.change(student);
      // A correction to an old absence makes no student wanted. Many changed students are looked up together.
      else if (!this.#parts.onlyWanted) this.#newcomers.note(student);
    }
  }
}
