import { describe, expect, it } from 'vitest';
import { ChangedScopes } from '../../../src/table/tenant.ts';
import { HubFindings } from '../../../src/sync/hub-findings.ts';
import type { MirroredCollection } from '../../../src/sync/settle-missing.ts';
import { SyncTimetable } from '../../../src/timetable/sync-timetable.ts';

const LAST_FULL_MS = Date.parse('2026-03-10T03:00:00Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Schedules, whose last full sync was a day ago at 04:00 in Oslo, but for some minutes. */
function timetable(isMappingNew = false): { at: (nowMs: number) => unknown; changes: ChangedScopes } {
  const changes = new ChangedScopes();
  let nowMs = 0;
  const own = {
    tenant: { runtime: { now: () => nowMs, random: () => 0 } },
    settings: {
      name: 'schedules',
      fullPull: { at: '04:00', timeZone: 'Europe/Oslo' },
      deltaEveryMs: 5_000,
    },
    writer: {
      progress: { watermarkMs: LAST_FULL_MS - 5 * MINUTE },
      committed: { isMappingNew, completeSinceMs: LAST_FULL_MS },
    },
    findings: new HubFindings(),
    missing: { owed: null },
    source: { changes },
  } as unknown as MirroredCollection;
  const made = new SyncTimetable(own);
  return {
    changes,
    at(ms) {
      nowMs = ms;
      return made.next();
    },
  };
}

describe('a collection whose changed scopes are known', () => {
  it('has an incremental sync only when some have changed', () => {
    const { at, changes } = timetable();
    expect(at(LAST_FULL_MS + 10 * MINUTE)).toMatchObject({ kind: 'wait' });
    changes.note(['s1']);
    expect(at(LAST_FULL_MS + 10 * MINUTE)).toMatchObject({ kind: 'sync', mode: 'INCREMENTAL' });
  });

  it('has one full sync at the start if rows were published under another mapping', () => {
    const { at, changes } = timetable(true);
    changes.note(['s1']);
    expect(at(LAST_FULL_MS + MINUTE)).toMatchObject({ kind: 'sync', mode: 'FULL' });
  });

  it('has no full sync before the daily one, however old its watermark is', () => {
    const { at, changes } = timetable();
    changes.note(['s1']);
    expect(at(LAST_FULL_MS + DAY - MINUTE)).toMatchObject({ kind: 'sync', mode: 'INCREMENTAL' });
    expect(at(LAST_FULL_MS + DAY + MINUTE)).toMatchObject({ kind: 'sync', mode: 'FULL' });
  });
});
