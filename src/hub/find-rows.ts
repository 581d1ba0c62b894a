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

/** See {@link Hub.findRows}. The first failure aborts the other requests; none runs any more when this returns or throws. */
export async function findRows(context: FindContext, find: FindOptions): Promise<readonly FoundRow[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([find.signal, failed.signal]);
  const remaining = [...new Set(find.ids)].filter(fitsInAddress);
  const rows: FoundRow[] = [];
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let id = remaining.pop(); id !== undefined && !signal.aborted; id = remaining.pop()) {
      try {
        const row = await ask(context, { ...find, signal }, id);
        if (row !== null) rows.push(row);
      } catch (error) {
        failures.push(error);
        failed.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: context.concurrency }, worker));
  if (failures.length > 0) throw failures[0];
  find.signal.throwIfAborted();
  return rows;
}

/** Asks for one row (spec 4.2). A hub that refuses the question, or ignores the filter, has not shown it. */
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
