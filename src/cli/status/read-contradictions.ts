import type { Contradiction, ContradictionKind } from '../../core/chains/contradictions.ts';
import type { KnownContradictions } from '../../core/health/known-contradictions.ts';
import type { CollectionIndex, IndexEntry } from '../../state/index-store.ts';

/** Entries of the index to read at most: `status` must not take long on the index of a county. */
export const MOST_READ = 5_000;
const MOST_SHOWN = 5;
const MOST_VERSIONS_SHOWN = 8;

/** A hub that writes two records one after the other shows this between them, in a district as it should be. */
const PASSING: ContradictionKind = 'replaces-only';

/** The gravest first. */
const GRAVITY = {
  crowded: 0,
  'other-student': 1,
  loop: 2,
  fork: 3,
  join: 4,
  'deleted-and-replaced': 5,
  'self-reference': 6,
  'replacement-gone': 7,
  'replaced-by-only': 8,
  'replaces-only': 9,
} as const satisfies Record<ContradictionKind, number>;
const UNREADABLE = 'unreadable';

/** Reads at most {@link MOST_READ} contradictions from the index of `absence-versions`. */
export async function readContradictions(
  index: Pick<CollectionIndex, 'count' | 'entries'>,
): Promise<KnownContradictions> {
  const count = await index.count('contradictions');
  const entries = new Map<string, Buffer>();
  if (count > 0) {
    for await (const batch of index.entries('contradictions')) {
      for (const [key, value] of batch) entries.set(key, value);
      if (entries.size >= MOST_READ) break;
    }
  }
  const read = [...entries].slice(0, MOST_READ);
  const all = read.flatMap(contradictionsOf).sort(byGravity);
  const chains = new Set(all.map(chainOf));
  return {
    isAtLeast: read.length === MOST_READ && count > MOST_READ,
    absences: chains.size,
    passing: chains.difference(new Set(all.filter(({ kind }) => kind !== PASSING).map(chainOf))).size,
    versions: new Set(all.flatMap(({ versionIds }) => versionIds)).size,
    byKind: countByKind(all),
    first: all.slice(0, MOST_SHOWN).map(({ kind, absenceId, versionIds }) => ({
      kind,
      absenceId,
      versionIds: versionIds.slice(0, MOST_VERSIONS_SHOWN),
      versions: versionIds.length,
    })),
  };
}

type Found = Omit<Contradiction, 'kind'> & { readonly kind: string };

function contradictionsOf([key, value]: IndexEntry): Found[] {
  try {
    return JSON.parse(value.toString('utf8')) as Found[];
  } catch {
    return [{ kind: UNREADABLE, absenceId: null, versionIds: [key] }];
  }
}

function chainOf({ absenceId, versionIds }: Found): string {
  return absenceId === null ? `not published ${versionIds[0] ?? ''}` : `absence ${absenceId}`;
}

function countByKind(all: readonly Found[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of all) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

function byGravity(one: Found, other: Found): number {
  const difference = gravityOf(one) - gravityOf(other);
  if (difference !== 0) return difference;
  const [a, b] = [one.versionIds.join(' '), other.versionIds.join(' ')];
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function gravityOf({ kind }: Found): number {
  return Object.hasOwn(GRAVITY, kind) ? GRAVITY[kind as ContradictionKind] : 0;
}
