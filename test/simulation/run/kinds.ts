import { playChainHistory, type ChainHistoryKind, type ChainMistake } from '../chains/chain-history.ts';
import { CHAIN_MISTAKES } from '../chains/chain-mistakes.ts';
import { problemsOfChains } from '../chains/chain-problems.ts';
import { playGroup } from '../groups/group-history.ts';
import { GROUP_MISTAKES } from '../groups/group-mistakes.ts';
import { problemsAfterDelta, problemsOf } from '../sessions/history-problems.ts';
import { MISTAKES } from '../sessions/mistakes.ts';
import { playHistory, type HistoryKind, type Mistake } from '../sessions/session-history.ts';
import { TENANT_MISTAKES } from '../tenants/tenant-mistakes.ts';
import type { TenantTroubles } from '../tenants/tenant-history.ts';
import { playTenant } from '../tenants/play-tenant.ts';
import { resultOf, type Kind, type Mutation, type Played } from './played.ts';

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

/** Histories of processes that share tenants as members of a group of Kafka. */
const GROUPS = 'groups';

export const KINDS: readonly Kind[] = [
  ...SESSION_KINDS.map((kind) => ({
    name: kind,
    parts: 16,
    play: (seed: number) => playSession(seed, kind),
  })),
  ...CHAIN_KINDS.map((kind) => ({
    name: chainName(kind),
    parts: 1,
    play: (seed: number) => playChain(seed, kind),
  })),
  ...TENANT_KINDS.map((troubles) => ({
    name: `tenant-${troubles}`,
    parts: 2,
    play: (seed: number) => playTenant({ seed, troubles }),
  })),
  { name: GROUPS, parts: 2, play: (seed: number) => playGroup(seed) },
];

export const MUTATIONS: readonly Mutation[] = [
  ...MISTAKES.map(({ name, kind, finds, mistake }) => ({
    name,
    kind,
    finds,
    play: (seed: number) => playSession(seed, kind, mistake),
  })),
  ...CHAIN_MISTAKES.map(({ name, kind, finds, mistake }) => ({
    name,
    kind: chainName(kind),
    finds,
    play: (seed: number) => playChain(seed, kind, mistake),
  })),
  ...TENANT_MISTAKES.map(({ name, troubles, finds, mistake }) => ({
    name,
    kind: `tenant-${troubles}`,
    finds,
    play: (seed: number) => playTenant({ seed, troubles, mistake }),
  })),
  ...GROUP_MISTAKES.map(({ name, finds, mistake }) => ({
    name,
    kind: GROUPS,
    finds,
    play: (seed: number) => playGroup(seed, mistake),
  })),
];

export function chainName({ chains, troubles }: ChainHistoryKind): string {
  return `${chains}-chains-${troubles}`;
}

export function playSession(seed: number, kind: HistoryKind, mistake?: Mistake): Promise<Played> {
  return resultOf((note) =>
    playHistory(
      { seed, kind, mistake },
      {
        afterDelta: (world) => note(problemsAfterDelta(world), world.happened),
        afterFull: (world) => note(problemsOf(world), world.happened),
      },
    ),
  );
}

export function playChain(seed: number, kind: ChainHistoryKind, mistake?: ChainMistake): Promise<Played> {
  return resultOf((note) =>
    playChainHistory({ seed, kind, mistake }, (world) => note(problemsOfChains(world), world.happened)),
  );
}
