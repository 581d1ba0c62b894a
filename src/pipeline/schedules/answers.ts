import type { PageTally } from '../../core/row-changes.ts';
import type { DayReader } from '../../core/schedules/read-days.ts';
import { studentRejectKey } from '../../core/schedules/read-days.ts';
import { askedDays, type DayWindow } from '../../core/schedules/window.ts';
import type { CoreApi, ScheduleAnswer } from '../../hub/core-api.ts';
import type { ActiveSync } from '../active-sync.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import type { EmptiedDays } from './emptied-days.ts';

export interface AnswerParts {
  readonly api: CoreApi;
  readonly reader: DayReader;
  readonly writer: CollectionWriter;
}

/** Asks for a student's lessons in the window, and a day more at either end. Throws what the hub throws. */
export function askForStudent(
  { api }: AnswerParts,
  asked: { readonly student: string; readonly window: DayWindow; readonly signal: AbortSignal },
): Promise<ScheduleAnswer> {
  const { student, window, signal } = asked;
  return api.readSchedule({ student, ...askedDays(window), signal });
}

/**
 * Takes an answer in: days with lessons go to the writer, days that had lessons and come without go to the emptied days.
 * A day without lessons that never had any is nothing. Returns whether the student should be asked again soon; null when
 * the answer is not wanted any more.
 */
export async function acceptAnswer(
  { reader, writer }: AnswerParts,
  answer: ScheduleAnswer,
  options: {
    readonly student: string;
    /** The days asked for that are still mirrored. */
    readonly window: DayWindow;
    readonly emptied: EmptiedDays;
    /** Asked at the end of a round, once more. */
    readonly isLast: boolean;
    /** Called just before anything is taken in. */
    readonly isWanted: () => boolean;
    readonly sync: () => ActiveSync;
    readonly onTally: (sync: ActiveSync, tally: PageTally) => void;
  },
): Promise<boolean | null> {
  const { student, window, emptied, isLast } = options;
  const { lessons, isUtf8 } = answer;
  const days = reader.read({ student, window, lessons, isUtf8 });
  const readings = days.kind === 'days' ? days.filled : [days.reading];
  const becameEmpty = days.kind === 'days' ? await writer.differing(days.empty) : [];
  if (!options.isWanted()) return null;
  const sync = options.sync();
  emptied.forget(readings.flatMap(({ key }) => key ?? []));
  const wantsSecond =
    days.kind === 'days' &&
    emptied.becameEmpty(becameEmpty, { isBlank: days.isBlank, isLast, passId: sync.stats.passId });
  // Nobody asks for a student twice at the same time: no answer is older than what was published.
  options.onTally(sync, await writer.accept(sync, { readings, readVersion: writer.readVersion() }));
  if (days.kind === 'days' && writer.knownRejects > 0) {
    const readable = [studentRejectKey(student), ...days.empty.map(({ rejectKey }) => rejectKey)];
    await writer.remove(sync, 'rejects', readable);
  }
  return wantsSecond;
}
