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

/** Within this many pages, even a scan that tries each way of paging has shown a second page. */
const MOST_PAGES = 4;
/** A check should answer fast, with one retry to hide a short failure, and asks for every collection, even after many failures. */
const QUICK = {
  retry: { maxAttempts: 2, firstMs: 300, longestMs: 1_000, retryAfterCapMs: 5_000 },
  breaker: { failures: Number.MAX_SAFE_INTEGER },
};

interface Asked {
  readonly tenant: TenantConfig;
  readonly hub: TenantHub;
  readonly events: readonly HubEvent[];
  readonly signal: AbortSignal;
}

/** What `check` saw of one collection. `error`: why it could not be read. */
interface Looked {
  readonly finding: Finding;
  /** Findings about settings that nothing at the hub fits. */
  readonly unmet?: readonly Finding[];
  readonly isEmpty?: boolean;
  readonly error?: unknown;
}

/** Checks a tenant's hub: the token, and every enabled collection. */
export async function* checkHub(tenant: TenantConfig, signal: AbortSignal): AsyncGenerator<Finding> {
  const events: HubEvent[] = [];
  await using hub = createHub(tenant.hub, { ...QUICK, onEvent: (event) => events.push(event) });
  const asked = { tenant, hub, events, signal };
  const all = await Promise.all(syncedCollections(tenant).map((each) => look(asked, each)));
  const failed = all.flatMap(({ error }) => error ?? []);
  const token = events.find((event) => event.type === 'token-obtained');
  if (token === undefined) {
    if (failed.length > 0) yield failureOf('token', failed[0]);
    return;
  }
  yield ok('token', `from ${tenant.hub.tokenUrl}, good for ${formatDuration(token.lifetimeMs)}`);
  // One cause often stops all collections.
  if (all.length > 1 && failed.length === all.length && new Set(failed.map(codeOf)).size === 1)
    return yield ofAll(failureOf('collections', failed[0]), failed[0]);
  if (all.some(({ isEmpty }) => isEmpty) && all.every(({ isEmpty }) => isEmpty ?? true)) {
    const remedy =
      'If the hub has data: check the rights of this client, hub.scope, and the tenant prefix in hub.baseUrl.';
    yield warning('collections', 'all answers are empty', remedy);
  }
  for (const { finding, unmet = [] } of all) yield* [finding, ...unmet];
}

/** If the hub refuses every collection, the cause is not a right on a single collection. */
function ofAll(finding: Finding, error: unknown): Finding {
  return codeOf(error) === 'HUB_FORBIDDEN' ? { ...finding, remedy: NO_RIGHT_REMEDY } : finding;
}

const NO_RIGHT_REMEDY =
  'The hub refuses the token for every collection: check that hub.tokenUrl and hub.baseUrl belong to the same environment and tenant, that hub.clientId is the client that was given rights there, and hub.scope.';

function codeOf(error: unknown): string | null {
  return error instanceof RollcallError ? error.code : null;
}

async function look(asked: Asked, collection: Collection): Promise<Looked> {
  const { name } = collection;
  const unmet = unmetSettingsOf(readSchemaFiles(), asked.tenant, name);
  const looked = await lookAt(asked, collection, unmet);
  // What these settings should keep back is published.
  const exposing = unmet.ofFields('drop', 'pseudonymise');
  const [first, ...others] = unmet.sentences.map((sentence) =>
    (exposing.includes(sentence) ? failure : warning)(name, sentence, UNMET_REMEDY),
  );
  // An afterschool that the hub does not know says nothing of hub.baseUrl.
  if (first !== undefined && codeOf(looked.error) === 'HUB_NOT_OFFERED')
    return { ...looked, finding: first, unmet: others };
  return { ...looked, unmet: first === undefined ? [] : [first, ...others] };
}

async function lookAt(asked: Asked, collection: Collection, unmet: UnmetSettings): Promise<Looked> {
  const { tenant } = asked;
  const { name, path } = collection;
  try {
    if (name === 'schedules') {
      const { students } = tenant.schedules;
      const student = typeof students === 'string' ? await firstId(asked, 'students') : students[0];
      if (student === undefined) return { finding: untested(name) };
      return { finding: await lessonsFinding(asked, student, unmet) };
    }
    const isNested = path.includes('{id}');
    const parent =
      name === 'afterschool-users'
        ? knownAfterschool(asked, collection, unmet)
        : isNested && firstId(asked, 'classes');
    const parentId = (await parent) || undefined;
    return isNested && parentId === undefined
      ? { finding: untested(name) }
      : await rowsFinding(asked, { collection, parentId }, unmet);
  } catch (error) {
    const found = failureOf(name, error);
    // A collection that the hub does not offer does not keep the others from being mirrored.
    return { finding: codeOf(error) === 'HUB_NOT_OFFERED' ? { ...found, level: 'warning' } : found, error };
  }
}

/** More requests than that would be a load test. */
const MOST_AFTERSCHOOLS = 200;

/** Asks for each afterschool, since the hub lists them nowhere. Returns the first one that it knows; throws if it knows none. */
async function knownAfterschool(
  asked: Asked,
  collection: Collection,
  unmet: UnmetSettings,
): Promise<string | undefined> {
  const ids = asked.tenant.afterschools.slice(0, MOST_AFTERSCHOOLS);
  const reads = ids.map((parentId) => beginOf(asked, { collection, parentId }, () => true));
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

type Of = Pick<ReadOptions, 'collection' | 'parentId'>;

/** Reads as a sync does, until enough pages came. `end`: null if the scan has not ended by then. */
async function beginOf(
  { hub, signal }: Asked,
  of: Of,
  isEnough: (pages: number) => boolean,
  modifiedAfterMs?: number,
): Promise<{ readonly pages: readonly HubPage[]; readonly end: ScanEnd | null }> {
  const scan = hub.readPages({ ...of, modifiedAfterMs, readVersion: () => 0, signal });
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

async function firstId(asked: Asked, name: CollectionName): Promise<string | undefined> {
  const { pages } = await beginOf(asked, { collection: collectionNamed(name) }, () => true);
  return pages.flatMap(({ rows }) => rows.flatMap((row) => readableId(row) ?? [])).at(0);
}

/** Reads until the hub shows how it pages. */
async function rowsFinding(asked: Asked, of: Of, unmet: UnmetSettings): Promise<Looked> {
  const { name } = of.collection;
  const decided = () =>
    asked.events.find((event) => event.type === 'paging-decided' && event.collection === name);
  const { pages, end } = await beginOf(asked, of, (count) => count === MOST_PAGES || decided() !== undefined);
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
  if (await missesByDate(asked, of, pages[0]?.rows ?? []))
    return { finding: warning(name, MISSED_BY_DATE, FILTER_REMEDY) };
  const total = pages[0]?.total ?? 0;
  const count = end !== null ? countOf(distinctRows, 'row') : total > 0 ? countOf(total, 'row') : 'rows';
  const way = decided();
  const paged =
    way?.type === 'paging-decided'
      ? `; paged by ${way.paging}${way.why === null ? '' : `, not by afterSourcedId: ${way.why}`}`
      : '';
  return { finding: ok(name, count + paged), isEmpty: rows.length === 0 };
}

const MISSED_BY_DATE =
  'the filter dateLastModified>… does not return a listed row, although the time in the filter is just before that of the row';
const FILTER_REMEDY =
  "Incremental syncs miss such changes, and the daily full sync brings them. Have the hub answer filter=dateLastModified>'…' with a time in UTC.";
/** Some hubs compare whole seconds. */
const JUST_BEFORE_MS = 1_000;

/** Whether an incremental sync would miss the row that was modified last; false, too, if this cannot be known. */
async function missesByDate(asked: Asked, of: Of, rows: readonly unknown[]): Promise<boolean> {
  const stamped = rows.flatMap((row) => {
    const [id, ms] = [readableId(row), modifiedTimeOf(row)];
    return id === null || ms === null ? [] : [{ id, ms }];
  });
  const [latest] = stamped.toSorted((a, b) => b.ms - a.ms);
  if (!of.collection.keyset || latest === undefined) return false;
  try {
    const { pages, end } = await beginOf(asked, of, (count) => count === 2, latest.ms - JUST_BEFORE_MS);
    return end !== null && !pages.some((page) => page.rows.some((row) => readableId(row) === latest.id));
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
  { hub, tenant, signal }: Asked,
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
