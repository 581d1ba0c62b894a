import type { ChainWorld } from './chain-history.ts';
import type { TrueChain } from './chain-life.ts';
import type { ToldChange, ToldLog } from './told-log.ts';

interface ToldChain {
  readonly chain: TrueChain;
  readonly changes: readonly ToldChange[];
  /** Versions that the hub has. */
  readonly present: readonly string[];
  /** Whether its end is deleted, or has left. */
  readonly isOver: boolean;
  /** By version id, of those ever published: position of the transaction that removed it, infinite if none did. */
  readonly removedAt: ReadonlyMap<string, number>;
  readonly wasDeletedAtHub: boolean;
}

/**
 * Each version of a chain as spec 3 has it is published once, in order, under the id of the oldest; then the deletion. This
 * leaves out chains for which the hub left a request for a version unanswered.
 */
export function problemsOfSoundChains(world: ChainWorld, log: ToldLog): string[] {
  const { hub } = world;
  const { changesOf, problems } = byChain(world, log);
  const removedAt = removalsIn(log);
  for (const chain of hub.chains) {
    const { versions } = chain;
    if (chain.isTainted || versions.some((id) => hub.unanswered.has(id))) continue;
    const tail = hub.rows.get(versions.at(-1) ?? '');
    const told: ToldChain = {
      chain,
      changes: changesOf.get(chain) ?? [],
      present: versions.filter((id) => hub.rows.has(id)),
      isOver: tail === undefined || tail.deletedAtMs !== null,
      removedAt,
      wasDeletedAtHub: hub.wasDeleted(versions.at(-1) ?? ''),
    };
    const found = [...problemsOfOrder(told), ...problemsOfEnd(told), ...problemsOfId(told)];
    problems.push(...found.map((why) => `${why}: chain ${versions.join(' ')}, published ${storyOf(told)}`));
  }
  return problems;
}

function byChain(
  { hub }: ChainWorld,
  log: ToldLog,
): { changesOf: ReadonlyMap<TrueChain, readonly ToldChange[]>; problems: string[] } {
  const chainOfKey = new Map<string, TrueChain>();
  const changesOf = new Map<TrueChain, ToldChange[]>();
  const problems: string[] = [];
  for (const change of log.changes) {
    const { key, value } = change;
    const chain = value === null ? chainOfKey.get(key) : hub.chainOf(value.version.sourcedId);
    if (chain === undefined) {
      problems.push(`of no chain: ${key}`);
      continue;
    }
    chainOfKey.set(key, chain);
    const changes = changesOf.get(chain) ?? [];
    changes.push(change);
    changesOf.set(chain, changes);
  }
  return { changesOf, problems };
}

function removalsIn({ versions }: ToldLog): ReadonlyMap<string, number> {
  const removedAt = new Map<string, number>();
  for (const { key, content, transaction } of versions) {
    removedAt.set(key, content === null ? transaction : Number.POSITIVE_INFINITY);
  }
  return removedAt;
}

function eventsOf({ changes }: ToldChain) {
  return changes.flatMap(({ value }) => value ?? []);
}

/** Versions published as current because the hub says so, in order. */
function toldIn(told: ToldChain): readonly string[] {
  return eventsOf(told)
    .filter(({ operation, cause }) => operation !== 'DELETED' && cause !== 'VANISHED')
    .map(({ version }) => version.sourcedId);
}

function storyOf(told: ToldChain): string {
  const steps = eventsOf(told).map(({ operation, version, cause }) =>
    [operation, version.sourcedId, cause].join(' '),
  );
  return steps.length === 0 ? 'nothing' : steps.join(', ');
}

function problemsOfOrder(told: ToldChain): string[] {
  const problems: string[] = [];
  const { versions } = told.chain;
  const ids = toldIn(told);
  if (ids.join(' ') !== versions.filter((id) => ids.includes(id)).join(' '))
    problems.push('not published in order, each once');
  const untold = versions.filter((id) => !ids.includes(id) && mustBeTold(told, id));
  if (untold.length > 0) problems.push(`not published ${untold.join(' ')}`);
  if (eventsOf(told).some(({ operation, cause }) => operation === 'RESTORED' || cause === 'MERGED'))
    problems.push('restored or merged');
  return problems;
}

/** Published versions need an event unless they left before a later event; a chain that has left completely needs none. */
function mustBeTold({ chain, changes, present, removedAt }: ToldChain, id: string): boolean {
  const removed = removedAt.get(id);
  if (removed === undefined || present.length === 0) return false;
  const later = new Set(chain.versions.slice(chain.versions.indexOf(id)));
  const passedOver = changes.find(({ value }) => value !== null && later.has(value.version.sourcedId));
  return removed > (passedOver?.transaction ?? -1);
}

function problemsOfEnd(told: ToldChain): string[] {
  const problems: string[] = [];
  const { isOver, present } = told;
  const events = eventsOf(told);
  const last = events.at(-1);
  const isTold = present.length > 0 || events.length > 0;
  if (isTold && (last?.operation === 'DELETED') !== isOver)
    problems.push(isOver ? 'over, but not published as over' : 'published as over, but it is not');
  const isByHub = last?.operation === 'DELETED' && last.cause === 'HUB';
  if (isByHub && !told.wasDeletedAtHub) problems.push('deleted at the hub without a deletedTime');
  // A chain that leaves during a full sync may seem to have lost only its end.
  if (present.length > 0 && events.some(({ cause }) => cause === 'VANISHED'))
    problems.push('published as vanished, but it is there');
  return problems;
}

function problemsOfId(told: ToldChain): string[] {
  const { chain, changes } = told;
  const [key, ...others] = new Set(changes.map((change) => change.key));
  if (key === undefined) return [];
  if (others.length > 0) return [`under several ids: ${[key, ...others].join(' ')}`];
  const [first = ''] = toldIn(told);
  const [oldest, at] = [chain.versions.indexOf(key), chain.versions.indexOf(first)];
  // Its `replaces` names the one before, if nothing older is known.
  return oldest >= 0 && oldest <= Math.max(0, at - 1) ? [] : [`has the id ${key}`];
}
