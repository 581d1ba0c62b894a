import { syncedCollections, type TenantConfig } from '../../config.ts';
import { explainShort, SHORT_REMEDY, verdictOn } from '../../core/deletions/evidence.ts';
import { zoneClock } from '../../core/zone-clock.ts';
import type { HubEvent } from '../../core/hub-events.ts';
import { fieldNames } from '../../core/lessons/lesson-page.ts';
import { createLessonReader } from '../../core/lessons/read-lesson.ts';
import { windowAround } from '../../core/lessons/window.ts';
import { modifiedTimeOf } from '../../core/rows/timestamps.ts';
import { UNMET_REMEDY, type UnmetSettings } from '../../core/rows/unmet-settings.ts';
import { countOf, formatDuration } from '../../core/words.ts';
import { RollcallError } from '../../errors.ts';
import { createHub, type TenantHub } from '../../hub/create-hub.ts';
import { concernsOneRequest } from '../../hub/hub-error.ts';
import type { HubPage, ReadOptions, ScanEnd } from '../../hub/hub.ts';
import { readableId } from '../../hub/page.ts';
import { readSchemaFiles } from '../../log/registry/schema-files.ts';
import { collectionNamed, type Collection, type CollectionName } from '../../model/collections.ts';
import { unmetSettingsOf } from '../../session/started-tenant.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

/** Within this many pages, even a scan that tries both ways of paging has shown a second page. */
const MOST_PAGES = 4;
/** A check answers fast: it repeats a request once. It asks for every collection, even after many failures. */
const QUICK = {
  retry: { maxAttempts: 2, firstMs: 300, longestMs: 1_000, retryAfterCapMs: 5_000 },
  breaker: { failures: Number.MAX_SAFE_INTEGER },
};

/**
 * The objects that all checks of a tenant's hub use. `events`: the events that the client of the hub has reported so
 * far.
 */
interface HubCheck {
  readonly tenant: TenantConfig;
  readonly hub: TenantHub;
  readonly events: readonly HubEvent[];
  readonly signal: AbortSignal;
}

/** The result for one collection. `error`: why the collection could not be read. */
interface Checked {
  readonly finding: Finding;
  /** Findings about settings of the collection that match nothing at the hub. */
  readonly unmet?: readonly Finding[];
  readonly isEmpty?: boolean;
  readonly error?: unknown;
}

/** Checks a tenant's hub: the token, and every enabled collection. */
export async function* checkHub(tenant: TenantConfig, signal: AbortSignal): AsyncGenerator<Finding> {
  const events: HubEvent[] = [];
  await using hub = createHub(tenant.hub, { ...QUICK, onEvent: (event) => events.push(event) });
  const check = { tenant, hub, events, signal };
  const all = await Promise.all(syncedCollections(tenant).map((each) => checkCollection(check, each)));
  const failed = all.flatMap(({ error }) => error ?? []);
  const token = events.find((event) => event.type === 'token-obtained');
  if (token === undefined) {
    if (failed.length > 0) yield failureOf('token', failed[0]);
    return;
  }
  yield ok('token', `from ${tenant.hub.tokenUrl}, good for ${formatDuration(token.lifetimeMs)}`);
  // If all collections fail for the same reason, one finding says it.
  if (all.length > 1 && failed.length === all.length && new Set(failed.map(codeOf)).size === 1)
    return yield {
      ...failureOf('collections', failed[0]),
      ...(codeOf(failed[0]) === 'HUB_FORBIDDEN' && { remedy: NO_RIGHT_REMEDY }),
    };
  if (all.some(({ isEmpty }) => isEmpty) && all.every(({ isEmpty }) => isEmpty ?? true)) {
    const remedy =
      'If the hub has data: check the rights of this client, hub.scope, and the tenant prefix in hub.baseUrl.';
    yield warning('collections', 'all answers are empty', remedy);
  }
  for (const { finding, unmet = [] } of all) yield* [finding, ...unmet];
}

/** Replaces the remedies of the single collections if the hub refuses the token for all of them. */
const NO_RIGHT_REMEDY =
  'The hub refuses the token for every collection: check that hub.tokenUrl and hub.baseUrl belong to the same environment and tenant, that hub.clientId is the client that was given rights there, and hub.scope.';

function codeOf(error: unknown): string | null {
  return error instanceof RollcallError ? error.code : null;
}

async function checkCollection(check: HubCheck, collection: Collection): Promise<Checked> {
  const { name } = collection;
  const unmet = unmetSettingsOf(readSchemaFiles(), check.tenant, name);
  const checked = await readSome(check, collection, unmet);
  // A mistyped field of `drop` or `pseudonymise` is a failure: the field that was meant would be published.
  const exposing = unmet.ofFields('drop', 'pseudonymise');
  const [first, ...others] = unmet.sentences.map((sentence) =>
    (exposing.includes(sentence) ? failure : warning)(name, sentence, UNMET_REMEDY),
  );
  // If the hub does not know an afterschool, the remedy for `HUB_NOT_OFFERED` would suspect hub.baseUrl. So it is left
  // out.
  if (first !== undefined && codeOf(checked.error) === 'HUB_NOT_OFFERED')
    return { ...checked, finding: first, unmet: others };
  return { ...checked, unmet: first === undefined ? [] : [first, ...others] };
}

/** Reads a little of a collection. */
async function readSome(check: HubCheck, collection: Collection, unmet: UnmetSettings): Promise<Checked> {
  const { tenant } = check;
  const { name, path } = collection;
  try {
    if (name === 'schedules') {
      const { students } = tenant.schedules;
      const student = typeof students === 'string' ? await firstId(check, 'students') : students[0];
      if (student === undefined) return { finding: untested(name) };
      return { finding: await lessonsFinding(check, student, unmet) };
    }
    if (!path.includes('{id}')) return await rowsFinding(check, { collection }, unmet);
    const parentId =
      name === 'afterschool-users'
        ? await knownAfterschool(check, collection, unmet)
        : await firstId(check, 'classes');
    return parentId === undefined
      ? { finding: untested(name) }
      : await rowsFinding(check, { collection, parentId }, unmet);
  } catch (error) {
    const found = failureOf(name, error);
    // This is only a warning: the other collections are mirrored anyway.
    return { finding: codeOf(error) === 'HUB_NOT_OFFERED' ? { ...found, level: 'warning' } : found, error };
  }
}

/** Asking for more afterschools would be a load test of the hub. */
const MOST_AFTERSCHOOLS = 200;

/**
 * Asks for the people of each configured afterschool, because the hub has no list of afterschools. Returns the first
 * one that the hub knows; throws if it knows none.
 */
async function knownAfterschool(
  check: HubCheck,
  collection: Collection,
  unmet: UnmetSettings,
): Promise<string | undefined> {
  const ids = check.tenant.afterschools.slice(0, MOST_AFTERSCHOOLS);
  const reads = ids.map((parentId) => firstPages(check, { collection, parentId }));
  const answers = await Promise.allSettled(reads);
  const failed = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  for (const [at, { status }] of answers.entries()) unmet.noteParent(ids[at] ?? '', status === 'fulfilled');
  const other = failed.find((error) => codeOf(error) !== 'HUB_NOT_OFFERED');
  if (other !== undefined || failed.length === ids.length) throw other ?? failed[0];
  return ids.find((_, at) => answers[at]?.status === 'fulfilled');
}

function untested(name: CollectionName): Finding {
  return warning(
    name,
    'not checked: the hub returns no row with which this collection could be tested',
    'Check again when the hub returns such rows.',
  );
}

type List = Pick<ReadOptions, 'collection' | 'parentId' | 'modifiedAfterMs'>;

/**
 * Reads the first pages of a list as a sync does, until there are enough: by default one. `end`: null if the scan has not
 * ended by then.
 */
async function firstPages(
  { hub, signal }: HubCheck,
  list: List,
  isEnough: (pages: number) => boolean = () => true,
): Promise<{ readonly pages: readonly HubPage[]; readonly end: ScanEnd | null }> {
  const scan = hub.readPages({ ...list, readVersion: () => 0, signal });
  const pages: HubPage[] = [];
  for (;;) {
    const { done, value } = await scan.next();
    if (done === true) return { pages, end: value };
    pages.push(value);
    if (!isEnough(pages.length)) continue;
    await scan.return(undefined as never);
    return { pages, end: null };
  }
}

async function firstId(check: HubCheck, name: CollectionName): Promise<string | undefined> {
  const { pages } = await firstPages(check, { collection: collectionNamed(name) });
  return pages.flatMap(({ rows }) => rows.flatMap((row) => readableId(row) ?? [])).at(0);
}

/** Checks a list of rows: reads until the hub has shown how it pages, and checks the filter by time. */
async function rowsFinding(check: HubCheck, list: List, unmet: UnmetSettings): Promise<Checked> {
  const { name } = list.collection;
  const decided = () =>
    check.events.find((event) => event.type === 'paging-decided' && event.collection === name);
  const isEnough = (count: number): boolean => count === MOST_PAGES || decided() !== undefined;
  const { pages, end } = await firstPages(check, list, isEnough);
  const rows = pages.flatMap((page) => page.rows);
  for (const row of rows) unmet.noteRow(row);
  const rowsWithoutId = rows.filter((row) => readableId(row) === null).length;
  const distinctRows = new Set(rows.map((row) => readableId(row) ?? row)).size;
  const verdict = end === null ? null : verdictOn({ ...end, scope: '', distinctRows, rowsWithoutId });
  if (verdict?.kind === 'short') {
    const { shortfall } = verdict;
    return { finding: failure(name, explainShort(shortfall), SHORT_REMEDY) };
  }
  if (verdict !== null && verdict.kind !== 'complete')
    return { finding: failure(name, verdict.why, INCONCLUSIVE_REMEDY) };
  if (rows.some((row) => modifiedTimeOf(row) !== null) && (await filterSelectsNothing(check, list)))
    return { finding: warning(name, 'the filter dateLastModified>… selects no row', FILTER_REMEDY) };
  const total = pages[0]?.total ?? 0;
  const count = end !== null ? countOf(distinctRows, 'row') : total > 0 ? countOf(total, 'row') : 'rows';
  const way = decided();
  const paged =
    way?.type === 'paging-decided'
      ? `; paged by ${way.paging}${way.why === null ? '' : `, not by afterSourcedId: ${way.why}`}`
      : '';
  return { finding: ok(name, count + paged), isEmpty: rows.length === 0 };
}

const FILTER_REMEDY =
  "Incremental syncs miss all changes, so only the daily full sync brings them. Have the hub support filter=dateLastModified>'…', with a time in UTC between the quotes.";

/**
 * Whether the filter of incremental syncs selects no row, even with the time 1970-01-01T00:00:00Z. Then incremental
 * syncs would find no change. Also false if the hub refuses the request.
 */
async function filterSelectsNothing(check: HubCheck, list: List): Promise<boolean> {
  if (!list.collection.keyset) return false;
  try {
    const { pages } = await firstPages(check, { ...list, modifiedAfterMs: 0 });
    return pages.every(({ rows }) => rows.length === 0);
  } catch (error) {
    if (concernsOneRequest(error)) return false;
    throw error;
  }
}

const INCONCLUSIVE_REMEDY =
  'No sync of this collection would be complete: check what the hub answers, the rights of this client, and hub.pageSize. Have the hub send sourcedId as a string.';

const PARTS = ['end', 'class', 'id', 'title', 'teachers', 'rooms', 'cancelled'] as const;

/**
 * Whether the hub returns the lessons of a student, and whether the configured names match. Throws if no lesson has the
 * configured start.
 */
async function lessonsFinding(
  { hub, tenant, signal }: HubCheck,
  student: string,
  unmet: UnmetSettings,
): Promise<Finding> {
  const { fields } = tenant.schedules;
  const { timeZone } = tenant.collections.schedules.fullSync;
  const window = windowAround(zoneClock(timeZone).dateAt(Date.now()), tenant.schedules);
  const { lessons } = await hub.readSchedule({ student, ...window, signal });
  for (const lesson of lessons) unmet.noteRow(lesson);
  if (lessons.length === 0)
    return ok('schedules', 'the hub answers, but the tested student has no lessons in these days');
  const read = createLessonReader({ fields, timeZone })(lessons);
  const missing = PARTS.filter((part) =>
    read.every(({ values }) => values?.[part === 'class' ? 'classes' : part] == null),
  );
  const problem = read.find((lesson) => lesson.date === null)?.problem;
  const text = [
    `${countOf(lessons.length, 'lesson')} of the tested student, with the fields ${fieldNames(lessons)}`,
    ...(missing.length > 0 ? [`none has: ${missing.join(', ')}`] : []),
    ...(problem === undefined ? [] : [problem]),
  ].join('; ');
  if (problem === undefined && !missing.includes('class') && !missing.includes('end'))
    return ok('schedules', text);
  const remedy =
    "Set the hub's names in schedules.fields: without start, class and end, absences cannot be joined to lessons.";
  return (problem === undefined ? warning : failure)('schedules', text, remedy);
}
