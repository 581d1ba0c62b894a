import { tellChainHistory, type ChainHistoryKind, type ChainMistake } from '../chains/chain-history.ts';
import { CHAIN_MISTAKES } from '../chains/chain-mistakes.ts';
import { problemsOfChains } from '../chains/chain-problems.ts';
import { problemsAfterDelta, problemsOf } from '../sessions/history-problems.ts';
import { MISTAKES } from '../sessions/mistakes.ts';
import { tellHistory, type HistoryKind, type Mistake } from '../sessions/session-history.ts';
import { TENANT_MISTAKES } from '../tenants/tenant-mistakes.ts';
import type { TenantTroubles } from '../tenants/tenant-history.ts';
import { tellTenant } from '../tenants/tell-tenant.ts';
import { toldBy, type Kind, type Mutation, type Told } from './told.ts';

/** Histories of one collection, with all troubles of a process, its log and its index. */
export const SESSION_KINDS: readonly HistoryKind[] = ['restarts', 'take-overs'];

/** Histories of absences, their versions and changes, with the same troubles. */
export const CHAIN_KINDS: readonly ChainHistoryKind[] = [
  { chains: 'sound', troubles: 'restarts' },
  { chains: 'sound', troubles: 'take-overs' },
  { chains: 'contradictory', troubles: 'restarts' },
  { chains: 'contradictory', troubles: 'take-overs' },
];

/** Histories of several collections, a hub that lies, a Redis that forgets, the guard, and people. */
export const TENANT_KINDS: readonly TenantTroubles[] = ['restarts', 'take-overs', 'lost-topics'];

export const KINDS: readonly Kind[] = [
  ...SESSION_KINDS.map((kind) => ({
    name: kind,
    parts: 16,
    tell: (seed: number) => tellSession(seed, kind),
  })),
  ...CHAIN_KINDS.map((kind) => ({
    name: chainName(kind),
    parts: 1,
    tell: (seed: number) => tellChain(seed, kind),
  })),
  ...TENANT_KINDS.map((troubles) => ({
    name: `tenant-${troubles}`,
    parts: 2,
    tell: (seed: number) => tellTenant({ seed, troubles }),
  })),
];

export const MUTATIONS: readonly Mutation[] = [
  ...MISTAKES.map(({ name, kind, finds, mistake }) => ({
    name,
    kind,
    finds,
    tell: (seed: number) => tellSession(seed, kind, mistake),
  })),
  ...CHAIN_MISTAKES.map(({ name, kind, finds, mistake }) => ({
    name,
    kind: chainName(kind),
    finds,
    tell: (seed: number) => tellChain(seed, kind, mistake),
  })),
  ...TENANT_MISTAKES.map(({ name, troubles, finds, mistake }) => ({
    name,
    kind: `tenant-${troubles}`,
    finds,
    tell: (seed: number) => tellTenant({ seed, troubles, mistake }),
  })),
];

export function chainName({ chains, troubles }: ChainHistoryKind): string {
  return `${chains}-chains-${troubles}`;
}

export function tellSession(seed: number, kind: HistoryKind, mistake?: Mistake): Promise<Told> {
  return toldBy((note) =>
    tellHistory(
      { seed, kind, mistake },
      {
        afterDelta: (world) => note(problemsAfterDelta(world), world.happened),
        afterFull: (world) => note(problemsOf(world), world.happened),
      },
    ),
  );
}

export function tellChain(seed: number, kind: ChainHistoryKind, mistake?: ChainMistake): Promise<Told> {
  return toldBy((note) =>
    tellChainHistory({ seed, kind, mistake }, (world) => note(problemsOfChains(world), world.happened)),
  );
}
