import type { ChainWorld } from './chain-history.ts';
import { idsBesideLeft } from './row-groups.ts';
import type { PublishedLog } from './published-log.ts';

/** Invariant 8: once the hub is at rest, re-stamps, a restart and a lost index publish nothing. */
export function problemsOfQuiet(world: ChainWorld, log: PublishedLog): string[] {
  const { hub, topics, quietSince } = world;
  const besideLeft = idsBesideLeft(log);
  // For contradictory chains the topics show less than an index that has seen everything.
  const mayBePublished = (id: string): boolean => besideLeft.has(id) && hub.chainOf(id)?.isTainted !== false;
  const published = [...log.absences, ...log.changes].filter(({ key, value }) => {
    const version = value === null || 'sourcedId' in value ? value : value.version;
    return !mayBePublished(version?.sourcedId ?? key);
  });
  return [...log.versions, ...topics.recordsOf('rejects'), ...published].flatMap(
    ({ topic, key, transaction }) =>
      transaction < quietSince ? [] : [`nothing had changed: ${topic} ${key} in transaction ${transaction}`],
  );
}
