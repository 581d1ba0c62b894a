import type { Verbs } from './program.ts';

/** All verbs, in the order of the help text. */
export const VERBS: Verbs = {
  init: ['write a commented configuration to begin with', () => import('./init.ts')],
  check: ['is every service reachable, and are the credentials right?', () => import('./check.ts')],
  status: [
    'the progress of every collection, and whether something needs a decision',
    () => import('./status.ts'),
  ],
  tail: ['decoded records of a collection as they are committed', () => import('./tail.ts')],
  topics: [
    'compare topics with the contract and the configuration: list, apply, recreate, purge',
    () => import('./topics.ts'),
  ],
  state: ['the index beside the log: show, rebuild', () => import('./state.ts')],
  run: ['mirror the tenants, until stopped', () => import('./run.ts')],
  pull: ['one sync now, then exit', () => import('./pull.ts')],
  plan: ['what a full sync would publish now, publishing nothing', () => import('./plan.ts')],
  deletes: ['deletions that need a decision: list, approve, history', () => import('./deletes.ts')],
  verify: ['is the copy complete? compare topics with the hub, key by key', () => import('./verify.ts')],
  republish: [
    'publish a collection, or keys of it, again although they have not changed',
    () => import('./republish.ts'),
  ],
  contract: ['the topics for those who read them, as an AsyncAPI 3 document', () => import('./contract.ts')],
};
