import type { TenantKindName } from './tenant-kinds.ts';
import type { TenantMistake } from './tenant-history.ts';

/** A mistake that the code under test could make, the kind of history to plant it in, and the problem that must be found. */
export interface SeededTenantMistake extends TenantMistake {
  readonly name: string;
  readonly kind: TenantKindName;
  readonly finds: string;
}
