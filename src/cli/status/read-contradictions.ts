import { decodeOddities } from '../../core/absences/entry-codec.ts';
import type { KnownContradictions } from '../../core/health/tenant-facts.ts';
import type { CollectionIndex } from '../../state/index-store.ts';

/** Entries of the index to read at most: `status` must not take long on the index of a county. */
export const MOST_READ = 5_000;
const MOST_SHOWN = 5;

/** Reads at most {@link MOST_READ} contradictory absences from the index of `absence-versions`. */
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
  const all = [...entries]
    .slice(0, MOST_READ)
    .map(([absenceId, value]) => Object.assign({ absenceId }, decodeOddities(value)))
    .sort(byGravity);
  return {
    isAtLeast: all.length === MOST_READ && count > MOST_READ,
    absences: all.length,
    links: all.reduce((sum, { links }) => sum + links, 0),
    students: all.reduce((sum, { students }) => sum + students, 0),
    first: all.slice(0, MOST_SHOWN),
  };
}

type Found = KnownContradictions['first'][number];

/** Another student is graver than a link. */
function byGravity(one: Found, other: Found): number {
  const difference = other.students - one.students || other.links - one.links;
  if (difference !== 0) return difference;
  return one.absenceId < other.absenceId ? -1 : 1;
}
