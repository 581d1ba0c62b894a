import type { CollectionName } from '../../../src/model/collections.ts';
import type { StateStore } from '../../../src/state/index-store.ts';
import { compactedView, type TopicRecord } from '../../integration/support/read-topics.ts';

/** The differences between the index of a collection at rest and its topic and last progress. */
export async function indexProblems(options: {
  store: StateStore;
  tenantId: string;
  collection: CollectionName;
  records: readonly TopicRecord[];
  progress: readonly TopicRecord[];
}): Promise<string[]> {
  const { collection } = options;
  const index = options.store.tenant(options.tenantId).collection(collection);
  const position = await index.position();
  const last = options.progress.findLast(({ key }) => key === collection)?.value?.['transactionId'] ?? null;
  if (position === null) return [`index of ${collection}: is not there`];
  if (position.transactionId !== last) return [`index of ${collection}: reflects another transaction`];
  const view = compactedView(options.records);
  const keys = [...view.keys()];
  const problems: string[] = [];
  const hashes = await index.lookup('rows', keys, position.transactionId);
  for (const [at, key] of keys.entries()) {
    const said = view.get(key)?.headers['content-hash'];
    if (hashes[at]?.toString('hex') !== said)
      problems.push(`index of ${collection}: ${key} has another hash`);
  }
  for await (const batch of index.keys('rows')) {
    for (const key of batch) {
      if (!view.has(key)) problems.push(`index of ${collection}: ${key} is in no topic`);
    }
  }
  return problems;
}
