import type { Collection } from '../model/collections.ts';
import { FilterFinder, isPlainId, whyNotAskable, type FindContext } from './find-by-filter.ts';
import { askEach } from './find-each.ts';
import { HubError } from './hub-error.ts';
import type { FoundRow, FoundRows } from './hub.ts';

const REFUSALS: ReadonlySet<string> = new Set(['HUB_REQUEST_REFUSED', 'HUB_NOT_OFFERED', 'HUB_FORBIDDEN']);

interface FindRowsOptions {
  readonly collection: Collection;
  readonly ids: readonly string[];
  readonly readVersion: () => number;
  readonly signal: AbortSignal;
}

/** See {@link Hub.findRows}. */
export async function findRows(context: FindContext, find: FindRowsOptions): Promise<FoundRows> {
  const { collection, ids, readVersion, signal } = find;
  if (whyNotAskable({ collection }) !== null) return { rows: [], notFound: [] };
  const finder = new FilterFinder(context, { collection, readVersion });
  const rows: FoundRow[] = [];
  const missing: string[] = [];
  let filterWorks: Promise<boolean> | null = null;
  await askEach(ids, { concurrency: context.concurrency, signal }, async (id, eachSignal) => {
    const answer = await finder.ask(id, eachSignal);
    if (answer.kind === 'found') rows.push(answer.found);
    else if (answer.kind === 'missing' && isPlainId(id)) missing.push(id);
    if (answer.kind !== 'inconclusive') return 'go-on';
    // Either this id is special or the filter does not work, and then the other ids need no request.
    filterWorks ??= control(finder, eachSignal).then((found) => found === 'selects');
    return (await filterWorks) ? 'go-on' : 'enough';
  });
  if (missing.length === 0) return { rows, notFound: [] };
  // The control question comes last: it must see a hub that lost its rows, or a client that lost its rights, meanwhile.
  return { rows, notFound: (await control(finder, signal)) === 'fails' ? [] : missing };
}

/** Asks by filter for a row that the hub lists: the filter finds it alone, finds it among other rows, or fails. */
async function control(finder: FilterFinder, signal: AbortSignal): Promise<'selects' | 'finds' | 'fails'> {
  try {
    const listed = await finder.listed(signal);
    if (listed === 'none' || listed === 'no-id') return 'fails';
    const answer = await finder.ask(listed.id, signal);
    if (answer.kind !== 'found') return 'fails';
    return answer.alone ? 'selects' : 'finds';
  } catch (error) {
    // A hub that refuses the collection proves nothing about its rows.
    if (error instanceof HubError && REFUSALS.has(error.code)) return 'fails';
    throw error;
  }
}
