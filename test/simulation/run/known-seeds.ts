/** A history in which a bug was found once. */
export interface KnownSeed {
  readonly kind: string;
  readonly seed: number;
  readonly why: string;
}

/**
 * These are played first in every run. The history of a seed changes with the code under test, so a seed may no longer
 * repeat what it found. Where possible, a test of its own covers that too.
 */
export const KNOWN_SEEDS: readonly KnownSeed[] = [
  {
    kind: 'tenant-take-overs',
    seed: 9_560_163,
    why: 'another sync committed removals without what was settled with them',
  },
  {
    kind: 'tenant-take-overs',
    seed: 386,
    why: 'a hold forgot rows that a process with a fast clock had missed',
  },
];
