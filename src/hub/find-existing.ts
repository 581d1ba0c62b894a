import type { Collection } from '../model/collections.ts';
import { HubError } from './hub-error.ts';
import { listIn, readableId } from './page-body.ts';
import type { HubAnswer } from './hub-answer.ts';
import type { Requests } from './requests.ts';
import { filterText, fitsInPath, resourceUrl, withQuery } from './request-url.ts';

export interface FindOptions {
  readonly collection: Collection;
  readonly parentId?: string | undefined;
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
}

export interface FindContext {
  readonly baseUrl: URL;
  readonly requests: Requests;
  /** How many ids are asked for at the same time. */
  readonly concurrency: number;
}

/** Rows asked for where one is expected: more than one shows that the filter is ignored. */
const PROBE_LIMIT = 10;

function untold(where: string, why: string): HubError {
  return new HubError('HUB_REQUEST_REFUSED', `Cannot tell whether rows of ${where} are gone: ${why}`, {
    remedy: 'Nothing is removed on such an answer; have the hub mended, or remove the rows by hand.',
  });
}

/** Asks one hub about rows of one collection. */
class Finder {
  readonly #context: FindContext;
  readonly #find: FindOptions;
  readonly #where: string;

  constructor(context: FindContext, find: FindOptions) {
    this.#context = context;
    this.#find = find;
    const { baseUrl } = context;
    this.#where = `${baseUrl.origin}${baseUrl.pathname.replace(/\/+$/, '')}${find.collection.path}`;
  }

  async exists(id: string): Promise<boolean> {
    if (this.#find.collection.name === 'classes' && fitsInPath(id)) {
      const answer = await this.#byAddress(id);
      if (answer !== 'unknown') return answer;
    }
    if (await this.#byFilter(filterText(id))) return true;
    if (!id.includes("'")) return false;
    // Some hubs do not undo the doubling of a quote: not found means nothing until both spellings were asked.
    return this.#byFilter(`'${id}'`).catch((error: unknown) => {
      if (error instanceof HubError && error.code === 'HUB_REQUEST_REFUSED' && error.status === 400)
        return false;
      throw error;
    });
  }

  /**
   * Makes sure that "not found" means something: a row that the hub shows must be found by the very
   * question that did not find the others.
   */
  async control(): Promise<void> {
    const shown = await this.#rows({ limit: 1 });
    const id = shown.map(readableId).find((known) => known !== null && !known.includes("'"));
    if (id === undefined || id === null) return;
    if (!(await this.exists(id))) {
      throw untold(this.#where, 'the hub does not find by sourcedId a row that it lists');
    }
  }

  /** `classes/{id}` (spec 4.1). A 404 that is no JSON may be a route that is not there. */
  async #byAddress(id: string): Promise<boolean | 'unknown'> {
    const { baseUrl, requests } = this.#context;
    const { collection, signal } = this.#find;
    try {
      return await requests.get({
        target: collection.name,
        where: `${this.#where}/{sourcedId}`,
        url: () => resourceUrl(baseUrl, { collection, rowId: id }),
        signal,
        stamp: () => 0,
        read: ({ body }) => (holds(body, id) ? true : 'unknown'),
      });
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'HUB_NOT_OFFERED') throw error;
      return error.status === 404 && error.jsonBody ? false : 'unknown';
    }
  }

  async #byFilter(quotedId: string): Promise<boolean> {
    const rows = await this.#rows({ filter: `sourcedId=${quotedId}`, limit: PROBE_LIMIT });
    const id = quotedId.slice(1, -1);
    const wanted = new Set([id, id.replaceAll("''", "'")]);
    if (rows.some((row) => wanted.has(readableId(row) ?? ''))) return true;
    if (rows.length > 0) throw untold(this.#where, 'the hub ignores the filter on sourcedId');
    return false;
  }

  async #rows(query: { filter?: string; limit: number }): Promise<readonly unknown[]> {
    const { baseUrl, requests } = this.#context;
    const { collection, parentId, signal } = this.#find;
    const where = this.#where;
    return requests.get({
      target: collection.name,
      where,
      url: () => withQuery(resourceUrl(baseUrl, { collection, parentId }), query),
      signal,
      stamp: () => 0,
      read: (answer: HubAnswer) => {
        if (answer.status === 204) return [];
        const list = listIn(answer.body, { envelope: collection.envelope, where });
        if (list === null) throw untold(where, 'the answer has no list');
        return list;
      },
    });
  }
}

/** Whether a single-row body (`{class: {…}}`, or the row itself) is the row of that id. */
function holds(body: unknown, id: string): boolean {
  if (readableId(body) === id) return true;
  if (typeof body !== 'object' || body === null) return false;
  return Object.values(body).some((value) => readableId(value) === id);
}

/** Which of the ids the hub still has; see {@link Hub.findExisting}. Unknown is not gone: then it throws. */
export async function findExisting(context: FindContext, find: FindOptions): Promise<ReadonlySet<string>> {
  const { collection, parentId } = find;
  if (!collection.keyset) {
    throw untold(collection.path, 'this collection takes no filter (spec 4.1)');
  }
  if (collection.path.includes('{id}') && parentId === undefined) {
    throw untold(collection.path, 'the row it is nested in is not named');
  }
  const finder = new Finder(context, find);
  const existing = new Set<string>();
  const left = [...new Set(find.ids)];
  let anyGone = false;
  const worker = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      try {
        if (await finder.exists(id)) existing.add(id);
        else anyGone = true;
      } catch (error) {
        // One that cannot be told decides for all: the others need not be asked.
        left.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, context.concurrency) }, worker));
  if (anyGone) await finder.control();
  return existing;
}
