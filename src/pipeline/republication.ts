import { SeenKeys } from '../core/seen-keys.ts';

/** What a pass publishes although it is as it was, because somebody asked for it. */
export interface Republication {
  /** Whether a row is told again. Once for each key: a pass may meet it twice, or be followed by a second one. */
  readonly rows?: ((key: string) => boolean) | undefined;
  /** The same of current absences, by absence id; beside `absence-versions`, whose passes bring them. */
  readonly absences?: ((absenceId: string) => boolean) | undefined;
  /** Absences are hidden that are shown and of which nothing tells: somebody else wrote them. */
  readonly hidesUnattributed?: boolean | undefined;
}

/** Takes each of the wanted keys once, or each key there is. `seed`: 32 bits, new each time. */
export function onceEach(wanted: ReadonlySet<string> | 'all', seed: number): (key: string) => boolean {
  const told = new SeenKeys(seed);
  return (key) => (wanted === 'all' || wanted.has(key)) && told.add(key);
}
