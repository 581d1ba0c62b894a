import type { CollectionName } from '../../model/collections.ts';
import { PLANNED_KINDS } from '../../plan/recorder.ts';
import type { CollectionPlan } from '../../plan/plan-tenant.ts';
import type { TenantPlan } from './show-plan.ts';

/** A tenant's plan for programs (docs/operations.md). */
export function planAsJson(
  { tenant, leftOut, collections }: TenantPlan,
  { hasKeys }: { readonly hasKeys: boolean },
): { tenant: string; leftOut: readonly CollectionName[]; collections: readonly object[] } {
  return { tenant, leftOut, collections: collections.map((each) => collectionAsJson(each, hasKeys)) };
}

function collectionAsJson(plan: CollectionPlan, hasKeys: boolean): object {
  const { counts, keys, keysLeftOut, withheldKeys, ...rest } = plan;
  if (!hasKeys) return { ...rest, ...counts };
  const found = PLANNED_KINDS.flatMap((kind) => (keys[kind].length > 0 ? [[kind, keys[kind]] as const] : []));
  const withheld = withheldKeys.length > 0 ? { withheld: withheldKeys } : {};
  return { ...rest, ...counts, keys: { ...Object.fromEntries(found), ...withheld }, keysLeftOut };
}
