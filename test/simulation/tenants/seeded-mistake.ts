import type { TenantMistake, TenantTroubles } from './tenant-history.ts';

/** A mistake as the code under test could make it, in which kind of history, and a problem that must be found then. */
export interface SeededTenantMistake {
  readonly name: string;
  readonly troubles: TenantTroubles;
  readonly finds: string;
  readonly mistake: TenantMistake;
}
