import type { Collection } from '../model/collections.ts';
import { FilterFinder, inconclusive, whyNotAskable, type FindContext } from './find-by-filter.ts';
import { askEach } from './find-each.ts';
import { HubError } from './hub-error.ts';
import { readableId } from './page-body.ts';
import { fitsInPath, resourceUrl } from './request-url.ts';

interface FindExistingOptions {
  readonly collection: Collection;
  readonly parentId?: string | undefined;
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
}

/** Asks for classes by their address, and for all other rows by filter. */
class ExistenceFinder {
  readonly #context: FindContext;
  readonly #collection: Collection;
  readonly #filter: FilterFinder;
  /** The kinds of request that found no row. */
  readonly #notFoundBy = new Set<'address' | 'filter'>();

  constructor(context: FindContext, { collection, parentId }: FindExistingOptions) {
    this.#context = context;
    this.#collection = collection;
    this.#filter = new FilterFinder(context, { collection, parentId, readVersion: () => 0 });
  }

  async exists(id: string, signal: AbortSignal): Promise<boolean> {
    if (this.#collection.name === 'classes' && fitsInPath(id)) {
      const there = await this.#byAddress(id, signal);
      if (there === false) this.#notFoundBy.add('address');
      if (there !== 'unknown') return there;
    }
    const answer = await this.#filter.ask(id, signal);
    if (answer.kind === 'inconclusive') throw answer.error;
    if (answer.kind === 'missing') this.#notFoundBy.add('filter');
    return answer.kind === 'found';
  }

  /** Throws unless "not found" proves something: the request that missed the others must find a row that the hub lists. */
  async control(signal: AbortSignal): Promise<void> {
    if (this.#notFoundBy.size === 0) return;
    const listed = await this.#filter.listed(signal);
    if (listed === 'none') return;
    const byAddress = this.#notFoundBy.has('address');
    const byFilter = this.#notFoundBy.has('filter');
    const isFound =
      listed !== 'no-id' &&
      (!byAddress || (await this.exists(listed.id, signal))) &&
      (!byFilter || (await this.#filter.ask(listed.id, signal)).kind === 'found');
    if (isFound) return;
    throw inconclusive(this.#filter.where, 'the hub does not find by sourcedId a row that it lists');
  }

  /** Reads `classes/{id}` (spec 4.1). A 404 without JSON may mean that the hub does not have this route. */
  async #byAddress(id: string, signal: AbortSignal): Promise<boolean | 'unknown'> {
    const { baseUrl, requests } = this.#context;
    const collection = this.#collection;
    try {
      return await requests.get({
        target: collection.name,
        where: `${this.#filter.where}/{sourcedId}`,
        url: () => resourceUrl(baseUrl, { collection, rowId: id }),
        signal,
        readVersion: () => 0,
        read: ({ body }) => (isRowOf(body, id) ? true : 'unknown'),
      });
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'HUB_NOT_OFFERED') throw error;
      return error.status === 404 && error.jsonBody ? false : 'unknown';
    }
  }
}

/** Whether a single-row body (`{class: {…}}`, or the row itself) contains the row with this id. */
function isRowOf(body: unknown, id: string): boolean {
  if (readableId(body) === id) return true;
  if (typeof body !== 'object' || body === null) return false;
  return Object.values(body).some((value) => readableId(value) === id);
}

/** Returns which of the ids the hub still has; throws if one answer is inconclusive. See {@link Hub.findExisting}. */
export async function findExisting(
  context: FindContext,
  find: FindExistingOptions,
): Promise<ReadonlySet<string>> {
  const { collection, ids, signal } = find;
  const reason = whyNotAskable(find);
  if (reason !== null) throw inconclusive(collection.path, reason);
  const finder = new ExistenceFinder(context, find);
  const existing = new Set<string>();
  await askEach(ids, { concurrency: context.concurrency, signal }, async (id, eachSignal) => {
    if (await finder.exists(id, eachSignal)) existing.add(id);
    return 'go-on';
  });
  await finder.control(signal);
  return existing;
}
