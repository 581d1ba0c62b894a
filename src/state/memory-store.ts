import type { StateStore, TenantState } from './index-store.ts';
import { MemoryCoordination } from './memory-coordination.ts';
import { MemoryState } from './memory-state.ts';

/** Keeps the state of tenants in this process: for small tenants and for tests. `now`: ms since the epoch. */
export function createMemoryStore(options: { readonly now?: (() => number) | undefined } = {}): StateStore {
  const tenants = new Map<string, TenantState>();
  return {
    coordination: new MemoryCoordination(options.now ?? Date.now),
    async ready() {},
    tenant(tenantId) {
      const state = tenants.get(tenantId) ?? new MemoryState(tenantId);
      tenants.set(tenantId, state);
      return state;
    },
    async close() {},
  };
}
