/**
 * Sorts the rows that a sync missed: ask the hub for them, remove them, or wait for the next full sync.
 * `missedBefore`: keys that the complete sync before missed as well. A second sync must miss a row when no total confirmed
 * the first one's count, and when there are more candidates than are worth a request each (`recheckAtMost`).
 */
export function triageCandidates(options: {
  candidates: readonly string[];
  missedBefore: ReadonlyMap<string, unknown>;
  needsSecondSync: boolean;
  recheckAtMost: number;
}): {
  readonly confirm: readonly string[];
  readonly remove: readonly string[];
  readonly wait: readonly string[];
} {
  const twice = options.candidates.filter((key) => options.missedBefore.has(key));
  const once = options.candidates.filter((key) => !options.missedBefore.has(key));
  const fewEnoughToAsk = options.candidates.length <= options.recheckAtMost;
  if (options.needsSecondSync) {
    return fewEnoughToAsk
      ? { confirm: twice, remove: [], wait: once }
      : { confirm: [], remove: twice, wait: once };
  }
  return fewEnoughToAsk
    ? { confirm: options.candidates, remove: [], wait: [] }
    : { confirm: [], remove: twice, wait: once };
}
