import { describe, expect, it } from 'vitest';
import { troubles } from '../../../src/cli/pull.ts';
import type { PullOutcome } from '../../../src/pipeline/requests/pull.ts';

function outcome(parts: Partial<PullOutcome>): PullOutcome {
  return {
    collection: 'users',
    outcome: 'complete',
    mode: 'FULL',
    seen: 0,
    created: 0,
    updated: 0,
    removed: 0,
    rejected: 0,
    withheld: 0,
    why: null,
    remedy: null,
    ...parts,
  };
}

describe('what pull says of trouble', () => {
  it('does not leave a suspect list without what to do', () => {
    const suspect = outcome({ outcome: 'suspect', why: 'no rows', remedy: 'Look at the hub.' });
    expect([...troubles([suspect])]).toEqual([['no rows\n→ Look at the hub.', ['users']]]);
  });

  it('says one cause once, with all that it befell, and nothing of what went well', () => {
    const failed = { outcome: 'failed', why: 'HTTP 500', remedy: 'Look.' } as const;
    const found = troubles([
      outcome(failed),
      outcome({ collection: 'orgs' }),
      outcome({ collection: 'classes', ...failed }),
    ]);
    expect([...found]).toEqual([['HTTP 500\n→ Look.', ['users', 'classes']]]);
  });
});
