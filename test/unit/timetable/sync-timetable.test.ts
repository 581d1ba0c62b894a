import { expect, it } from 'vitest';
import { HubFindings } from '../../../src/sync/hub-findings.ts';
import type { MirroredCollection } from '../../../src/sync/sync.ts';
import { ChangedScopes } from '../../../src/table/tenant.ts';
import { SyncTimetable } from '../../../src/timetable/sync-timetable.ts';

const LAST_FULL_MS = Date.parse('2026-03-10T03:00:00Z');
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Of schedules, whose last full sync was at 04:00 in Oslo. */
it.each([
  ['waits while no scope has changed', { inMs: 10 * MINUTE, changed: [] }, { kind: 'wait' }],
  ['is incremental when scopes have changed', { inMs: 10 * MINUTE }, { mode: 'INCREMENTAL' }],
  ['is full at the start under another mapping', { inMs: MINUTE, isMappingNew: true }, { mode: 'FULL' }],
  ['is not full just because the watermark is old', { inMs: DAY - MINUTE }, { mode: 'INCREMENTAL' }],
  ['is the daily full sync when that is due', { inMs: DAY + MINUTE }, { mode: 'FULL' }],
])('the next sync of schedules %s', (_name, given, expected) => {
  const {
    inMs,
    changed = ['s1'],
    isMappingNew = false,
  } = given as { inMs: number; changed?: string[]; isMappingNew?: boolean };
  const changes = new ChangedScopes();
  changes.note(changed);
  const timetable = new SyncTimetable({
    tenant: { runtime: { now: () => LAST_FULL_MS + inMs, random: () => 0 } },
    settings: {
      name: 'schedules',
      fullSync: { at: '04:00', timeZone: 'Europe/Oslo' },
      incrementalEveryMs: 5_000,
    },
    writer: {
      progress: { watermarkMs: LAST_FULL_MS - 5 * MINUTE },
      committed: { isMappingNew, completeSinceMs: LAST_FULL_MS },
    },
    findings: new HubFindings(),
    deletions: { missing: null, isForeign: false },
    source: { changedScopes: changes },
  } as unknown as MirroredCollection);
  expect(timetable.next()).toMatchObject(expected);
});

it('a filter by time that the hub has refused is tried again after a day', () => {
  let nowMs = LAST_FULL_MS + MINUTE;
  const timetable = new SyncTimetable({
    tenant: { runtime: { now: () => nowMs } },
    settings: { name: 'users' },
    writer: { committed: { isMappingNew: false, completeSinceMs: LAST_FULL_MS } },
    source: {},
  } as unknown as MirroredCollection);
  expect(timetable.hasIncremental).toBe(true);
  timetable.noteFilterRefused();
  nowMs += DAY - 1;
  expect(timetable.hasIncremental).toBe(false);
  nowMs += 1;
  expect(timetable.hasIncremental).toBe(true);
});
