import { describe, expect, it } from 'vitest';
import { noteOutcomes } from '../../../src/cli/outcomes.ts';
import { createOutput } from '../../../src/cli/output.ts';
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

/** What people read of these outcomes. */
function noted(...outcomes: PullOutcome[]): string {
  let text = '';
  const stream = { write: (part: string) => void (text += part) };
  const streams = { stdout: stream, stderr: stream };
  noteOutcomes(createOutput({ host: { ...streams, env: {} }, json: false, nowMs: () => 0 }), outcomes, false);
  return text;
}

describe('how pull reports trouble', () => {
  it('an inconclusive list comes with its remedy', () => {
    const inconclusive = outcome({ outcome: 'inconclusive', why: 'no rows', remedy: 'Look at the hub.' });
    expect(noted(inconclusive)).toBe('✗ users: no rows\n→ Look at the hub.\n');
  });

  it('one cause is reported once, with every collection that has it and no other', () => {
    const failed = { outcome: 'failed', why: 'HTTP 500', remedy: 'Look.' } as const;
    const others = [outcome({ collection: 'orgs' }), outcome({ collection: 'classes', ...failed })];
    expect(noted(outcome(failed), ...others)).toBe('✗ users, classes: HTTP 500\n→ Look.\n');
  });
});

describe('how pull reports rejected rows', () => {
  it('the commonest reasons come with their numbers of rows', () => {
    const rejectReasons = [
      { reason: '`sourcedId` is missing, or no text that identifies anything', rows: 1200 },
      { reason: 'the row is not an object', rows: 2 },
    ];
    expect(noted(outcome({ rejected: 1203, rejectReasons }), outcome({ collection: 'orgs' }))).toBe(
      '! users: rows that cannot be read, 1,203 new in rejects (1,200: `sourcedId` is missing, or no text that identifies anything; 2: the row is not an object)\n',
    );
  });
});
