import type { Verbs } from './program.ts';

/** All verbs, in the order of the help text. */
export const VERBS: Verbs = {
  init: ['write a configuration with comments, to fill in', () => import('./init.ts')],
  check: ['is every service reachable, and are the credentials right?', () => import('./check.ts')],
  status: [
    'show how far every collection has got, and whether a person must decide something',
    () => import('./status.ts'),
  ],
  tail: ['print the records of a collection as they are committed', () => import('./tail.ts')],
  topics: [
    'compare the topics with the configuration, and change them: list, apply, recreate, purge',
    () => import('./topics.ts'),
  ],
  state: ['rebuild the index in Redis from the topics', () => import('./state.ts')],
  run: ['mirror the tenants until stopped', () => import('./run.ts')],
  pull: ['run one sync now, then exit', () => import('./pull.ts')],
  plan: ['show what a full sync would publish now; publish nothing', () => import('./plan.ts')],
  deletes: ['decide about deletions on hold: list, approve, history', () => import('./deletes.ts')],
  verify: ['is the copy complete? compare the topics with the hub, key by key', () => import('./verify.ts')],
  republish: [
    'publish a collection, or some of its keys, again even though nothing has changed',
    () => import('./republish.ts'),
  ],
  contract: ['print an AsyncAPI 3 document of the topics, for consumers', () => import('./contract.ts')],
};
