import { digestOfList } from '../../../src/core/withheld-digest.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { DELETES, type DeletesOutcome } from '../../../src/pipeline/requests/deletes.ts';
import type { Mirror } from './mirror.ts';

/** Handles the decision of a person in the mirror's own session. */
async function decide(
  mirror: Mirror,
  given: { action: 'approve' | 'discard'; collections: CollectionName[]; digests?: string[] },
): Promise<Map<CollectionName, DeletesOutcome>> {
  const { session, parts } = mirror;
  const { signal } = new AbortController();
  const outcomes = await DELETES.handle(
    { digests: [], ...given },
    {
      parts,
      session,
      sync: async (collection, mode, options = {}) => {
        const runner = session.runners.get(collection);
        if (runner === undefined) throw new Error(`${collection} is not mirrored`);
        return runner.once(mode, { ...options, signal });
      },
      report: () => Promise.resolve(),
      signal,
    },
  );
  return new Map(outcomes.map((each) => [each.collection, each]));
}

/** The withheld keys, in order. */
export async function waitingKeys(mirror: Mirror, collection: CollectionName): Promise<string[]> {
  return [...(await mirror.parts.state.deletions.withheld(collection)).keys()].sort();
}

/** Approves the present list. */
export async function approve(
  mirror: Mirror,
  ...collections: CollectionName[]
): Promise<Map<CollectionName, DeletesOutcome>> {
  const digests: string[] = [];
  for (const collection of collections)
    digests.push(digestOfList(collection, await waitingKeys(mirror, collection)));
  return decide(mirror, { action: 'approve', collections, digests });
}

export function approveDigest(
  mirror: Mirror,
  collection: CollectionName,
  digest: string,
): Promise<Map<CollectionName, DeletesOutcome>> {
  return decide(mirror, { action: 'approve', collections: [collection], digests: [digest] });
}

export function discard(
  mirror: Mirror,
  ...collections: CollectionName[]
): Promise<Map<CollectionName, DeletesOutcome>> {
  return decide(mirror, { action: 'discard', collections });
}
