import type { Progress } from '../../../src/model/progress.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';
import type { TrueChain } from './chain-life.ts';
import type { LoggedChange, PublishedLog } from './published-log.ts';

interface PublishedChain {
  readonly chain: TrueChain;
  readonly changes: readonly LoggedChange[];
  /** Versions that the hub has. */
  readonly present: readonly string[];
  /** Whether its end is deleted, or has left. */
  readonly isOver: boolean;
  /** By version id, of those ever published: position of the transaction that removed it, infinite if none did. */
  readonly removedAt: ReadonlyMap<string, number>;
  /** Versions that left the hub before absences were loaded, although their rows were published before. */
  readonly leftBefore: ReadonlySet<string>;
  readonly wasDeletedAtHub: boolean;
}

/**
 * Each version of a chain as spec 3 has it is published once, in order, under the id of the oldest; then the deletion. This
 * leaves out chains for which the hub left a request for a version unanswered.
 */
export function problemsOfSoundChains(world: MirroredAbsences, log: PublishedLog): string[] {
  const { hub } = world;
  const { changesOf, problems } = byChain(world, log);
  const removedAt = removalsIn(log);
  const loadedAtMs = firstLoadEnd(world);
  for (const chain of hub.chains) {
    const { versions } = chain;
    if (chain.isTainted || versions.some((id) => hub.unanswered.has(id))) continue;
    const leftBefore = new Set(versions.filter((id) => (hub.departuresOf(id)[0] ?? Infinity) <= loadedAtMs));
    const tail = hub.rows.get(versions.at(-1) ?? '');
    const published: PublishedChain = {
      chain,
      changes: changesOf.get(chain) ?? [],
      present: versions.filter((id) => hub.rows.has(id)),
      isOver: tail === undefined || tail.deletedAtMs !== null,
      removedAt,
      leftBefore,
      wasDeletedAtHub: hub.wasDeleted(versions.at(-1) ?? ''),
    };
    if (isTorn(published)) continue;
    const found = [...problemsOfOrder(published), ...problemsOfEnd(published), ...problemsOfId(published)];
    problems.push(
      ...found.map((why) => `${why}: chain ${versions.join(' ')}, published ${storyOf(published)}`),
    );
  }
  return problems;
}

function byChain(
  { hub }: MirroredAbsences,
  log: PublishedLog,
): { changesOf: ReadonlyMap<TrueChain, readonly LoggedChange[]>; problems: string[] } {
  const chainOfKey = new Map<string, TrueChain>();
  const changesOf = new Map<TrueChain, LoggedChange[]>();
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

/** When the first load of absences ended; infinite if it did not. */
function firstLoadEnd({ broker }: MirroredAbsences): number {
  const isLast = ({ collection, complete, mode }: Progress): boolean =>
    collection === 'absence-changes' && complete && mode === 'FULL';
  return broker.transactions.find(({ derived }) => derived.some(isLast))?.committedAtMs ?? Infinity;
}

function removalsIn({ versions }: PublishedLog): ReadonlyMap<string, number> {
  const removedAt = new Map<string, number>();
  for (const { key, content, transaction } of versions) {
    removedAt.set(key, content === null ? transaction : Number.POSITIVE_INFINITY);
  }
  return removedAt;
}

/** Whether a version between two published ones left the hub unread: nothing shows that these belong together. */
function isTorn(published: PublishedChain): boolean {
  const { chain, removedAt, leftBefore } = published;
  const ids = new Set(publishedIn(published));
  const isPublished = chain.versions.map((id) => ids.has(id));
  return chain.versions
    .slice(isPublished.indexOf(true), isPublished.lastIndexOf(true))
    .some((id) => !ids.has(id) && (leftBefore.has(id) || !removedAt.has(id)));
}

function eventsOf({ changes }: PublishedChain) {
  return changes.flatMap(({ value }) => value ?? []);
}

/** Versions published as current because the hub says so, in order. */
function publishedIn(published: PublishedChain): readonly string[] {
  return eventsOf(published)
    .filter(({ operation, cause }) => operation !== 'DELETED' && cause !== 'VANISHED')
    .map(({ version }) => version.sourcedId);
}

function storyOf(published: PublishedChain): string {
  const steps = eventsOf(published).map(({ operation, version, cause }) =>
    [operation, version.sourcedId, cause].join(' '),
  );
  return steps.length === 0 ? 'nothing' : steps.join(', ');
}

function problemsOfOrder(published: PublishedChain): string[] {
  const problems: string[] = [];
  const { versions } = published.chain;
  const ids = publishedIn(published);
  if (ids.join(' ') !== versions.filter((id) => ids.includes(id)).join(' '))
    problems.push('not published in order, each once');
  const unpublished = versions.filter((id) => !ids.includes(id) && mustBePublished(published, id));
  if (unpublished.length > 0) problems.push(`not published ${unpublished.join(' ')}`);
  if (eventsOf(published).some(({ operation, cause }) => operation === 'RESTORED' || cause === 'MERGED'))
    problems.push('restored or merged');
  return problems;
}

/** Published versions need an event unless they left before a later event; a chain that has left completely needs none. */
function mustBePublished(
  { chain, changes, present, removedAt, leftBefore }: PublishedChain,
  id: string,
): boolean {
  const removed = removedAt.get(id);
  if (removed === undefined || present.length === 0 || leftBefore.has(id)) return false;
  const later = new Set(chain.versions.slice(chain.versions.indexOf(id)));
  const passedOver = changes.find(({ value }) => value !== null && later.has(value.version.sourcedId));
  return removed > (passedOver?.transaction ?? -1);
}

function problemsOfEnd(published: PublishedChain): string[] {
  const problems: string[] = [];
  const { isOver, present } = published;
  const events = eventsOf(published);
  const last = events.at(-1);
  const isPublished = present.length > 0 || events.length > 0;
  if (isPublished && (last?.operation === 'DELETED') !== isOver)
    problems.push(isOver ? 'over, but not published as over' : 'published as over, but it is not');
  const isByHub = last?.operation === 'DELETED' && last.cause === 'HUB';
  if (isByHub && !published.wasDeletedAtHub) problems.push('deleted at the hub without a deletedTime');
  // A chain that leaves during a full sync may seem to have lost only its end.
  if (present.length > 0 && events.some(({ cause }) => cause === 'VANISHED'))
    problems.push('published as vanished, but it is there');
  return problems;
}

function problemsOfId(published: PublishedChain): string[] {
  const { changes } = published;
  const [key, ...others] = new Set(changes.map((change) => change.key));
  if (key === undefined) return [];
  if (others.length > 0) return [`under several ids: ${[key, ...others].join(' ')}`];
  const [first = ''] = publishedIn(published);
  return key === first ? [] : [`has the id ${key}`];
}
