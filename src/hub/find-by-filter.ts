import type { Collection } from '../model/collections.ts';
import { HubError, isOfTheQuestion } from './hub-error.ts';
import type { FoundRow } from './hub.ts';
import { listIn, readableId } from './page-body.ts';
import type { Requests } from './requests.ts';
import { filterText, resourceUrl, withQuery } from './request-url.ts';

export interface FindContext {
  readonly baseUrl: URL;
  readonly requests: Requests;
  /** How many ids are asked for at the same time. */
  readonly concurrency: number;
}

interface FilterOptions {
  readonly collection: Collection;
  readonly parentId?: string | undefined;
  readonly readVersion: () => number;
}

/** What the hub says of one id. */
type Answer =
  /** `alone`: no row of another id came with it. */
  | { readonly kind: 'found'; readonly found: FoundRow; readonly alone: boolean }
  | { readonly kind: 'missing' }
  | { readonly kind: 'untold'; readonly error: HubError };

/** Rows asked for where one is expected: more than one shows that the filter is ignored. */
const PROBE_LIMIT = 10;
/** More than that, so that a hub that filters only what it would have listed anyway does not stand the test. */
const CONTROL_LIMIT = 2 * PROBE_LIMIT;

/** No server need take a longer address (RFC 9110, 4.1: 8000 octets), and one may answer it with a broken connection. */
const MAX_ENCODED_ID = 6000;

/** Says that nothing can be told; where it is thrown, nothing is removed. */
export function untold(where: string, why: string): HubError {
  return new HubError('HUB_REQUEST_REFUSED', `Cannot tell whether rows of ${where} are gone: ${why}`, {
    remedy: 'Nothing is removed on such an answer; have the hub mended, or remove the rows by hand.',
  });
}

/** Why a collection cannot be asked by `filter`; null when it can. */
export function whyNotAskable({ collection, parentId }: Omit<FilterOptions, 'readVersion'>): string | null {
  if (!collection.keyset) return 'this collection takes no filter (spec 4.1)';
  if (collection.path.includes('{id}') && parentId === undefined) {
    return 'the row it is nested in is not named';
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

  /** Throws what concerns the hub as a whole, and the signal's reason. */
  async ask(id: string, signal: AbortSignal): Promise<Answer> {
    if (!fitsInFilter(id)) return this.#untold('an id cannot stand in an address');
    const answer = await this.#question(id, { spelled: filterText(id), signal });
    if (answer.kind === 'found' || !id.includes("'")) return answer;
    // Some hubs do not undo the doubling of a quote: not found means nothing until both spellings were asked.
    const other = await this.#question(id, { spelled: `'${id}'`, signal });
    if (other.kind === 'found') return other;
    if (answer.kind === 'untold') return answer;
    return other.kind === 'untold' && other.error.status === 400 ? answer : other;
  }

  /**
   * A row that the hub lists without a filter, for the control question: where such a row is not found, "missing"
   * means nothing. `none`: the hub lists no rows; `no-id`: rows, but none by whose id any hub can be asked.
   */
  async listed(signal: AbortSignal): Promise<{ id: string } | 'none' | 'no-id'> {
    const { rows } = await this.#rows({ limit: CONTROL_LIMIT }, signal);
    if (rows?.length === 0) return 'none';
    const id = rows?.map(readableId).findLast((shown) => shown !== null && isPlainId(shown)) ?? null;
    return id === null ? 'no-id' : { id };
  }

  async #question(id: string, options: { spelled: string; signal: AbortSignal }): Promise<Answer> {
    const query = { filter: `sourcedId=${options.spelled}`, limit: PROBE_LIMIT };
    try {
      const { rows, isUtf8, readVersion } = await this.#rows(query, options.signal);
      if (rows === null) return this.#untold('the answer has no list');
      if (rows.length === 0) return { kind: 'missing' };
      const row = rows.findLast((each) => readableId(each) === id);
      if (row === undefined) return this.#untold('the hub ignores the filter on sourcedId');
      const alone = rows.every((each) => readableId(each) === id);
      return { kind: 'found', found: { row, isUtf8, readVersion: readVersion }, alone };
    } catch (error) {
      if (isOfTheQuestion(error)) return { kind: 'untold', error };
      throw error;
    }
  }

  /** Null rows: an answer without a list. */
  async #rows(query: { filter?: string; limit: number }, signal: AbortSignal) {
    const { baseUrl, requests } = this.#context;
    const { collection, parentId, readVersion } = this.#options;
    const { where } = this;
    return requests.get({
      target: collection.name,
      where,
      url: () => withQuery(resourceUrl(baseUrl, { collection, parentId }), query),
      signal,
      readVersion: readVersion,
      read: (answer) => ({
        rows: answer.status === 204 ? [] : listIn(answer.body, { envelope: collection.envelope, where }),
        isUtf8: answer.isUtf8,
        readVersion: answer.readVersion,
      }),
    });
  }

  #untold(why: string): Answer {
    return { kind: 'untold', error: untold(this.where, why) };
  }
}

/** A lone surrogate cannot be sent at all. */
function fitsInFilter(id: string): boolean {
  return id !== '' && id.isWellFormed() && encodeURIComponent(id).length <= MAX_ENCODED_ID;
}

/** Whether "missing" can be proven of an id: hubs differ in how they want a quote written, and U+FFFD may stand for anything. */
export function isPlainId(id: string): boolean {
  return !id.includes("'") && !id.includes('\uFFFD') && fitsInFilter(id);
}
