import type { CollectionName } from '../../../src/model/collections.ts';
import type { CollectionIndex, DeletionMemory, TenantState } from '../../../src/state/index-store.ts';
import { withOther } from '../parts/with-other.ts';

export function withDeletions(state: TenantState, other: Partial<DeletionMemory>): TenantState {
  return withOther(state, { deletions: withOther(state.deletions, other) });
}

export function withIndexes(
  state: TenantState,
  misuse: (index: CollectionIndex, name: CollectionName) => CollectionIndex,
): TenantState {
  return withOther(state, { collection: (name: CollectionName) => misuse(state.collection(name), name) });
}
