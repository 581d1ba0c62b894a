import type { CollectionName } from '../../../src/model/collections.ts';
import { APPROVE, type ApproveOutcome, type ApprovedCollection } from '../../../src/owner/deletes.ts';
import { readWaiting, type Waiting } from '../../../src/sync/read-waiting.ts';
import type { Mirror } from './mirror.ts';

/** Everything that waits for a decision. */
export function waitingIn({ session, parts }: Mirror): Promise<Waiting> {
  const progress = new Map([...session.runners].map(([name, runner]) => [name, runner.progress]));
  return readWaiting(parts.state.deletions, progress);
}

/** The keys that wait for a decision, in order. */
export async function waitingKeys(mirror: Mirror, collection: CollectionName): Promise<readonly string[]> {
  const { collections } = await waitingIn(mirror);
  return collections.find((each) => each.collection === collection)?.keys ?? [];
}

/** Approves the list with a digest in the mirror's own session. */
export function approveDigest(mirror: Mirror, digest: string): Promise<ApproveOutcome> {
  const { session, parts } = mirror;
  const { signal } = new AbortController();
  return APPROVE.handle(
    { digest, by: 'a person', from: 'a host', reason: 'a test' },
    {
      tenant: parts,
      ...session,
      sync: async (collection, mode, options = {}) => {
        const runner = session.runners.get(collection);
        if (runner === undefined) throw new Error(`${collection} is not mirrored`);
        return runner.once(mode, { ...options, signal });
      },
      report: () => Promise.resolve(),
      signal,
    },
  );
}

/** Approves the present list. */
export async function approve(mirror: Mirror): Promise<Map<CollectionName, ApprovedCollection>> {
  const { digest } = await waitingIn(mirror);
  const { collections } = await approveDigest(mirror, digest ?? '');
  return new Map(collections.map((each) => [each.collection, each]));
}
