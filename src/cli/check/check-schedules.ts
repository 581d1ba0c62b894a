import { collectionSettings, type TenantConfig } from '../../config.ts';
import { localDate } from '../../core/full-pull-time.ts';
import { collectionOf } from '../../core/schedules/which-students.ts';
import { readLesson } from '../../core/schedules/read-lesson.ts';
import { windowAround } from '../../core/schedules/window.ts';
import { createZoneClock } from '../../core/schedules/zone-clock.ts';
import { isJsonObject } from '../../core/raw-json.ts';
import { RollcallError } from '../../errors.ts';
import type { HubProbe } from '../../hub/probe-hub.ts';
import { collectionNamed, sourceOf, type CollectionName } from '../../model/collections.ts';
import { countOf } from '../words.ts';
import type { Probed } from './probed.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

const NAME = 'schedules';

/** The lessons of one student: whether they can be had, and whether the configured names find what is needed. */
export async function scheduleFindings(
  probe: Pick<HubProbe, 'collection' | 'readSchedule'>,
  options: { tenant: TenantConfig; probed: readonly Probed[]; signal: AbortSignal },
): Promise<Finding[]> {
  const { tenant, probed, signal } = options;
  const settings = collectionSettings(tenant, NAME);
  // Where nothing else could be had, one more failure tells nothing new.
  if (!settings.enabled || (probed.length > 0 && probed.every((each) => each.probe === undefined))) return [];
  const { timeZone } = settings.fullPull;
  const parent = parentNotOffered(options);
  if (parent !== null) {
    return [
      warning(
        NAME,
        `the hub does not offer ${parent}, which says whose schedules are wanted`,
        'Leave it out of tenants.collections, or set schedules.students; the others are mirrored all the same.',
      ),
    ];
  }
  try {
    const student = await studentToTry(probe, options);
    if (student === null) {
      return [
        warning(NAME, 'not checked: there is no student to try it with', 'It shows when there are students.'),
      ];
    }
    const window = windowAround(localDate(Date.now(), timeZone), tenant.schedules);
    const { lessons } = await probe.readSchedule({ student, ...window, signal });
    return [findingOf(lessons, tenant, timeZone)];
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED')
      return [failureOf(NAME, error)];
    const text = 'the hub has none of the student tried, or does not offer it (HTTP 404)';
    return [
      warning(
        NAME,
        text,
        'If it does not: leave it out of tenants.collections; the others are mirrored all the same.',
      ),
    ];
  }
}

/** The collection that says whose schedules are wanted, where the hub does not have it. */
function parentNotOffered({
  tenant,
  probed,
}: {
  tenant: TenantConfig;
  probed: readonly Probed[];
}): CollectionName | null {
  const settingWith = collectionOf(tenant.schedules.students);
  const parent = settingWith === null ? null : sourceOf(settingWith);
  const error = probed.find(({ collection }) => collection.name === parent)?.error;
  return error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED' ? parent : null;
}

async function studentToTry(
  probe: Pick<HubProbe, 'collection'>,
  { tenant, probed, signal }: { tenant: TenantConfig; probed: readonly Probed[]; signal: AbortSignal },
): Promise<string | null> {
  const { students } = tenant.schedules;
  if (typeof students !== 'string') return students[0] ?? null;
  const known = probed.find(({ collection }) => collection.name === 'students')?.probe?.firstId ?? null;
  return known ?? (await probe.collection({ collection: collectionNamed('students'), signal })).firstId;
}

function findingOf(lessons: readonly unknown[], { schedules }: TenantConfig, timeZone: string): Finding {
  if (lessons.length === 0) return ok(NAME, 'answers; no lessons of the first student in these days');
  const mapping = { fields: schedules.fields, zone: createZoneClock(timeZone) };
  const readings = lessons.map((lesson) => (isJsonObject(lesson) ? readLesson(lesson, mapping) : null));
  const unread = readings.filter((reading) => reading?.kind !== 'lesson');
  const count = `${countOf(lessons.length, 'lesson')} of the first student`;
  const [first] = unread;
  if (first !== undefined) {
    const why = first?.kind === 'unreadable' ? first.reason : 'it is not an object';
    return failure(
      NAME,
      `${count}; ${unread.length} cannot be understood: ${why}`,
      'Say in schedules.fields what the hub calls start, end and date (docs/schedules.md).',
    );
  }
  const isWithoutClasses = readings.every(
    (reading) => reading?.kind === 'lesson' && reading.values.classes === null,
  );
  if (isWithoutClasses) {
    return warning(
      NAME,
      `${count}, none with a class`,
      'Say in schedules.fields what the hub calls classes (docs/schedules.md).',
    );
  }
  return ok(NAME, `${count}, all understood`);
}
