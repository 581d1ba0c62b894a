import { collectionSettings, syncedCollections, type TenantConfig } from '../../config.ts';
import { SHORT_REMEDY, shortfallOf, type Shortfall } from '../../core/deletions/evidence.ts';
import { localDate } from '../../core/full-pull-time.ts';
import type { HubEvent } from '../../core/hub-events.ts';
import { fieldNames } from '../../core/lessons/lesson-page.ts';
import { createLessonReader } from '../../core/lessons/read-lesson.ts';
import { windowAround } from '../../core/lessons/window.ts';
import { modifiedTimeOf } from '../../core/timestamps.ts';
import { countOf, formatDuration } from '../../core/words.ts';
import { RollcallError } from '../../errors.ts';
import { createHub, type TenantHub } from '../../hub/create-hub.ts';
import { concernsOneRequest } from '../../hub/hub-error.ts';
import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../hub/hub.ts';
import { readableId } from '../../hub/page.ts';
import { collectionNamed, type Collection, type CollectionName } from '../../model/collections.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

const SCHEDULES = 'schedules';
/** A scan that tries each way of paging has shown a second page by then. */
const MOST_PAGES = 4;
/** Some hubs compare whole seconds. */
const JUST_BEFORE_MS = 1_000;
const REQUEST_MS = 15_000;
/** A check should answer fast, with one retry to hide a short failure. */
const QUICK = { retry: { maxAttempts: 2, firstMs: 300, longestMs: 1_000, retryAfterCapMs: 5_000 } };

type TokenObtained = Extract<HubEvent, { type: 'token-obtained' }>;
type Decided = Extract<HubEvent, { type: 'paging-decided' }>;

/** What the first page of a collection shows, and those after it until the hub's way of paging is known. */
interface Seen {
  readonly rows: readonly unknown[];
  readonly ids: readonly string[];
  /** `X-Total-Count`; null when absent. */
  readonly total: number | null;
  /** Null where there are more pages. */
  readonly end: ScanEnd['reason'] | null;
  /** Null also where there are more pages. */
  readonly short: Shortfall | null;
  /** How a second page came; undefined when there was none. */
  readonly decided: Decided | undefined;
  /** Whether a listed row comes when it is asked for as an incremental sync would; null when that cannot be told. */
  readonly dateFilterFinds: boolean | null;
}

/** What is known of a collection: what was seen, an error, or neither where there is nothing to test it with. */
interface Looked {
  readonly collection: Collection;
  readonly seen?: Seen;
  readonly error?: unknown;
}

/** Checks a tenant's hub: the token, and one page of every enabled collection. */
export async function* checkHub(tenant: TenantConfig, signal: AbortSignal): AsyncGenerator<Finding> {
  const { tokenUrl, requestTimeoutMs } = tenant.hub;
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
      const decided = () =>
        events.find((event) => event.type === 'paging-decided' && event.collection === name) as
          | Decided
          | undefined;
      const read = { collection, parentId, readVersion: () => 0, signal };
      return { collection, seen: await firstPages(hub, read, decided) };
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

/** Reads as a sync does, until it shows how the hub pages. */
async function firstPages(
  hub: Pick<Hub, 'readPages'>,
  read: ReadOptions,
  decided: () => Decided | undefined,
): Promise<Seen> {
  const scan = hub.readPages(read);
  const pages: HubPage[] = [];
  let end: ScanEnd | null = null;
  while (end === null && pages.length < MOST_PAGES && decided() === undefined) {
    const { done, value } = await scan.next();
    if (done === true) end = value;
    else pages.push(value);
  }
  await scan.return(undefined as never);
  const rows = pages[0]?.rows ?? [];
  const distinctRows = new Set(pages.flatMap((page) => page.rows).map((row) => readableId(row) ?? row)).size;
  return {
    rows,
    ids: rows.map(readableId).filter((id) => id !== null),
    total: pages[0]?.total ?? null,
    end: end?.reason ?? null,
    short: end === null ? null : shortfallOf({ ...end, distinctRows }),
    decided: decided(),
    dateFilterFinds: await findsByDate(hub, read, rows),
  };
}

/** Asks for the row that was modified last, by a time just before that, and reads the first page of the answer. */
async function findsByDate(
  hub: Pick<Hub, 'readPages'>,
  read: ReadOptions,
  rows: readonly unknown[],
): Promise<boolean | null> {
  const stamped = rows.flatMap((row) => {
    const [id, ms] = [readableId(row), modifiedTimeOf(row)];
    return id === null || ms === null ? [] : [{ id, ms }];
  });
  const [latest] = stamped.toSorted((a, b) => b.ms - a.ms);
  if (!read.collection.keyset || latest === undefined) return null;
  const scan = hub.readPages({ ...read, modifiedAfterMs: latest.ms - JUST_BEFORE_MS });
  try {
    const { done, value } = await scan.next();
    if (done !== true && value.rows.some((row) => readableId(row) === latest.id)) return true;
    return done === true || (await scan.next()).done === true ? false : null;
  } catch (error) {
    if (concernsOneRequest(error)) return null;
    throw error;
  } finally {
    await scan.return(undefined as never);
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

function collectionFinding({ collection, seen, error }: Looked): Finding {
  const { name, envelope } = collection;
  if (error !== undefined) return errorFinding(name, error);
  if (seen === undefined)
    return warning(
      name,
      'not checked: there is no class to test it with',
      'Check again when the hub has rows.',
    );
  const { rows, ids, total, end, short } = seen;
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
  const { decided } = seen;
  const details = [
    count,
    ...(isNested(collection) ? ['of the first parent only'] : []),
    decided === undefined ? 'on one page' : `paged by ${decided.paging}`,
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
