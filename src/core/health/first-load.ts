import { countOf, formatCount } from '../words.ts';
import type { CollectionStatus } from './collection-status.ts';

/**
 * How far the first load of a tenant has got, or a later load because topics have lost records: `loading: 34,000 of
 * some 200,000 rows read, 2 of 5 collections complete`. The total counts only collections whose total the hub has
 * named.
 */
export function firstLoad(collections: readonly CollectionStatus[]): string {
  const offered = collections.filter(({ isNotOffered }) => !isNotOffered);
  const isLoaded = ({ lastCompleteFull }: CollectionStatus): boolean => lastCompleteFull !== null;
  const synced = offered.filter(({ derivedFrom }) => derivedFrom === null);
  const { loaded = [], loading = [] } = Object.groupBy(synced, (each) =>
    isLoaded(each) ? 'loaded' : 'loading',
  );
  const rowsLoaded = sum(loaded.map(({ rowsNow }) => rowsNow ?? 0));
  const read = rowsLoaded + sum(loading.map(({ running }) => running?.seen ?? 0));
  const totals = loading.flatMap(({ running }) => running?.expected ?? []);
  const isWhole = totals.length === loading.length;
  const total = `${isWhole ? 'some' : 'at least'} ${formatCount(rowsLoaded + sum(totals))}`;
  const of = totals.length === 0 ? '' : ` of ${total}`;
  const rows = read === 0 ? '' : `${formatCount(read)}${of} rows read, `;
  const complete = offered.filter(isLoaded).length;
  return `loading: ${rows}${complete} of ${countOf(offered.length, 'collection')} complete`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
