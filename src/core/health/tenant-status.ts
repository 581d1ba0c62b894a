import { collectionStatus, type CollectionStatus } from './collection-status.ts';
import type { KnownContradictions } from './known-contradictions.ts';
import { copyReasons } from './copy-reasons.ts';
import { decisionsOf, type Decision } from './decisions.ts';
import type { NotReady } from './parts.ts';
import type { TenantFacts } from './tenant-facts.ts';
import { COPY_PARTS, judgeState, type TenantState } from './tenant-state.ts';

export interface TenantStatus {
  readonly tenant: string;
  readonly state: TenantState;
  readonly headline: string;
  /** Why the tenant is not ready; empty when it is. */
  readonly reasons: readonly NotReady[];
  readonly decisions: readonly Decision[];
  readonly owner: TenantFacts['owner'];
  readonly isOwnerAlive: boolean | null;
  /** Hub clock minus ours, ms. */
  readonly hubSkewMs: number;
  readonly collections: readonly CollectionStatus[];
  readonly wrongTenant: TenantFacts['wrongTenant'];
  readonly contradictions: KnownContradictions | null;
}

/** The health of a tenant: `status`, `/readyz`, `/status.json`, the page and the metrics all answer from it. Pure. */
export function tenantStatus(facts: TenantFacts): TenantStatus {
  const collections = facts.collections.map((each) => collectionStatus(each, facts));
  const { state, headline } = judgeState(facts, collections);
  const { tenant, owner, isOwnerAlive, wrongTenant, contradictions } = facts;
  const reported = (facts.reported ?? []).filter(({ part }) => !COPY_PARTS.has(part));
  const ownerless = isOwnerAlive === false && !reported.some(saysWhyNotOwned) ? [noOwner(tenant)] : [];
  return {
    tenant,
    state,
    headline,
    reasons: [...reported, ...ownerless, ...copyReasons(tenant, collections)],
    decisions: decisionsOf(facts, collections),
    owner,
    isOwnerAlive,
    hubSkewMs: facts.hubSkewMs ?? 0,
    collections,
    wrongTenant,
    contradictions,
  };
}

/** A process that is about to own the tenant, or has lost it, says so itself. */
function saysWhyNotOwned({ part }: NotReady): boolean {
  return part === 'pipeline' || part === 'owner';
}

function noOwner(tenant: string): NotReady {
  return {
    part: 'owner',
    tenant,
    why: 'no process mirrors the tenant',
    remedy:
      'Start "rollcall run"; if it should be running, see why it ended: its log, or "kubectl logs --previous".',
  };
}
