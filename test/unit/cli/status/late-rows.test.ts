import { describe, expect, it } from 'vitest';
import { createOutput } from '../../../../src/cli/output.ts';
import { showTenant } from '../../../../src/cli/status/show-tenant.ts';
import { tenantStatus } from '../../../../src/core/health/tenant-status.ts';
import type { LateNote } from '../../../../src/core/late-rows.ts';
import type { Progress } from '../../../../src/model/progress.ts';

const MINUTE_MS = 60_000;
const NOW_MS = Date.parse('2026-03-10T09:00:00Z');

const PROGRESS: Progress = {
  collection: 'users',
  sequence: 4,
  transactionId: 't4',
  syncId: 'p4',
  mode: 'INCREMENTAL',
  complete: true,
  startedAtMs: NOW_MS - MINUTE_MS,
  rowsSeen: 3,
  rowsPublished: 2,
  rowsRejected: 0,
  rowsRemoved: 1,
  rowsWithheld: 0,
  totalAtStart: null,
  totalAtEnd: null,
  watermarkMs: NOW_MS - MINUTE_MS,
  offsets: {},
  lastCompleteFull: null,
};

/** What `status` prints of a collection with late rows. */
function printed(lateRows: LateNote): string {
  const status = tenantStatus({
    tenant: 'north',
    deltaOverlapMs: 5 * MINUTE_MS,
    collections: [
      {
        collection: 'users',
        hasIncremental: true,
        deltaEveryMs: MINUTE_MS,
        fullPull: { at: '04:00', timeZone: 'Europe/Oslo' },
        progress: PROGRESS,
        lateRows,
        committedAtMs: null,
      },
    ],
    owner: { owner: 'vm-1', ownedSinceMs: NOW_MS },
    isOwnerAlive: true,
    notOffered: [],
    wrongTenant: [],
    contradictions: null,
    nowMs: NOW_MS,
  });
  let text = '';
  const stdout = { write: (part: string) => void (text += part) };
  const output = createOutput({
    streams: { stdout, stderr: stdout },
    env: {},
    json: false,
    nowMs: () => NOW_MS,
  });
  showTenant(output, status, NOW_MS);
  return text;
}

describe('status of rows that incremental syncs missed', () => {
  it('names the overlap where the hub showed them later', () => {
    const text = printed({ rows: 8, lagAtMostMs: 12 * MINUTE_MS, overlapMs: 5 * MINUTE_MS });
    expect(text).toMatch(/missed 8 rows.*more than deltaOverlap \(5 min\) and at most 12 min/);
    expect(text).toContain('Raise deltaOverlap, to 10 min at first.');
    expect(text).not.toContain('filter');
  });

  it('names the filter, and how to ask it, where none ever brought a row', () => {
    const text = printed({ rows: 8, lagAtMostMs: null, overlapMs: 5 * MINUTE_MS });
    expect(text).toMatch(/missed 8 rows.*filter on dateLastModified seems to select nothing/);
    expect(text).toContain('rollcall check');
    expect(text).not.toContain('Raise deltaOverlap');
  });
});
