import type { Command } from 'commander';

/** A verb as the list of verbs shows it; its code is loaded only when it is called. */
export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** All verbs there are, in the order of the help text. */
export const VERBS: readonly Verb[] = [
  {
    name: 'run',
    summary: 'mirror all tenants, until stopped',
    load: async () => (await import('./run.ts')).runCommand(),
  },
  {
    name: 'pull',
    summary: 'one pass now, then exit',
    load: async () => (await import('./pull.ts')).pullCommand(),
  },
  {
    name: 'hub',
    summary: 'the reference hub: an invented school district behind the whole API',
    load: async () => (await import('./hub.ts')).hubCommand(),
  },
];
