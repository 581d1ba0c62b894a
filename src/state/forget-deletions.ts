import type { CollectionName } from '../model/collections.ts';
import type { DeletionMemory } from './index-store.ts';

/** Forgets what is remembered of a collection's removals; what was removed on a day goes with the days. */
export async function forgetDeletions(memory: DeletionMemory, collection: CollectionName): Promise<void> {
  await memory.setMissing(collection, new Map());
  await memory.setWithheld(collection, new Map());
  await memory.setNote(collection, null);
  await memory.setTripped(collection, false);
  await memory.setWrongTenant(collection, null);
  await memory.setNotOffered(collection, false);
}
