import type { Bench } from './bench.ts';
import { startChild } from './child-process.ts';
import type { FloorHub } from './floor-process.ts';
import { measureChains, type ChainNumbers } from './measure-chains.ts';
import { measurePeers, type PeerNumbers } from './measure-peers.ts';
import { measureDelay, type DelayNumbers } from './measure-delay.ts';
import { measureIdle, type IdleNumbers } from './measure-idle.ts';
import { measurePages, type PageNumbers } from './measure-pages.ts';
import { measureUnchanged, type UnchangedNumbers } from './measure-unchanged.ts';
import { profileSyncs, type Profiles } from './profile-syncs.ts';

/** What the parts of the benchmark found; a part that did not run has nothing. */
export interface PartNumbers {
  readonly unchanged?: UnchangedNumbers;
  readonly chains?: ChainNumbers;
  readonly pages?: PageNumbers;
  readonly delay?: DelayNumbers;
  readonly idle?: IdleNumbers;
  readonly peers?: PeerNumbers;
  /** Where the time goes; only with a folder for profiles. */
  readonly profiles?: Profiles;
}

export type BenchPart = Exclude<keyof PartNumbers, 'profiles'>;

/** Runs parts one after another: each has processes of its own, so that their memory can be measured alone. */
export async function measureParts(bench: Bench, wanted: ReadonlySet<BenchPart>): Promise<PartNumbers> {
  const { hub, profileFolder, signal } = bench;
  await using floor = startChild(new URL('floor-process.ts', import.meta.url), signal);
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  await floor.call('open', { baseUrl, tokenUrl, clientId, clientSecret } satisfies FloorHub);
  return {
    ...(wanted.has('unchanged') && { unchanged: await measureUnchanged(bench, floor) }),
    ...(wanted.has('chains') && { chains: await measureChains(bench, floor) }),
    ...(wanted.has('pages') && { pages: await measurePages(bench) }),
    ...(wanted.has('delay') && { delay: await measureDelay(bench) }),
    ...(wanted.has('idle') && { idle: await measureIdle(bench) }),
    ...(wanted.has('peers') && { peers: await measurePeers(bench, floor) }),
    ...(profileFolder !== null && { profiles: await profileSyncs(bench, profileFolder) }),
  };
}
