import { formatAge } from '../words.ts';
import type { HealthPart } from './tenant-facts.ts';
import type { TenantStatus } from './tenant-status.ts';

/** If one of these parts is not well, the topics lack rows, or have too many rows. */
const INCOMPLETE: ReadonlySet<HealthPart> = new Set(['short', 'rejects', 'removals', 'load']);
/** If one of these parts is not well, changes at the hub have not arrived, whatever the watermarks say. */
const OUT_OF_DATE: ReadonlySet<HealthPart> = new Set(['collection', 'full', 'watermark']);

/**
 * Whether the copy of a tenant is complete and fresh, in one line: yes, and up to when; or no, and since when. During a first
 * load: how far it has got.
 */
export function completeAndFresh(
  { state, firstLoad, reasons, decisions, collections }: TenantStatus,
  nowMs: number,
): string {
  if (firstLoad !== null) return firstLoad;
  const watermarks = collections.flatMap(({ hasIncremental, isNotOffered, watermark }) =>
    hasIncremental && !isNotOffered && watermark !== null ? [watermark] : [],
  );
  const [oldest] = watermarks.toSorted();
  const upTo = oldest === undefined ? '' : `, up to ${formatAge(oldest, nowMs)}`;
  if (state === 'well') return `complete and fresh${upTo}`;
  const isWrong = reasons.some(({ part }) => !INCOMPLETE.has(part));
  const isOutOfDate = reasons.some(({ part }) => OUT_OF_DATE.has(part));
  const isFresh = !isWrong || (collections.length > 0 && !isOutOfDate);
  const isComplete = decisions.length === 0 && !reasons.some(({ part }) => INCOMPLETE.has(part));
  if (isComplete && isFresh) return `complete and fresh${upTo}`;
  const what = isComplete ? 'not fresh' : isFresh ? 'not complete' : 'neither complete nor fresh';
  const [first] = [...reasons, ...decisions].flatMap((each) => each.since ?? []).toSorted();
  const since = first === undefined ? '' : ` since ${first.replace(/:\d\d\.\d+Z$/, 'Z')}`;
  return `${what}${since}${isFresh ? '' : upTo}`;
}
