import type { ChainWorld } from './chain-history.ts';
import type { PublishedLog } from './published-log.ts';

/** Invariant 8: once the hub is at rest, re-stamps, a restart and a lost index publish nothing. */
export function problemsOfQuiet({ topics, quietSince }: ChainWorld, log: PublishedLog): string[] {
  return [...log.versions, ...topics.recordsOf('rejects'), ...log.absences, ...log.changes].flatMap(
    ({ topic, key, transaction }) =>
      transaction < quietSince ? [] : [`nothing had changed: ${topic} ${key} in transaction ${transaction}`],
  );
}
