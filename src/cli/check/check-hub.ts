import { collectionSettings, syncedCollections, type TenantConfig } from '../../config.ts';
import { SHORT_REMEDY } from '../../core/deletions/evidence.ts';
import { localDate } from '../../core/full-pull-time.ts';
import type { HubEvent } from '../../core/hub-events.ts';
import { fieldNames } from '../../core/lessons/lesson-page.ts';
import { createLessonReader } from '../../core/lessons/read-lesson.ts';
import { windowAround } from '../../core/lessons/window.ts';
import { countOf, formatDuration } from '../../core/words.ts';
import { RollcallError } from '../../errors.ts';
import { createHub, type TenantHub } from '../../hub/create-hub.ts';
import { collectionNamed, type Collection, type CollectionName } from '../../model/collections.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';
import { lookAt, type Seen } from './look.ts';

const SCHEDULES = 'schedules';
/** A larger skew is worth a warning; Rollcall itself uses the hub's clock. */
const SKEW_WORTH_WARNING_MS = 60_000;
const REQUEST_MS = 15_000;
/** A check should answer fast, with one retry to hide a short failure, and asks for every collection, even after many failures. */
const QUICK = {
  retry: { maxAttempts: 2, firstMs: 300, longestMs: 1_000, retryAfterCapMs: 5_000 },
  breaker: { failures: Number.MAX_SAFE_INTEGER },
};

type TokenObtained = Extract<HubEvent, { type: 'token-obtained' }>;

/** What is known of a collection: what was seen, an error, or neither where there is nothing to test it with. */
interface Looked {
  readonly collection: Collection;
  readonly seen?: Seen;
  readonly error?: unknown;
}

/** Checks a tenant's hub: the token, and a few rows of every enabled collection. */
export async function* checkHub(tenant: TenantConfig, signal: AbortSignal): AsyncGenerator<Finding> {
  const { tokenUrl, pageSize, requestTimeoutMs } = tenant.hub;
  const events: HubEvent[] = [];
  const requestMs = Math.min(REQUEST_MS, requestTimeoutMs);
  const timeouts = { connectMs: Math.min(5_000, requestMs), requestMs };
  await using hub = createHub(tenant.hub, { ...QUICK, timeouts, onEvent: (event) => events.push(event) });
  const looked = new Map<CollectionName, Promise<Looked>>();
  const look = (name: CollectionName): Promise<Looked> => {
    const known = looked.get(name) ?? lookOnce(collectionNamed(name));
    looked.set(name, known);
    return known;
  };
  const firstId = async (name: CollectionName) => (await look(name)).seen?.ids[0];
  async function lookOnce(collection: Collection): Promise<Looked> {
    const { name } = collection;
    try {
      const parents = name === 'afterschool-users' ? () => tenant.afterschools[0] : () => firstId('classes');
      const parentId = isNested(collection) ? await parents() : undefined;
      if (isNested(collection) && parentId === undefined) return { collection };
      const read = { collection, parentId, readVersion: () => 0, signal };
      return { collection, seen: await lookAt(hub, read, { events, pageSize }) };
    } catch (error) {
      return { collection, error };
    }
  }
  const names = syncedCollections(tenant).map(({ name }) => name);
  const all = await Promise.all(names.filter((name) => name !== SCHEDULES).map(look));
  const failed = all.find(({ error }) => error !== undefined);
  const token = events.find(({ type }) => type === 'token-obtained') as TokenObtained | undefined;
  if (token !== undefined)
    yield ok('token', `from ${tokenUrl}, good for ${formatDuration(token.lifetimeMs)}`);
  else if (failed !== undefined) yield failureOf('token', failed.error);
  yield* token === undefined ? [] : collectionFindings(all);
  // Where no collection could be read, one more failure says nothing new.
  if (names.includes(SCHEDULES) && (all.length === 0 || all.some(({ seen }) => seen !== undefined))) {
    const { students } = tenant.schedules;
    const student = typeof students === 'string' ? await firstId('students') : students[0];
    yield await checkLessons(hub, tenant, { student, signal });
  }
}

function isNested({ path }: Collection): boolean {
  return path.includes('{id}');
}

function codeOf(error: unknown): string | null {
  return error instanceof RollcallError ? error.code : null;
}

/** The findings of all collections; a failure that they all share is reported once. */
function collectionFindings(all: readonly Looked[]): Finding[] {
  const asked = all.filter(({ seen, error }) => seen !== undefined || error !== undefined);
  const [first] = asked;
  if (first?.error instanceof RollcallError && asked.length > 1) {
    const { code, message, remedy } = first.error;
    if (asked.every(({ error }) => codeOf(error) === code))
      return [failure('collections', `none can be read; the first: ${message}`, remedy)];
  }
  const seen = all.flatMap((each) => each.seen ?? []);
  const isEmpty =
    seen.length > 0 && seen.every(({ rows, end }) => rows.length === 0 && end !== 'missing-list');
  return [
    ...(seen.length > 0 ? [clockFinding(seen)] : []),
    ...(isEmpty
      ? [
          warning(
            'collections',
            'all answers are empty',
            'If the hub has data: check the rights of this client, hub.scope, and the tenant prefix in hub.baseUrl.',
          ),
        ]
      : []),
    ...all.map(collectionFinding),
  ];
}

/** The other collections are mirrored without one that the hub does not offer. */
function errorFinding(name: CollectionName, error: unknown): Finding {
  const found = failureOf(name, error);
  return codeOf(error) === 'HUB_NOT_OFFERED' ? { ...found, level: 'warning' } : found;
}

function clockFinding(seen: readonly Seen[]): Finding {
  const skewMs = seen.find((each) => each.skewMs !== null)?.skewMs ?? null;
  if (skewMs === null)
    return warning(
      'clock',
      'the hub sends no Date',
      'Nothing: incremental syncs use the clock of this machine and reach an hour further back.',
    );
  // The Date header has whole seconds.
  if (Math.abs(skewMs) < 2_000) return ok('clock', "the hub's agrees with this machine's");
  const way = skewMs < 0 ? 'behind' : 'ahead of';
  const text = `the hub's is ${formatDuration(Math.abs(skewMs))} ${way} this machine's`;
  if (Math.abs(skewMs) < SKEW_WORTH_WARNING_MS) return ok('clock', text);
  const remedy = "Set the clock that is wrong. Incremental syncs use the hub's, so no change is lost.";
  return warning('clock', text, remedy);
}

function collectionFinding({ collection, seen, error }: Looked): Finding {
  const { name, envelope } = collection;
  if (error !== undefined) return errorFinding(name, error);
  if (seen === undefined)
    return warning(
      name,
      'not checked: there is no class to test it with',
      'Check again when the hub has rows.',
    );
  const { rows, ids, total, end, short, decided } = seen;
  if (end === 'missing-list')
    return warning(
      name,
      `the answer has no list "${envelope}"`,
      'Check what the hub answers, and the rights of this client: from such an answer Rollcall mirrors and removes nothing.',
    );
  if (short !== null) return failure(name, `${short.rows} of ${short.total} rows came`, SHORT_REMEDY);
  if (rows.length === 0) return ok(name, 'no rows');
  // A total below the number of rows on the page counts something else.
  const count = total === null || total < rows.length ? 'rows, no usable total' : countOf(total, 'row');
  if (ids.length === 0)
    return warning(
      name,
      `${count}; none of those checked has a readable sourcedId`,
      'Such rows are published to rejects only. Have the hub send sourcedId as a text.',
    );
  if (end === 'repeated-page')
    return failure(
      name,
      `${count}; the hub keeps returning the same page`,
      'Set hub.pageSize above the number of rows if the hub honours it: otherwise no sync can prove that it has read all rows.',
    );
  if (seen.dateFilterFinds === false)
    return warning(
      name,
      `${count}; a listed row does not come when it is asked for by a time just before its dateLastModified`,
      "Incremental syncs miss such changes, and the daily full sync brings them. Have the hub answer filter=dateLastModified>'…' with a time in UTC.",
    );
  const details = [
    count,
    ...(isNested(collection) ? ['of the first parent only'] : []),
    decided === undefined ? 'too few rows to see how the hub pages' : `paged by ${decided.paging}`,
  ].join('; ');
  if (decided === undefined || decided.why === null) return ok(name, details);
  const text = `${details}; not by afterSourcedId: ${decided.why}`;
  return warning(name, text, 'Nothing: Rollcall chooses this way by itself.');
}

/** Checks the lessons of one student: whether the hub returns them, and whether the configured names match. */
async function checkLessons(
  hub: Pick<TenantHub, 'readSchedule'>,
  tenant: TenantConfig,
  { student, signal }: { student: string | undefined; signal: AbortSignal },
): Promise<Finding> {
  if (student === undefined)
    return warning(
      SCHEDULES,
      'not checked: the hub lists no student to test it with',
      'Check again when it does, or name students in schedules.students.',
    );
  const { timeZone } = collectionSettings(tenant, SCHEDULES).fullPull;
  const window = windowAround(localDate(Date.now(), timeZone), tenant.schedules);
  try {
    const { lessons } = await hub.readSchedule({ student, ...window, signal });
    return lessonsFinding(lessons, { fields: tenant.schedules.fields, timeZone });
  } catch (error) {
    // It may also have none for this student alone.
    return errorFinding(SCHEDULES, error);
  }
}

/** Throws where no lesson has the configured start. */
function lessonsFinding(
  lessons: readonly unknown[],
  options: Parameters<typeof createLessonReader>[0],
): Finding {
  if (lessons.length === 0) return ok(SCHEDULES, 'answers; no lessons of the tested student in these days');
  const read = createLessonReader(options)(lessons);
  const met = `${countOf(lessons.length, 'lesson')} of the tested student, with the fields ${fieldNames(lessons)}`;
  const problem = read.find((lesson) => lesson.date === null)?.problem;
  if (problem !== undefined)
    return failure(SCHEDULES, `${met}; ${problem}`, "Set schedules.fields.start to the hub's name of it.");
  const missing = (['end', 'class', 'id', 'title', 'teachers', 'rooms', 'cancelled'] as const).filter(
    (part) => read.every(({ values }) => values?.[part === 'class' ? 'classes' : part] == null),
  );
  if (missing.length === 0) return ok(SCHEDULES, `${met}; every part is found`);
  const text = `${met}; none has: ${missing.join(', ')}`;
  if (!missing.includes('class') && !missing.includes('end')) return ok(SCHEDULES, text);
  const remedy =
    "Set the hub's names in schedules.fields: without class and end, absences cannot be joined to lessons.";
  return warning(SCHEDULES, text, remedy);
}
