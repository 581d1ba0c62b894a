import { shortfallOf, type Shortfall } from '../core/deletions/evidence.ts';
import { modifiedTimeOf } from '../core/timestamps.ts';
import type { HubEvent, PagingMode, WayOut } from '../core/hub-events.ts';
import type { HubPage, HubSettings, ScanEnd } from './hub.ts';
import { concernsOneRequest, HubError } from './hub-error.ts';
import { readableId } from './page.ts';
import { connectHub, type HubTools } from './create-hub.ts';
import { PagingMemory } from './paging.ts';
import { readSchedule, type ReadSchedule } from './read-schedule.ts';
import { resourceUrl, withQuery } from './request-url.ts';
import { withRetries } from './retry.ts';
import { scanPages, type ScanContext } from './scan.ts';
import type { Collection } from '../model/collections.ts';

/** Facts from the first pages of a collection, which the probe scans like a sync. */
export interface CollectionProbe {
  /** Number of rows on the first page; null when the answer had no list. */
  readonly rows: number | null;
  /** Number of rows on the first page that have an id. */
  readonly rowsWithId: number;
  /** The requested limit. */
  readonly asked: number;
  /** `X-Total-Count` of the first page; null when absent. */
  readonly total: number | null;
  /** How a `next` link leads out of the hub; null when none does. */
  readonly leadsOut: WayOut | null;
  /** The paging mode that returned a second page; null when there was none. */
  readonly paging: PagingMode | null;
  /** Why the scan left the first paging mode; null when it did not. */
  readonly whySteppedDown: string | null;
  /** The hub returns the same page again and again: nothing proves that there are no other rows. */
  readonly isRepeated: boolean;
  /** By how much a collection that fits in one page of a sync stays below the hub's total; null for others. */
  readonly short: Shortfall | null;
  /** Hub clock minus local clock, ms; null without a `Date` header. */
  readonly skewMs: number | null;
  /** Id of the first row with one: a parent for a try at nested collections. */
  readonly firstId: string | null;
  /** Whether a listed row comes when it is asked for as an incremental sync would; null when that cannot be told. */
  readonly dateFilterFinds: boolean | null;
}

/** Examines a hub with a few small requests. Errors are `RollcallError`s with a `HUB_…` code. */
export interface HubProbe extends AsyncDisposable {
  /** Obtains a token and returns its lifetime in ms. */
  token(signal: AbortSignal): Promise<{ lifetimeMs: number }>;
  /** Sends a request without a token and returns the HTTP status: something answers at the base URL. */
  knock(collection: Collection, signal: AbortSignal): Promise<number>;
  collection(options: {
    collection: Collection;
    parentId?: string | undefined;
    signal: AbortSignal;
  }): Promise<CollectionProbe>;
  readonly readSchedule: ReadSchedule;
}

const ROWS_ASKED = 2;
/** Some hubs compare whole seconds. */
const JUST_BEFORE_MS = 1_000;
const REQUEST_MS = 15_000;
/** A check should answer fast; one retry hides a short failure. */
const RETRY = { maxAttempts: 2, firstMs: 300, longestMs: 1_000, retryAfterCapMs: 5_000 };

export function createHubProbe(settings: HubSettings, tools: HubTools = {}): HubProbe {
  const { paging, pageSize } = settings;
  const ignoresTotals = settings.totals === 'ignored';
  const requestMs = Math.min(REQUEST_MS, settings.requestTimeoutMs);
  let lifetimeMs = 0;
  const onEvent = (event: HubEvent): void => {
    if (event.type === 'token-obtained') ({ lifetimeMs } = event);
    tools.onEvent?.(event);
  };
  const { baseUrl, http, tokens, retries, now, ...connected } = connectHub(settings, {
    ...tools,
    timeouts: { connectMs: Math.min(5_000, requestMs), requestMs },
    retry: RETRY,
    onEvent,
  });
  // The breaker must never open: the probe asks for every collection, even after many failures.
  const requests = connected.requests({ what: baseUrl.origin, failures: Number.MAX_SAFE_INTEGER });
  return {
    async token(signal) {
      await withRetries(() => tokens.get(signal), { tools: retries, target: 'token', signal });
      return { lifetimeMs };
    },
    async knock(collection, signal) {
      const url = withQuery(resourceUrl(baseUrl, { collection }), { limit: 1 });
      const where = `${url.origin}${url.pathname}`;
      const headers = { accept: 'application/json' };
      const response = await http.send({
        method: 'GET',
        url,
        headers,
        signal,
        where,
        setting: 'hub.baseUrl',
        mayBeLarge: true,
      });
      return response.status;
    },
    readSchedule: (asked) => readSchedule({ baseUrl, requests, onEvent, firstTime: () => false }, asked),
    async collection(options) {
      const at = { baseUrl, requests, now, paging, pageSize, ignoresTotals };
      const probe = await probeCollection(at, options);
      const fits = probe.rows !== null && probe.total !== null && probe.total <= pageSize;
      return { ...probe, short: fits ? await findShort(at, options) : null };
    },
    [Symbol.asyncDispose]: connected[Symbol.asyncDispose],
  };
}

type ProbeOptions = Parameters<HubProbe['collection']>[0];

type FirstPages = Omit<CollectionProbe, 'short'>;

interface ProbeContext extends Omit<ScanContext, 'memory' | 'onEvent'> {
  readonly pageSize: number;
  readonly now: () => number;
}

/**
 * Small pages show how the hub pages even a small collection. If they fail, the probe uses the page size of a sync:
 * a collection that fits in one page needs no paging.
 */
async function probeCollection(at: ProbeContext, options: ProbeOptions): Promise<FirstPages> {
  try {
    const probe = await scanFirstPages(at, { ...options, limit: ROWS_ASKED });
    if (probe.rows === null || probe.rows <= ROWS_ASKED) return probe;
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_PAGING_BROKEN') throw error;
  }
  return scanFirstPages(at, { ...options, limit: at.pageSize });
}

/** Reads a collection to its end, and compares it with the hub's total. */
async function findShort(at: ProbeContext, options: ProbeOptions): Promise<Shortfall | null> {
  const memory = new PagingMemory({ now: at.now, pageSize: at.pageSize });
  const scan = scanPages({ ...at, memory, onEvent: () => undefined }, { ...options, readVersion: () => 0 });
  const seen = new Set<unknown>();
  for (;;) {
    const step = await scan.next();
    if (step.done === true) return shortfallOf({ ...step.value, distinctRows: seen.size });
    for (const row of step.value.rows) seen.add(readableId(row) ?? row);
  }
}

/** Asks for the row that was modified last, by a time just before that, and reads the first page of the answer. */
async function findsByDate(
  at: ProbeContext,
  { collection, signal }: ProbeOptions,
  rows: readonly unknown[],
): Promise<boolean | null> {
  if (!collection.keyset) return null;
  const stamped = rows.map((row) => ({
    id: readableId(row),
    ms: modifiedTimeOf(row) ?? Number.NEGATIVE_INFINITY,
  }));
  const latest = stamped.toSorted((a, b) => b.ms - a.ms).find(({ id }) => id !== null);
  if (latest === undefined || !Number.isFinite(latest.ms)) return null;
  const memory = new PagingMemory({ now: at.now, pageSize: at.pageSize });
  const scan = scanPages(
    { ...at, memory, onEvent: () => undefined },
    { collection, modifiedAfterMs: latest.ms - JUST_BEFORE_MS, signal, readVersion: () => 0 },
  );
  try {
    const first = await scan.next();
    if (first.done !== true && first.value.rows.some((row) => readableId(row) === latest.id)) return true;
    return first.done === true || (await scan.next()).done === true ? false : null;
  } catch (error) {
    if (concernsOneRequest(error)) return null;
    throw error;
  } finally {
    await scan.return(undefined as never);
  }
}

/** Scans until a paging mode has returned a second page, or to the end. */
async function scanFirstPages(
  at: ProbeContext,
  { collection, parentId, signal, limit }: ProbeOptions & { readonly limit: number },
): Promise<FirstPages> {
  let leadsOut: WayOut | null = null;
  const onEvent = (event: HubEvent): void => {
    if (event.type === 'foreign-link-refused') leadsOut = event.leadsTo;
  };
  const memory = new PagingMemory({ now: at.now, pageSize: limit });
  const findings = memory.of(collection.name);
  const scan = scanPages({ ...at, memory, onEvent }, { collection, parentId, signal, readVersion: () => 0 });
  let first: HubPage | null = null;
  let end: ScanEnd | null = null;
  while (end === null && findings.full?.isDecided !== true) {
    const step = await scan.next();
    if (step.done === true) end = step.value;
    else first ??= step.value;
  }
  await scan.return(undefined as never);
  const rows = first?.rows ?? [];
  const ids = rows.map(readableId).filter((id) => id !== null);
  return {
    rows: end?.reason === 'missing-list' ? null : rows.length,
    rowsWithId: ids.length,
    asked: limit,
    total: first?.total ?? null,
    leadsOut,
    paging: findings.full?.isDecided === true ? findings.full.mode : null,
    whySteppedDown: findings.full?.why ?? null,
    isRepeated: end?.reason === 'repeated-page',
    skewMs: first === null || first.hubTimeMs === null ? null : first.hubTimeMs - at.now(),
    firstId: ids[0] ?? null,
    dateFilterFinds: await findsByDate(at, { collection, signal }, rows),
  };
}
