import type { Verb } from './program.ts';

/** All verbs, in the order of the help text. */
export const VERBS: readonly Verb[] = [
  {
    name: 'init',
    summary: 'write a commented configuration to begin with',
    load: async () => (await import('./init.ts')).initCommand(),
  },
  {
    name: 'check',
    summary: 'is every service reachable, and are the credentials right?',
    load: async () => (await import('./check.ts')).checkCommand(),
  },
  {
    name: 'status',
    summary: 'the progress of every collection, and whether something needs a decision',
    load: async () => (await import('./status.ts')).statusCommand(),
  },
  {
    name: 'tail',
    summary: 'decoded records of a collection as they are committed',
    load: async () => (await import('./tail.ts')).tailCommand(),
  },
  {
    name: 'topics',
    summary: 'compare topics with the contract and the configuration: list, apply, purge',
    load: async () => (await import('./topics.ts')).topicsCommand(),
  },
  {
    name: 'state',
    summary: 'the index beside the log: show, rebuild',
    load: async () => (await import('./state.ts')).stateCommand(),
  },
  {
    name: 'run',
    summary: 'mirror all tenants, until stopped',
    load: async () => (await import('./run.ts')).runCommand(),
  },
  {
    name: 'pull',
    summary: 'one sync now, then exit',
    load: async () => (await import('./pull.ts')).pullCommand(),
  },
  {
    name: 'plan',
    summary: 'what a full sync would publish now, publishing nothing',
    load: async () => (await import('./plan.ts')).planCommand(),
  },
  {
    name: 'deletes',
    summary: 'deletions that need a decision: list, approve, history',
    load: async () => (await import('./deletes.ts')).deletesCommand(),
  },
  {
    name: 'verify',
    summary: 'is the copy complete? compare topics with the hub, key by key',
    load: async () => (await import('./verify.ts')).verifyCommand(),
  },
  {
    name: 'republish',
    summary: 'publish a collection, or keys of it, again although they have not changed',
    load: async () => (await import('./republish.ts')).republishCommand(),
  },
  {
    name: 'contract',
    summary: 'the topics for those who read them, as an AsyncAPI 3 document',
    load: async () => (await import('./contract.ts')).contractCommand(),
  },
  {
    name: 'hub',
    summary: 'the reference hub: an invented school district behind the whole API',
    load: async () => (await import('./hub.ts')).hubCommand(),
  },
  {
    name: 'completion',
    summary: 'completion for bash, zsh and fish',
    load: async () => (await import('./completion.ts')).completionCommand(),
  },
  {
    name: 'complete',
    summary: 'what the scripts of completion ask for',
    hidden: true,
    load: async () => (await import('./completion.ts')).completeCommand(VERBS),
  },
];
