import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { FULL, startPublisher, TENANT } from './chain-publishers.ts';
import type { Part } from './cpu-profile.ts';
import type { ProfileRequest } from './log-process.ts';

/** Shares of the busy time of the main thread, by what was profiled. */
export type Profiles = Readonly<Record<string, Readonly<Record<Part, number>>>>;

/** Profiles with absences and their changes; uses a process that is not measured otherwise. Keeps the profiles in a folder. */
export async function profileSyncs(bench: Bench, folder: string): Promise<Profiles> {
  await using publisher = await startPublisher(bench, 'with');
  const { child } = publisher;
  const profile = (name: string, sync: ProfileRequest['sync']): Promise<Record<Part, number>> => {
    bench.print(`${name}, with the profiler`);
    const saveAs = join(folder, `${name}.cpuprofile`);
    return child.call('profile', { sync, tenantId: TENANT, saveAs } satisfies ProfileRequest);
  };
  await child.call('own', TENANT);
  const first = await profile('first-sync', FULL);
  const unchanged = await profile('unchanged', FULL);
  await child.call('drop', TENANT);
  return { 'first full sync': first, unchanged, 'index made again': await profile('rebuild', null) };
}
