import { collectionStatus, type CollectionStatus } from './collection-status.ts';
import type { KnownContradictions } from './contradictions.ts';
import type { TenantFacts } from './tenant-facts.ts';
import { judgeState, type TenantState } from './tenant-state.ts';

export interface TenantStatus {
  readonly tenant: string;
  readonly state: TenantState;
  readonly headline: string;
  readonly owner: TenantFacts['owner'];
  readonly isOwnerAlive: boolean | null;
  readonly collections: readonly CollectionStatus[];
  readonly wrongTenant: TenantFacts['wrongTenant'];
  readonly contradictions: KnownContradictions | null;
}

/** What `status` says of a tenant. Pure. */
export function tenantStatus(facts: TenantFacts): TenantStatus {
  const collections = facts.collections.map((each) => collectionStatus(each, facts));
  const { state, headline } = judgeState(facts, collections);
  const { tenant, owner, isOwnerAlive, wrongTenant, contradictions } = facts;
  return { tenant, state, headline, owner, isOwnerAlive, collections, wrongTenant, contradictions };
}
