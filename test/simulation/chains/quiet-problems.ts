import type { ChainWorld } from './chain-history.ts';
import { idsBesideLeft } from './row-groups.ts';
import type { ToldLog } from './told-log.ts';

/** Invariant 8: once the hub is at rest, re-stamps, a restart and a lost index publish nothing. */
export function problemsOfQuiet(world: ChainWorld, log: ToldLog): string[] {
  const { hub, topics, quietSince } = world;
  const besideLeft = idsBesideLeft(log);
  // Of contradictory chains the topics show less than an index that has seen everything.
  const mayBeTold = (id: string): boolean => besideLeft.has(id) && hub.chainOf(id)?.isTainted !== false;
  const told = [...log.absences, ...log.changes].filter(({ key, value }) => {
    const version = value === null || 'sourcedId' in value ? value : value.version;
    return !mayBeTold(version?.sourcedId ?? key);
  });
  return [...log.versions, ...topics.recordsOf('rejects'), ...told].flatMap(({ topic, key, transaction }) =>
    transaction < quietSince ? [] : [`nothing had changed: ${topic} ${key} in transaction ${transaction}`],
  );
}
