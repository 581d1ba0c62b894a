import { playChainHistory, type ChainHistoryKind, type ChainMistake } from '../chains/chain-history.ts';
import { CHAIN_MISTAKES } from '../chains/chain-mistakes.ts';
import { problemsOfChains } from '../chains/chain-problems.ts';
import { playGroup } from '../groups/group-history.ts';
import { GROUP_MISTAKES } from '../groups/group-mistakes.ts';
import { TENANT_MISTAKES } from '../tenants/tenant-mistakes.ts';
import { TENANT_KINDS } from '../tenants/tenant-kinds.ts';
import { playTenant } from '../tenants/play-tenant.ts';
import { resultOf, type Kind, type Mutation, type Played } from './played.ts';

/** Histories of absences, their versions and changes, with the same troubles. */
export const CHAIN_KINDS: readonly ChainHistoryKind[] = [
  { chains: 'sound', troubles: 'restarts' },
  { chains: 'sound', troubles: 'take-overs' },
  { chains: 'contradictory', troubles: 'restarts' },
  { chains: 'contradictory', troubles: 'take-overs' },
];

/** Histories of processes that share tenants as members of a group of Kafka. */
const GROUPS = 'groups';

export const KINDS: readonly Kind[] = [
  ...CHAIN_KINDS.map((kind) => ({
    name: chainName(kind),
    parts: 1,
    play: (seed: number) => playChain(seed, kind),
  })),
  ...Object.entries(TENANT_KINDS).map(([name, kind]) => ({
    name,
    parts: kind.parts,
    play: (seed: number) => playTenant({ seed, kind }),
  })),
  { name: GROUPS, parts: 2, play: (seed: number) => playGroup(seed) },
];

export const MUTATIONS: readonly Mutation[] = [
  ...CHAIN_MISTAKES.map(({ name, kind, finds, mistake }) => ({
    name,
    kind: chainName(kind),
    finds,
    play: (seed: number) => playChain(seed, kind, mistake),
  })),
  ...TENANT_MISTAKES.map(({ name, kind, finds, mistake }) => ({
    name,
    kind,
    finds,
    play: (seed: number) => playTenant({ seed, kind: TENANT_KINDS[kind], mistake }),
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

export function playChain(seed: number, kind: ChainHistoryKind, mistake?: ChainMistake): Promise<Played> {
  return resultOf((note) =>
    playChainHistory({ seed, kind, mistake }, (world) => note(problemsOfChains(world), world.happened)),
  );
}
