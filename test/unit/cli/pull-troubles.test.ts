import { describe, expect, it } from 'vitest';
import { rejectLines, troubles } from '../../../src/cli/pull.ts';
import type { PullOutcome } from '../../../src/owner/pull.ts';

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
    rejectReasons: [],
    withheld: 0,
    missing: 0,
    confirmAtMs: null,
    short: null,
    why: null,
    remedy: null,
    ...parts,
  };
}

describe('how pull reports trouble', () => {
  it('an inconclusive list comes with its remedy', () => {
    const inconclusive = outcome({ outcome: 'inconclusive', why: 'no rows', remedy: 'Look at the hub.' });
    expect([...troubles([inconclusive])]).toEqual([['no rows\n→ Look at the hub.', ['users']]]);
  });

  it('one cause is reported once, with every collection that has it and no other', () => {
    const failed = { outcome: 'failed', why: 'HTTP 500', remedy: 'Look.' } as const;
    const found = troubles([
      outcome(failed),
      outcome({ collection: 'orgs' }),
      outcome({ collection: 'classes', ...failed }),
    ]);
    expect([...found]).toEqual([['HTTP 500\n→ Look.', ['users', 'classes']]]);
  });
});

describe('how pull reports rejected rows', () => {
  it('the commonest reasons come with their numbers of rows, and the rest is counted', () => {
    const rejectReasons = [
      { reason: '`sourcedId` is missing, or no text that identifies anything', rows: 1200 },
      { reason: 'the row is not an object', rows: 2 },
    ];
    expect(
      rejectLines([outcome({ rejected: 1203, rejectReasons }), outcome({ collection: 'orgs' })]),
    ).toEqual([
      '! users: 1,203 rows cannot be read and went to rejects',
      '  1,200: `sourcedId` is missing, or no text that identifies anything',
      '  2: the row is not an object',
      '  1: other reasons',
    ]);
  });
});
