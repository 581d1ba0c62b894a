import { bulkhead } from 'cockatiel';
import { HubError, refusesParameters } from './hub-error.ts';
import type { FoundRow, Hub } from './hub.ts';
import { listIn, readableId } from './page.ts';
import { collectionPlace, filterText, fitsInAddress, resourceUrl, withQuery } from './request-url.ts';
import type { Requests } from './requests.ts';

interface FindContext {
  readonly baseUrl: URL;
  readonly requests: Requests;
  /** How many ids are asked for at the same time. */
  readonly concurrency: number;
}

type FindOptions = Parameters<Hub['findRows']>[0];

/** A hub that ignores the filter then sends little. The row is taken only if it is among these rows. */
const LIMIT = 10;

/** See {@link Hub.findRows}. The first failure aborts the other requests. */
export async function findRows(context: FindContext, find: FindOptions): Promise<readonly FoundRow[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([find.signal, failed.signal]);
  const ids = [...new Set(find.ids)].filter(fitsInAddress);
  const few = bulkhead(context.concurrency, Infinity);
  try {
    const rows = ids.map((id) => few.execute(() => ask(context, { ...find, signal }, id)));
    return (await Promise.all(rows)).filter((row) => row !== null);
  } finally {
    failed.abort();
  }
}

/** Asks for one row (spec 4.2). A hub that refuses the request, or ignores the filter, has not shown the row. */
async function ask(
  { baseUrl, requests }: FindContext,
  { collection, readVersion, signal }: FindOptions,
  id: string,
): Promise<FoundRow | null> {
  const where = collectionPlace(baseUrl, collection);
  const query = { filter: `sourcedId=${filterText(id)}`, limit: LIMIT };
  try {
    return await requests.get({
      target: collection.name,
      where,
      url: () => withQuery(resourceUrl(baseUrl, { collection }), query),
      signal,
      readVersion,
      read: (answer) => {
        const { body, isUtf8 } = answer;
        const list = answer.status === 204 ? null : listIn(body, { envelope: collection.envelope, where });
        // Of several rows with the id, the first counts, as in a scan.
        const row = list?.find((each) => readableId(each) === id);
        return row === undefined ? null : { row, isUtf8, readVersion: answer.readVersion };
      },
    });
  } catch (error) {
    // An answer that is too large shows that the hub ignored the filter.
    const isTooLarge = error instanceof HubError && error.code === 'HUB_RESPONSE_TOO_LARGE';
    if (isTooLarge || refusesParameters(error)) return null;
    throw error;
  }
}
