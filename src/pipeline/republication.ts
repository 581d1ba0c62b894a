import { SeenKeys } from '../core/seen-keys.ts';

/** What a requested sync publishes even if it is unchanged. */
export interface Republication {
  /** Whether to republish a row. True once per key, because a sync may read a row twice or lead to a second sync. */
  readonly rows?: ((key: string) => boolean) | undefined;
  /** Whether to republish a current absence, by absence id, in syncs of `absence-versions`. */
  readonly absences?: ((absenceId: string) => boolean) | undefined;
}

/** A function that returns true once for each wanted key, or for every key. `seed`: any 32-bit integer, new each time. */
export function onceEach(wanted: ReadonlySet<string> | 'all', seed: number): (key: string) => boolean {
  const taken = new SeenKeys(seed);
  return (key) => (wanted === 'all' || wanted.has(key)) && taken.add(key);
}
