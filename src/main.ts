import type { Command } from 'commander';
import { existsSync } from 'node:fs';
import { runProcess, type Verbs } from './cli/program.ts';

/** A checkout has it; the package and the image do not, so it is not imported by name. */
const referenceHub = new URL('../reference-hub/verb.ts', import.meta.url);
const inCheckout: Verbs = existsSync(referenceHub)
  ? {
      hub: [
        'the reference hub: an invented school district behind the whole API',
        () => import(referenceHub.href) as Promise<{ command: () => Command }>,
      ],
    }
  : {};

/** All verbs, in the order of the help text. */
await runProcess({
  init: ['write a commented configuration to begin with', () => import('./cli/init.ts')],
  check: ['is every service reachable, and are the credentials right?', () => import('./cli/check.ts')],
  status: [
    'the progress of every collection, and whether something needs a decision',
    () => import('./cli/status.ts'),
  ],
  tail: ['decoded records of a collection as they are committed', () => import('./cli/tail.ts')],
  topics: [
    'compare topics with the contract and the configuration: list, apply, recreate, purge',
    () => import('./cli/topics.ts'),
  ],
  state: ['the index beside the log: show, rebuild', () => import('./cli/state.ts')],
  run: ['mirror the tenants, until stopped', () => import('./cli/run.ts')],
  pull: ['one sync now, then exit', () => import('./cli/pull.ts')],
  plan: ['what a full sync would publish now, publishing nothing', () => import('./cli/plan.ts')],
  deletes: ['deletions that need a decision: list, approve, history', () => import('./cli/deletes.ts')],
  verify: ['is the copy complete? compare topics with the hub, key by key', () => import('./cli/verify.ts')],
  republish: [
    'publish a collection, or keys of it, again although they have not changed',
    () => import('./cli/republish.ts'),
  ],
  contract: [
    'the topics for those who read them, as an AsyncAPI 3 document',
    () => import('./cli/contract.ts'),
  ],
  ...inCheckout,
});
