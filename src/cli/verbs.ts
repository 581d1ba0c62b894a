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
    name: 'check',
    summary: 'is everything there, and does it let us in?',
    load: async () => (await import('./check.ts')).checkCommand(),
  },
  {
    name: 'status',
    summary: 'how far everything is, and whether something waits for a person',
    load: async () => (await import('./status.ts')).statusCommand(),
  },
  {
    name: 'tail',
    summary: 'records of a collection as they are committed, decoded',
    load: async () => (await import('./tail.ts')).tailCommand(),
  },
  {
    name: 'topics',
    summary: 'topics beside the contract and the configuration: list, apply, purge',
    load: async () => (await import('./topics.ts')).topicsCommand(),
  },
  {
    name: 'state',
    summary: 'where the index stands beside the log: show, rebuild',
    load: async () => (await import('./state.ts')).stateCommand(),
  },
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
    name: 'deletes',
    summary: 'deletions that wait for a person: list, approve, discard',
    load: async () => (await import('./deletes.ts')).deletesCommand(),
  },
  {
    name: 'verify',
    summary: 'is the copy complete? topics beside the hub, key by key',
    load: async () => (await import('./verify.ts')).verifyCommand(),
  },
  {
    name: 'republish',
    summary: 'publish a collection, or keys of it, again although nothing has changed',
    load: async () => (await import('./republish.ts')).republishCommand(),
  },
  {
    name: 'hub',
    summary: 'the reference hub: an invented school district behind the whole API',
    load: async () => (await import('./hub.ts')).hubCommand(),
  },
];
