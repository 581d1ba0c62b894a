import { CHAIN_MISTAKES } from '../mistakes/chain-mistakes.ts';
import { PRODUCER_MISTAKES } from '../mistakes/producer-mistakes.ts';
import { TENANT_MISTAKES } from '../mistakes/tenant-mistakes.ts';
import { playTenant, type Played } from '../tenants/tenant-history.ts';
import { TENANT_KINDS } from '../tenants/tenant-world.ts';

/** A kind of histories. The same seed of the same kind always gives the same history. */
interface Kind {
  readonly name: string;
  /** The share of this kind among all played histories. */
  readonly parts: number;
  readonly play: (seed: number) => Promise<Played>;
}

export const KINDS: readonly Kind[] = Object.entries(TENANT_KINDS).map(([name, kind]) => ({
  name,
  parts: kind.parts,
  play: (seed) => playTenant({ seed, kind }),
}));

/** Mistakes that the code under test could make, each of which the checks must find. */
export const MUTATIONS = [...TENANT_MISTAKES, ...PRODUCER_MISTAKES, ...CHAIN_MISTAKES];

/** The first history of the seeds from 1 on in which a mistake is found, and its problem; null: in none of them. */
export async function firstCatch(
  mistake: (typeof MUTATIONS)[number],
  most: number,
): Promise<{ histories: number; problem: string | null }> {
  for (let seed = 1; seed <= most; seed += 1) {
    const { problems } = await playTenant({ seed, kind: TENANT_KINDS[mistake.kind], mistake });
    const problem = problems.find((each) => each.includes(mistake.finds));
    if (problem !== undefined) return { histories: seed, problem };
  }
  return { histories: most, problem: null };
}
