import type { CollectionName } from '../../../src/model/collections.ts';
import type { Mirror } from '../support/mirror.ts';

/** The differences between the index and the compacted topic; empty when they agree. */
export async function indexAgainstLog(mirror: Mirror, collection: CollectionName): Promise<string[]> {
  const index = mirror.assembly.store.tenant(mirror.tenantId).collection(collection);
  const view = await mirror.view(collection);
  const indexed = new Set<string>();
  for await (const keys of index.keys('rows')) for (const key of keys) indexed.add(key);
  const position = await index.position();
  const keys = [...view.keys()];
  const hashes = await index.lookup('rows', keys, position?.transactionId ?? null);
  const found = keys.flatMap((key, at) =>
    hashes[at]?.toString('hex') === view.get(key)?.headers['content-hash'] ? [] : [`${key}: another hash`],
  );
  for (const key of indexed) if (!view.has(key)) found.push(`${key}: indexed only`);
  return found;
}

/** Keys with more than one record. */
export async function keysPublishedTwice(mirror: Mirror, collection: CollectionName): Promise<string[]> {
  const met = new Set<string>();
  const twice: string[] = [];
  for (const { key } of await mirror.records(collection)) {
    if (met.has(key)) twice.push(key);
    met.add(key);
  }
  return twice;
}
