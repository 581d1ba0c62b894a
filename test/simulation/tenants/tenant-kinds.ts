import type { TenantKind } from './tenant-history.ts';

/** `parts`: the share of the kind among all played histories. */
export const TENANT_KINDS = {
  'users-restarts': { troubles: 'restarts', mirrors: 'users', parts: 16 },
  'users-take-overs': { troubles: 'take-overs', mirrors: 'users', parts: 16 },
  'sound-chains-restarts': { troubles: 'restarts', mirrors: 'sound', parts: 1 },
  'sound-chains-take-overs': { troubles: 'take-overs', mirrors: 'sound', parts: 1 },
  'contradictory-chains-restarts': { troubles: 'restarts', mirrors: 'contradictory', parts: 1 },
  'contradictory-chains-take-overs': { troubles: 'take-overs', mirrors: 'contradictory', parts: 1 },
  'tenant-restarts': { troubles: 'restarts', mirrors: 'several', parts: 2 },
  'tenant-take-overs': { troubles: 'take-overs', mirrors: 'several', parts: 2 },
  'tenant-lost-topics': { troubles: 'lost-topics', mirrors: 'several', parts: 2 },
} as const satisfies Readonly<Record<string, TenantKind & { parts: number }>>;

export type TenantKindName = keyof typeof TENANT_KINDS;
