import type { Collection } from '../model/collections.ts';
import { HubError, LargeAnswer, concernsOneRequest } from './hub-error.ts';
import type { FoundRow } from './hub.ts';
import { listIn, readableId } from './page-body.ts';
import type { Requests } from './requests.ts';
import { filterText, resourceUrl, withQuery } from './request-url.ts';

export interface FindContext {
  readonly baseUrl: URL;
  readonly requests: Requests;
  /** How many ids the finder asks for at the same time. */
  readonly concurrency: number;
}

interface FilterOptions {
  readonly collection: Collection;
  readonly parentId?: string | undefined;
  readonly readVersion: () => number;
}

/** The hub's answer for one id. */
type Answer =
  /** `alone`: the answer has no row with another id. */
  | { readonly kind: 'found'; readonly found: FoundRow; readonly alone: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'inconclusive'; readonly error: HubError };

/** The limit for an expected single row: more than one row shows that the hub ignores the filter. */
const PROBE_LIMIT = 10;
/** Larger than a probe: a hub that filters only within the page it would list anyway fails the control question. */
const CONTROL_LIMIT = 2 * PROBE_LIMIT;

/** Servers need not accept a longer address (RFC 9110, 4.1: 8000 octets), and some close the connection on one. */
const MAX_ENCODED_ID = 6000;

/** The error for an answer that proves nothing. When it is thrown, no row is removed. */
export function inconclusive(where: string, why: string): HubError {
  return new HubError(
    'HUB_REQUEST_REFUSED',
    `Cannot tell whether the rows of ${where} that a sync missed have left the hub: ${why}`,
    {
      remedy:
        "Rollcall removes nothing without such an answer: the rows stay published until the hub answers filter=sourcedId='…' as its specification says, or until they are back.",
    },
  );
}

/** Returns why the hub cannot be asked for rows of a collection by `filter`; null when it can. */
export function whyNotAskable({ collection, parentId }: Omit<FilterOptions, 'readVersion'>): string | null {
  if (!collection.keyset) return 'the hub has no filter for this collection';
  if (collection.path.includes('{id}') && parentId === undefined) {
    return 'the request names no parent row';
  }
  return null;
}

/** Asks one hub about rows of one collection by `filter=sourcedId='…'` (spec 4.2). */
export class FilterFinder {
  readonly #context: FindContext;
  readonly #options: FilterOptions;
  /** The collection's address, for errors. */
  readonly where: string;

  constructor(context: FindContext, options: FilterOptions) {
    this.#context = context;
    this.#options = options;
    const { origin, pathname } = context.baseUrl;
    this.where = `${origin}${pathname.replace(/\/+$/, '')}${options.collection.path}`;
  }

  /** Throws errors that concern the whole hub, and the signal's reason. */
  async ask(id: string, signal: AbortSignal): Promise<Answer> {
    if (!fitsInFilter(id)) return this.#inconclusive('an id does not fit in an address');
    const answer = await this.#question(id, { spelled: filterText(id), signal });
    if (answer.kind === 'found' || !id.includes("'")) return answer;
    // Some hubs do not undo the doubling of a quote, so "not found" counts only after both spellings.
    const other = await this.#question(id, { spelled: `'${id}'`, signal });
    if (other.kind === 'found') return other;
    if (answer.kind === 'inconclusive') return answer;
    return other.kind === 'inconclusive' && other.error.status === 400 ? answer : other;
  }

  /**
   * Returns the id of a row that the hub lists without a filter, for the control question: if the hub does not find
   * such a row, "missing" proves nothing. `none`: the hub lists no rows; `no-id`: no listed row has a usable id.
   */
  async listed(signal: AbortSignal): Promise<{ id: string } | 'none' | 'no-id'> {
    const { rows } = await this.#rows({ limit: CONTROL_LIMIT }, signal).catch((error: unknown) => {
      if (error instanceof LargeAnswer) return { rows: null };
      throw error;
    });
    if (rows?.length === 0) return 'none';
    const id = rows?.map(readableId).findLast((each) => each !== null && isPlainId(each)) ?? null;
    return id === null ? 'no-id' : { id };
  }

  async #question(id: string, options: { spelled: string; signal: AbortSignal }): Promise<Answer> {
    const query = { filter: `sourcedId=${options.spelled}`, limit: PROBE_LIMIT };
    try {
      const { rows, isUtf8, readVersion } = await this.#rows(query, options.signal);
      if (rows === null) return this.#inconclusive('the answer has no list');
      if (rows.length === 0) return { kind: 'missing' };
      const row = rows.findLast((each) => readableId(each) === id);
      if (row === undefined) return this.#inconclusive('the hub ignores the filter on sourcedId');
      const alone = rows.every((each) => readableId(each) === id);
      return { kind: 'found', found: { row, isUtf8, readVersion }, alone };
    } catch (error) {
      if (concernsOneRequest(error)) return { kind: 'inconclusive', error };
      throw error;
    }
  }

  /** `rows` is null for an answer without a list. */
  async #rows(query: { filter?: string; limit: number }, signal: AbortSignal) {
    const { baseUrl, requests } = this.#context;
    const { collection, parentId, readVersion } = this.#options;
    const { where } = this;
    return requests.get({
      target: collection.name,
      where,
      url: () => withQuery(resourceUrl(baseUrl, { collection, parentId }), query),
      signal,
      readVersion,
      read: (answer) => ({
        rows: answer.status === 204 ? [] : listIn(answer.body, { envelope: collection.envelope, where }),
        isUtf8: answer.isUtf8,
        readVersion: answer.readVersion,
      }),
    });
  }

  #inconclusive(why: string): Answer {
    return { kind: 'inconclusive', error: inconclusive(this.where, why) };
  }
}

/** A lone surrogate has no UTF-8 form, so a request cannot contain it. */
function fitsInFilter(id: string): boolean {
  return id !== '' && id.isWellFormed() && encodeURIComponent(id).length <= MAX_ENCODED_ID;
}

/** Whether "missing" proves anything for an id: hubs spell a quote differently, and U+FFFD may replace any bytes. */
export function isPlainId(id: string): boolean {
  return !id.includes("'") && !id.includes('\uFFFD') && fitsInFilter(id);
}
