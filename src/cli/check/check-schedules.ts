import { collectionSettings, type TenantConfig } from '../../config.ts';
import { localDate } from '../../core/full-pull-time.ts';
import { collectionOf } from '../../config/schedules.ts';
import { fieldNames } from '../../core/lessons/lesson-page.ts';
import { createLessonReader } from '../../core/lessons/read-lesson.ts';
import { windowAround } from '../../core/lessons/window.ts';
import { RollcallError } from '../../errors.ts';
import type { HubProbe } from '../../hub/probe-hub.ts';
import { collectionNamed, sourceOf, type CollectionName } from '../../model/collections.ts';
import { countOf } from '../../core/words.ts';
import type { Probed } from './probed.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

const NAME = 'schedules';

/** Checks the lessons of one student: whether the hub returns them, and whether the configured names match. */
export async function scheduleFindings(
  probe: Pick<HubProbe, 'collection' | 'readSchedule'>,
  options: { tenant: TenantConfig; probed: readonly Probed[]; signal: AbortSignal },
): Promise<Finding[]> {
  const { tenant, probed, signal } = options;
  const settings = collectionSettings(tenant, NAME);
  // When no collection could be read, one more failure says nothing new.
  if (!settings.enabled || (probed.length > 0 && probed.every((each) => each.probe === undefined))) return [];
  const parent = parentNotOffered(options);
  if (parent !== null) {
    return [
      warning(
        NAME,
        `the hub does not offer ${parent}, which names the students whose schedules are wanted`,
        'Remove schedules from tenants.collections, or set schedules.students; the others are mirrored anyway.',
      ),
    ];
  }
  try {
    const student = await studentToTest(probe, options);
    if (student === null) {
      return [
        warning(
          NAME,
          'not checked: the hub lists no student to test it with',
          'Check again when it does, or name students in schedules.students.',
        ),
      ];
    }
    const window = windowAround(localDate(Date.now(), settings.fullPull.timeZone), tenant.schedules);
    const { lessons } = await probe.readSchedule({ student, ...window, signal });
    return [findingOf(lessons, tenant)];
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RollcallError) || error.code !== 'HUB_NOT_OFFERED')
      return [failureOf(NAME, error)];
    const text = 'the hub has none for the tested student, or does not offer it (HTTP 404)';
    return [
      warning(
        NAME,
        text,
        'If the hub does not offer it: remove it from tenants.collections; the others are mirrored anyway.',
      ),
    ];
  }
}

/** The collection that names the wanted students, if the hub does not offer it; null otherwise. */
function parentNotOffered({
  tenant,
  probed,
}: {
  tenant: TenantConfig;
  probed: readonly Probed[];
}): CollectionName | null {
  const namedBy = collectionOf(tenant.schedules.students);
  const parent = namedBy === null ? null : sourceOf(namedBy);
  const error = probed.find(({ collection }) => collection.name === parent)?.error;
  return error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED' ? parent : null;
}

async function studentToTest(
  probe: Pick<HubProbe, 'collection'>,
  { tenant, probed, signal }: { tenant: TenantConfig; probed: readonly Probed[]; signal: AbortSignal },
): Promise<string | null> {
  const { students } = tenant.schedules;
  if (typeof students !== 'string') return students[0] ?? null;
  const known = probed.find(({ collection }) => collection.name === 'students')?.probe?.firstId ?? null;
  if (known !== null) return known;
  try {
    return (await probe.collection({ collection: collectionNamed('students'), signal })).firstId;
  } catch (error) {
    if (error instanceof RollcallError && error.code === 'HUB_NOT_OFFERED') return null;
    throw error;
  }
}

/** Throws where no lesson has the configured start. */
function findingOf(lessons: readonly unknown[], tenant: TenantConfig): Finding {
  if (lessons.length === 0) return ok(NAME, 'answers; no lessons of the tested student in these days');
  const { fields } = tenant.schedules;
  const { timeZone } = collectionSettings(tenant, NAME).fullPull;
  const read = createLessonReader({ fields, timeZone })(lessons);
  const met = `${countOf(lessons.length, 'lesson')} of the tested student, with the fields ${fieldNames(lessons)}`;
  const problem = read.find((lesson) => lesson.date === null)?.problem;
  if (problem !== undefined) {
    return failure(NAME, `${met}; ${problem}`, "Set schedules.fields.start to the hub's name of it.");
  }
  const missing = (['end', 'class', 'id', 'title', 'teachers', 'rooms', 'cancelled'] as const).filter(
    (part) => read.every(({ values }) => values?.[part === 'class' ? 'classes' : part] == null),
  );
  if (missing.length === 0) return ok(NAME, `${met}; every part is found`);
  const text = `${met}; none has: ${missing.join(', ')}`;
  const remedy =
    "Set the hub's names in schedules.fields: without class and end, absences cannot be joined to lessons.";
  return missing.includes('class') || missing.includes('end') ? warning(NAME, text, remedy) : ok(NAME, text);
}
