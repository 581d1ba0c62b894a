import { shortfallOf, type Shortfall } from '../../core/deletions/evidence.ts';
import type { HubEvent } from '../../core/hub-events.ts';
import { modifiedTimeOf } from '../../core/timestamps.ts';
import { concernsOneRequest, HubError } from '../../hub/hub-error.ts';
import type { Hub, HubPage, ReadOptions, ScanEnd } from '../../hub/hub.ts';
import { readableId } from '../../hub/page.ts';

/** Small pages show how the hub pages even a small collection. */
export const FEW_ROWS = 2;
/** A scan that tries each way of paging has shown a second page by then. */
const MOST_PAGES = 4;
/** Some hubs compare whole seconds. */
const JUST_BEFORE_MS = 1_000;

type Decided = Extract<HubEvent, { type: 'paging-decided' }>;

/** What the first pages of a collection show, which are read as a sync reads them. */
export interface Look {
  /** The first page. */
  readonly rows: readonly unknown[];
  readonly ids: readonly string[];
  /** `X-Total-Count` of the first page; null when absent. */
  readonly total: number | null;
  /** Hub clock minus local clock, ms; null without a `Date` header. */
  readonly skewMs: number | null;
  /** Null where there are more pages. */
  readonly end: ScanEnd['reason'] | null;
  /** Null also where the scan was not read to its end. */
  readonly short: Shortfall | null;
}

/** What a look at a collection found out. */
export interface Seen extends Look {
  /** How a second page came; undefined when there was none. */
  readonly decided: Decided | undefined;
  /** Whether a listed row comes when it is asked for as an incremental sync would; null when that cannot be told. */
  readonly dateFilterFinds: boolean | null;
}

/**
 * Looks at a collection: how the hub pages it, and if one page of a sync holds all of it, whether all rows come; a collection
 * that fits in one page needs no paging. `events`: all of this hub. Throws `HUB_…`.
 */
export async function lookAt(
  hub: Pick<Hub, 'readPages'>,
  read: ReadOptions,
  { events, pageSize }: { events: readonly HubEvent[]; pageSize: number },
): Promise<Seen> {
  const { name } = read.collection;
  const decided = () =>
    events.find((event) => event.type === 'paging-decided' && event.collection === name) as
      | Decided
      | undefined;
  const few = await firstPages(hub, { ...read, limit: FEW_ROWS }, () => decided() === undefined).catch(
    (error: unknown) => {
      if (error instanceof HubError && error.code === 'HUB_PAGING_BROKEN') return null;
      throw error;
    },
  );
  const isSmall = few === null || few.rows.length > FEW_ROWS || (few.total !== null && few.total <= pageSize);
  const seen = isSmall ? await firstPages(hub, read, () => true) : few;
  return { ...seen, decided: decided(), dateFilterFinds: await findsByDate(hub, read, seen) };
}

async function firstPages(
  hub: Pick<Hub, 'readPages'>,
  read: ReadOptions,
  goesOn: () => boolean,
): Promise<Look> {
  const scan = hub.readPages(read);
  let first: HubPage | null = null;
  let skewMs: number | null = null;
  let end: ScanEnd | null = null;
  const distinct = new Set<unknown>();
  for (let pages = 0; end === null && pages < MOST_PAGES && (pages === 0 || goesOn()); pages += 1) {
    const { done, value } = await scan.next();
    if (done === true) {
      end = value;
      break;
    }
    first ??= value;
    if (pages === 0) skewMs = value.hubTimeMs === null ? null : value.hubTimeMs - Date.now();
    for (const row of value.rows) distinct.add(readableId(row) ?? row);
  }
  await scan.return(undefined as never);
  const rows = first?.rows ?? [];
  return {
    rows,
    ids: rows.map(readableId).filter((id) => id !== null),
    total: first?.total ?? null,
    skewMs,
    end: end?.reason ?? null,
    short: end === null ? null : shortfallOf({ ...end, distinctRows: distinct.size }),
  };
}

/** Asks for the row that was modified last, by a time just before that, and reads the first page of the answer. */
async function findsByDate(
  hub: Pick<Hub, 'readPages'>,
  { collection, readVersion, signal }: ReadOptions,
  { rows }: Look,
): Promise<boolean | null> {
  const stamped = rows.flatMap((row) => {
    const [id, ms] = [readableId(row), modifiedTimeOf(row)];
    return id === null || ms === null ? [] : [{ id, ms }];
  });
  const [latest] = stamped.toSorted((a, b) => b.ms - a.ms);
  if (!collection.keyset || latest === undefined) return null;
  const modifiedAfterMs = latest.ms - JUST_BEFORE_MS;
  const scan = hub.readPages({ collection, modifiedAfterMs, readVersion, signal });
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
