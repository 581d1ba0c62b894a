import type { Collection } from '../model/collections.ts';
import { FilterFinder, untold, whyNotAskable, type FindContext } from './find-by-filter.ts';
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

/** Asks for classes by their address, for all else by filter. */
class ExistenceFinder {
  readonly #context: FindContext;
  readonly #collection: Collection;
  readonly #filter: FilterFinder;
  /** How rows were asked for that were not found. */
  readonly #goneBy = new Set<'address' | 'filter'>();

  constructor(context: FindContext, { collection, parentId }: FindExistingOptions) {
    this.#context = context;
    this.#collection = collection;
    this.#filter = new FilterFinder(context, { collection, parentId, readVersion: () => 0 });
  }

  async exists(id: string, signal: AbortSignal): Promise<boolean> {
    if (this.#collection.name === 'classes' && fitsInPath(id)) {
      const there = await this.#byAddress(id, signal);
      if (there === false) this.#goneBy.add('address');
      if (there !== 'unknown') return there;
    }
    const answer = await this.#filter.ask(id, signal);
    if (answer.kind === 'untold') throw answer.error;
    if (answer.kind === 'missing') this.#goneBy.add('filter');
    return answer.kind === 'found';
  }

  /**
   * Makes sure that "not found" means something: a row that the hub shows must be found by the very
   * question that did not find the others.
   */
  async control(signal: AbortSignal): Promise<void> {
    if (this.#goneBy.size === 0) return;
    const listed = await this.#filter.listed(signal);
    if (listed === 'none') return;
    const byAddress = this.#goneBy.has('address');
    const byFilter = this.#goneBy.has('filter');
    const isFound =
      listed !== 'no-id' &&
      (!byAddress || (await this.exists(listed.id, signal))) &&
      (!byFilter || (await this.#filter.ask(listed.id, signal)).kind === 'found');
    if (isFound) return;
    throw untold(this.#filter.where, 'the hub does not find by sourcedId a row that it lists');
  }

  /** `classes/{id}` (spec 4.1). A 404 that is no JSON may be a route that is not there. */
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
        read: ({ body }) => (holds(body, id) ? true : 'unknown'),
      });
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'HUB_NOT_OFFERED') throw error;
      return error.status === 404 && error.jsonBody ? false : 'unknown';
    }
  }
}

/** Whether a single-row body (`{class: {…}}`, or the row itself) is the row of that id. */
function holds(body: unknown, id: string): boolean {
  if (readableId(body) === id) return true;
  if (typeof body !== 'object' || body === null) return false;
  return Object.values(body).some((value) => readableId(value) === id);
}

/** Which of the ids the hub still has; see {@link Hub.findExisting}. Unknown is not gone: then it throws. */
export async function findExisting(
  context: FindContext,
  find: FindExistingOptions,
): Promise<ReadonlySet<string>> {
  const { collection, ids, signal } = find;
  const reason = whyNotAskable(find);
  if (reason !== null) throw untold(collection.path, reason);
  const finder = new ExistenceFinder(context, find);
  const existing = new Set<string>();
  await askEach(ids, { concurrency: context.concurrency, signal }, async (id, eachSignal) => {
    if (await finder.exists(id, eachSignal)) existing.add(id);
    return 'go-on';
  });
  await finder.control(signal);
  return existing;
}
