import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from './index-store.ts';

/** Clears the deletion memory of a collection, except the counts per day, which expire. */
export async function forgetDeletions(memory: DeletionMemory, collection: CollectionName): Promise<void> {
  await memory.setMissing(collection, new Map());
  await memory.setWithheld(collection, new Map());
  await memory.setNote(collection, null);
  await memory.setTripped(collection, false);
  await memory.setWrongTenant(collection, null);
  await memory.setNotOffered(collection, false);
}
