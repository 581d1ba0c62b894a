import { localDate } from '../../core/full-pull-time.ts';
import { isInWindow, windowAround } from '../../core/schedules/window.ts';
import { splitCompositeKey } from '../../model/keys.ts';
import { askEach } from '../../hub/find-each.ts';
import type { ActiveSync } from '../active-sync.ts';
import type { CollectionWriter } from '../collection-writer.ts';
import { askForStudent } from '../schedules/answers.ts';
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
  const window = windowAround(localDate(parts.runtime.now(), collection.fullPull.timeZone), settings);
  const wanted = new Set(keys.length > 0 ? keys : await knownKeys(work, writer));
  const days = [...wanted].map((key) => splitCompositeKey(key));
  const students = new Set(
    days.flatMap((day) => (day !== null && isInWindow(day[1], window) ? [day[0]] : [])),
  );
  const { api, reader } = settings;
  const publish = async (student: string, sync: ActiveSync, each: AbortSignal): Promise<void> => {
    const readVersion = writer.readVersion();
    const { lessons, isUtf8 } = await askForStudent(
      { api, reader, writer },
      { student, window, signal: each },
    );
    const read = reader.read({ student, window, lessons, isUtf8 });
    if (read.kind !== 'days') return;
    const filled = read.filled.filter(
      ({ key, decoded }) => decoded.kind === 'row' && key !== null && wanted.has(key),
    );
    const changed = new Set(await writer.known.differing(filled));
    const known = new Set(await writer.known.among(filled.flatMap(({ key }) => key ?? [])));
    const unchanged = filled.filter((row) => known.has(row.key ?? '') && !changed.has(row));
    await writer.accept(sync, { rows: unchanged, readVersion });
    if (writer.isFull) await writer.flush(sync);
  };
  await writer.withoutScan(
    (sync) =>
      askEach([...students], { concurrency: api.concurrency, signal }, async (student, each) => {
        await publish(student, sync, each);
        return 'go-on';
      }),
    { rows: republication },
  );
}

function knownKeys({ parts }: OwnerWork, writer: CollectionWriter): Promise<string[]> {
  return writer.undisturbed(async () => {
    const known: string[] = [];
    for await (const keys of parts.state.collection('schedules').keys('rows')) known.push(...keys);
    return known;
  });
}
