import type { KeyedRow, PageTally } from '../../core/row-changes.ts';
import type { DayReader } from '../../core/lessons/read-days.ts';
import { studentRejectKey } from '../../core/lessons/read-days.ts';
import { askedDays, type DayWindow } from '../../core/lessons/window.ts';
import type { CoreApi, ScheduleAnswer } from '../../hub/core-api.ts';
import type { ActiveSync } from '../../table/active-sync.ts';
import type { CollectionWriter } from '../../table/collection-writer.ts';

export interface AnswerParts {
  readonly api: CoreApi;
  readonly reader: DayReader;
  readonly writer: CollectionWriter;
}

/** Asks for a student's lessons in the window and the day before and after it. Throws the hub's errors. */
export function askForStudent(
  { api }: AnswerParts,
  asked: { readonly student: string; readonly window: DayWindow; readonly signal: AbortSignal },
): Promise<ScheduleAnswer> {
  const { student, window, signal } = asked;
  return api.readSchedule({ student, ...askedDays(window), signal });
}

/**
 * Accepts an answer. Days with lessons go to the writer. Days that had lessons and have none now go to `empty`, for the end
 * of the round. Days that never had lessons are ignored.
 */
export async function acceptAnswer(
  { reader, writer }: AnswerParts,
  answer: ScheduleAnswer,
  options: {
    readonly student: string;
    /** The days asked for that are still mirrored. */
    readonly window: DayWindow;
    /** Days that had lessons and have none, by key. */
    readonly empty: Map<string, KeyedRow>;
    /** Called just before the answer changes anything. */
    readonly isWanted: () => boolean;
    readonly sync: () => ActiveSync;
    readonly onTally: (sync: ActiveSync, tally: PageTally) => void;
  },
): Promise<void> {
  const { student, window, empty } = options;
  const { lessons, isUtf8 } = answer;
  const days = reader.read({ student, window, lessons, isUtf8 });
  const rows = days.kind === 'days' ? days.filled : [days.row];
  const becameEmpty = days.kind === 'days' ? await writer.known.differing(days.empty) : [];
  if (!options.isWanted()) return;
  const sync = options.sync();
  for (const { key } of rows) if (key !== null) empty.delete(key);
  for (const row of becameEmpty) if (row.key !== null) empty.set(row.key, row);
  // A student has at most one request under way, so no answer is older than what is published.
  options.onTally(sync, await writer.accept(sync, { rows, readVersion: writer.readVersion() }));
  if (days.kind === 'days' && writer.known.rejects > 0) {
    const readable = [studentRejectKey(student), ...days.empty.map(({ rejectKey }) => rejectKey)];
    await writer.remove(sync, 'rejects', readable);
  }
}
