import { localDate } from '../../core/full-pull-time.ts';
import { isInWindow, windowAround } from '../../core/schedules/window.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { askForStudent } from '../schedules/answers.ts';
import { syncOf } from './republication-sync.ts';
import { notMirrored, type OwnerWork } from './owner-request.ts';

/**
 * Requests the students again, and publishes the days that have not changed. Changed days are left to the ordinary sync:
 * two requests for a student at the same time could publish the older answer last (invariant 4).
 */
export async function republishSchedules(
  work: OwnerWork,
  options: { writer: CollectionWriter; keys: readonly string[]; republication: (key: string) => boolean },
): Promise<void> {
  const { parts, signal } = work;
  const { writer, keys, republication } = options;
  const { schedules: settings } = parts;
  const collection = parts.collections.find(({ name }) => name === 'schedules');
  if (settings === undefined || collection === undefined) throw notMirrored('schedules');
  const window = windowAround(localDate(parts.now(), collection.fullPull.timeZone), settings);
  const wanted = new Set(keys.length > 0 ? keys : await knownKeys(work, writer));
  const days = [...wanted].map((key) => splitCompositeKey(key));
  const students = new Set(
    days.flatMap((day) => (day !== null && isInWindow(day[1], window) ? [day[0]] : [])),
  );
  const remaining = [...students];
  const sync = syncOf(work, writer, { rows: republication });
  const worker = async (): Promise<void> => {
    for (let student = remaining.pop(); student !== undefined; student = remaining.pop()) {
      const readVersion = writer.readVersion();
      const asked = { student, window, signal };
      const { lessons, isUtf8 } = await askForStudent(
        { api: settings.api, reader: settings.reader, writer },
        asked,
      );
      const read = settings.reader.read({ student, window, lessons, isUtf8 });
      if (read.kind !== 'days') continue;
      const filled = read.filled.filter(
        ({ key, decoded }) => decoded.kind === 'row' && key !== null && wanted.has(key),
      );
      const changed = new Set(await writer.differing(filled));
      const known = new Set(await writer.known(filled.flatMap(({ key }) => key ?? [])));
      const unchanged = filled.filter((each) => known.has(each.key ?? '') && !changed.has(each));
      await writer.accept(sync, { readings: unchanged, readVersion });
      if (writer.isFull) await writer.flush(sync);
    }
  };
  writer.begin(sync);
  try {
    await Promise.all(Array.from({ length: settings.api.concurrency }, worker));
    await writer.flush(sync);
  } finally {
    writer.end(sync);
  }
}

function knownKeys({ parts }: OwnerWork, writer: CollectionWriter): Promise<string[]> {
  return writer.undisturbed(async () => {
    const known: string[] = [];
    for await (const keys of parts.state.collection('schedules').keys('rows')) known.push(...keys);
    return known;
  });
}
