import { playGroup } from '../groups/group-history.ts';
import { GROUP_MISTAKES } from '../groups/group-mistakes.ts';
import { CHAIN_MISTAKES } from '../mistakes/chain-mistakes.ts';
import { TENANT_MISTAKES } from '../mistakes/tenant-mistakes.ts';
import { TENANT_KINDS } from '../tenants/tenant-world.ts';
import { playTenant } from '../tenants/tenant-history.ts';
import type { Kind, Mutation } from './played.ts';

/** Histories of processes that share tenants as members of a group of Kafka. */
const GROUPS = 'groups';

export const KINDS: readonly Kind[] = [
  ...Object.entries(TENANT_KINDS).map(([name, kind]) => ({
    name,
    parts: kind.parts,
    play: (seed: number) => playTenant({ seed, kind }),
  })),
  { name: GROUPS, parts: 2, play: (seed: number) => playGroup(seed) },
];

export const MUTATIONS: readonly Mutation[] = [
  ...[...TENANT_MISTAKES, ...CHAIN_MISTAKES].map((mistake) => {
    const { name, kind, finds } = mistake;
    const play = (seed: number) => playTenant({ seed, kind: TENANT_KINDS[kind], mistake });
    return { name, kind, finds, play };
  }),
  ...GROUP_MISTAKES.map((mistake) => {
    const { name, finds } = mistake;
    return { name, kind: GROUPS, finds, play: (seed: number) => playGroup(seed, mistake) };
  }),
];
