import type { Contradiction, ContradictionKind } from '../../core/chains/contradictions.ts';
import type { CollectionIndex, IndexEntry } from '../../state/index-store.ts';

/** What the hub tells of absences that cannot all be true. */
export interface KnownContradictions {
  /** There are more: not all were read. */
  readonly isAtLeast: boolean;
  /** Absences, and chains that are not published. */
  readonly absences: number;
  readonly versions: number;
  /** How many of each kind, the gravest first. */
  readonly byKind: Readonly<Record<string, number>>;
  /** The first few, the gravest first. */
  readonly first: readonly ToldContradiction[];
}

export interface ToldContradiction {
  readonly kind: string;
  /** Null for a chain that is not published. */
  readonly absenceId: string | null;
  /** The first few. */
  readonly versionIds: readonly string[];
  readonly versions: number;
}

/** Entries of the index: `status` is not for reading a county's whole index. */
export const MOST_READ = 5_000;
const MOST_TOLD = 5;
const MOST_VERSIONS_TOLD = 8;

/** The gravest first: the last one passes, where the hub writes one record after the other. */
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

/** Reads them from the index of `absence-versions`, {@link MOST_READ} entries at most. */
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
  return {
    isAtLeast: read.length === MOST_READ && count > MOST_READ,
    absences: new Set(all.map(chainOf)).size,
    versions: new Set(all.flatMap(({ versionIds }) => versionIds)).size,
    byKind: countByKind(all),
    first: all.slice(0, MOST_TOLD).map(({ kind, absenceId, versionIds }) => ({
      kind,
      absenceId,
      versionIds: versionIds.slice(0, MOST_VERSIONS_TOLD),
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
