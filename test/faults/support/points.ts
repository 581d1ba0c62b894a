/**
 * Named points in the processing of a page, and of a take-over, at which `mortal-main.ts` kills its own process: only the
 * changes of the hub meanwhile are random.
 */
export const PAGE_POINTS = [
  'a page is fetched, nothing decided',
  'decided, nothing sent',
  'data sent, progress not',
  'all sent, commit not asked for',
  'commit asked for, not answered',
  'committed, index not written',
  'index written, next not begun',
  'all committed but the watermark',
] as const;

export const CATCH_UP_POINTS = [
  'owner sent, not committed',
  'owner committed',
  'ends marked, not aborted',
  'during the replay',
  'replayed, not finished',
  'replay finished',
] as const;

export const DELETION_POINTS = [
  'misses committed, memory not written',
  'missing rows written',
  'seen rows dropped, not committed',
  'removals committed, memory not written',
] as const;

export type KillPoint =
  | (typeof PAGE_POINTS)[number]
  | (typeof CATCH_UP_POINTS)[number]
  | (typeof DELETION_POINTS)[number];
