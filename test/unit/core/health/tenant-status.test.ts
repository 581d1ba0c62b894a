import { describe, expect, it } from 'vitest';
import type { CollectionFacts, TenantFacts } from '../../../../src/core/health/tenant-facts.ts';
import { tenantStatus } from '../../../../src/core/health/tenant-status.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import { madeProgress } from '../support/progress.ts';

// It is 09:00 in Oslo, five hours after the daily full sync was due.
const NOW_MS = Date.parse('2026-11-20T08:00:00Z');
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

interface Options extends Partial<CollectionFacts> {
  readonly fullAgoMs?: number | null;
  readonly watermarkAgoMs?: number;
  readonly complete?: boolean;
  readonly rejected?: number;
  readonly rejectedSince?: number;
  readonly withheld?: number;
  readonly isHeld?: boolean;
}

function facts(collection: CollectionName, options: Options = {}): CollectionFacts {
  const { fullAgoMs = 4 * HOUR_MS, watermarkAgoMs = 6 * MINUTE_MS, complete = true, ...given } = options;
  const { rejected = 0, rejectedSince = 0, withheld = 0, isHeld = false, ...more } = given;
  const heldSinceMs = NOW_MS - HOUR_MS;
  const day = { settledBy: 'p1', day: '2026-11-20', removed: 0, why: 'too many', approval: null };
  const full = { syncId: 'p1', offsets: {}, rows: 598, rowsRejected: rejected, rowsWithheld: 0 };
  const progress = madeProgress({
    mode: 'INCREMENTAL',
    complete,
    startedAtMs: NOW_MS - MINUTE_MS,
    rowsRejected: rejectedSince,
    rowsWithheld: withheld,
    watermarkMs: NOW_MS - watermarkAgoMs,
    lastCompleteFull: fullAgoMs === null ? null : { ...full, startedAtMs: NOW_MS - fullAgoMs },
    ...(isHeld && { deletions: { ...day, heldSinceMs } }),
  });
  const fullPull = { at: '04:00', timeZone: 'Europe/Oslo' };
  const counts = { rowsLate: 0, rowsInKafka: null, rowsAtHub: null };
  const sync = { isFilterMute: false, isWaiting: false, running: null };
  const incremental = { hasIncremental: true, deltaEveryMs: MINUTE_MS };
  return { collection, ...incremental, fullPull, progress, ...counts, ...sync, ...more };
}

function statusOf(collections: readonly CollectionFacts[], more: Partial<TenantFacts> = {}) {
  return tenantStatus({
    tenant: 'north',
    deltaOverlapMs: 5 * MINUTE_MS,
    collections,
    owner: { owner: 'vm-1', ownedSinceMs: NOW_MS - HOUR_MS },
    isOwnerAlive: true,
    notOffered: [],
    wrongTenant: [],
    contradictions: null,
    nowMs: NOW_MS,
    ...more,
  });
}

/** The collections of absences. */
const derived = (options: Options = {}) =>
  (['absence-versions', 'absences', 'absence-changes'] as const).map((name) => facts(name, options));

const users = facts('users');
const notLoaded = { progress: null };
const late = { fullAgoMs: 28 * HOUR_MS };
const held = { withheld: 51, isHeld: true };
const noOwner = { isOwnerAlive: false };
const lost = facts('users', { fullAgoMs: null, complete: false });
const waiting = facts('users', { isWaiting: true, ...late });
const waitingForOther = facts('orgs', { withheld: 2 });
const behind = { watermarkAgoMs: 3 * HOUR_MS };
const notOffered = { notOffered: ['absence-versions', 'schedules'] };
const schedules = facts('schedules', { fullAgoMs: 90 * HOUR_MS, complete: false });
const reported = [
  { part: 'pipeline', why: 'not mirrored', remedy: '' },
  { part: 'kafka', why: 'Kafka is away', remedy: 'Start Kafka.' },
] as const;
const versions = facts('absence-versions');

type Case = [name: string, expected: string, of: CollectionFacts[], more?: Partial<TenantFacts>];

describe('the headline', () => {
  it.each<Case>([
    ['everything is as promised', 'well | all well', [users, facts('orgs')]],
    ['no process runs', 'in-trouble | owner: no process mirrors the tenant', [users], noOwner],
    ['nobody knows whether one runs', 'well | all well', [users], { isOwnerAlive: null }],
    [
      'causes come before consequences',
      'in-trouble | kafka: Kafka is away',
      [users],
      { reported, ...noOwner },
    ],
    [
      'deletions are withheld, before all other states',
      'needs-person | needs a decision: 51 deletions are withheld in users',
      [facts('users', { ...held, watermarkAgoMs: 90 * HOUR_MS }), facts('orgs', notLoaded)],
    ],
    [
      'the hub gives another tenant’s rows, before even that',
      'needs-person | needs a decision: almost none of the rows that the hub returns for users, orgs match the published ones',
      [facts('users', held)],
      { wrongTenant: ['users', 'orgs'] },
    ],
    [
      'deletions wait because of another collection, while that one is held',
      'needs-person | needs a decision: 53 deletions are withheld in users, orgs',
      [facts('users', held), waitingForOther],
    ],
    ['that one is held no longer', 'well | all well', [users, waitingForOther]],
    ['a last full sync is lost', 'loading | load: never loaded completely: users', [lost, facts('orgs')]],
    [
      'rows are rejected',
      'well | all well, 12 rows rejected',
      [facts('users', { rejected: 11 }), facts('orgs', { rejectedSince: 1 })],
    ],
    [
      'a row is rejected beside a reason',
      'in-trouble | owner: no process mirrors the tenant, 1 row rejected',
      [facts('orgs', { rejectedSince: 1 })],
      noOwner,
    ],
    [
      'a first load has still to read',
      'loading | load: never loaded completely: orgs, classes',
      [users, facts('orgs', { fullAgoMs: null }), facts('classes', notLoaded)],
    ],
    ['a full sync waits, and is not late', 'well | all well', [waiting], { nowMs: NOW_MS - 3 * HOUR_MS }],
    [
      'a full sync is late and waits',
      'late | full: users: its daily full sync was due 5 h ago, and waits for its turn',
      [waiting],
    ],
    [
      'a full sync is late',
      'late | full: users: its daily full sync was due 5 h ago',
      [facts('users', late)],
    ],
    ['a full sync began in the night', 'well | all well', [facts('users', { fullAgoMs: 5 * HOUR_MS })]],
    [
      'incremental syncs stopped',
      'late | watermark: users: changes of the last 3 h are not published',
      [facts('users', behind)],
    ],
    ['there are none', 'well | all well', [facts('class-students', { ...behind, hasIncremental: false })]],
    ['absences contradict', 'well | all well, 3 contradictory absences', [users], { contradictions: 3 }],
    ['no absences contradict', 'well | all well', [users], { contradictions: 0 }],
    [
      'what derives is late',
      'late | full: absence-versions: its daily full sync was due 5 h ago',
      derived(late),
    ],
    [
      'what derives is withheld',
      'needs-person | needs a decision: 51 deletions are withheld in absence-versions',
      derived(held),
    ],
    ['what derives is rejected', 'well | all well, 2 rows rejected', derived({ rejected: 2 })],
    [
      'what derives is in its first load',
      'loading | load: never loaded completely: absence-versions',
      [users, ...derived({ fullAgoMs: null })],
    ],
    [
      'what derives was only just switched on',
      'loading | load: never loaded completely: absences, absence-changes',
      [versions, ...derived(notLoaded).slice(1)],
    ],
    [
      'the hub has no absences',
      'well | all well; the hub does not offer absence-versions',
      [users, ...derived(notLoaded)],
      { notOffered: ['absence-versions'] },
    ],
    [
      'what is not offered is neither counted nor late',
      'loading | load: never loaded completely: orgs; the hub does not offer absence-versions, schedules',
      [users, facts('orgs', notLoaded), ...derived(notLoaded), schedules],
      notOffered,
    ],
    [
      'nothing is offered',
      'loading | load: the hub offers none of the collections; the hub does not offer users',
      [facts('users', notLoaded)],
      { notOffered: ['users'] },
    ],
  ])('where %s: %s', (_name, expected, collections, more) => {
    const { state, headline, ready, reasons, needsPerson } = statusOf(collections, more);
    expect(`${state} | ${headline}`).toBe(expected);
    expect([ready, needsPerson]).toEqual([reasons.length === 0, state === 'needs-person']);
  });
});

describe('the status of a tenant', () => {
  it('has all reasons, causes first, each with its remedy', () => {
    expect(statusOf([users], { reported, ...noOwner }).reasons).toMatchObject([
      { part: 'kafka', remedy: 'Start Kafka.' },
      { part: 'pipeline' },
    ]);
    expect(statusOf([users], noOwner).reasons).toMatchObject([
      { part: 'owner', why: 'no process mirrors the tenant' },
    ]);
    const { reasons } = statusOf([facts('users', notLoaded)], { notOffered: ['users'] });
    expect(reasons).toMatchObject([{ remedy: 'Check hub.baseUrl.' }]);
  });

  it('has one decision for all that waits, and one for lost absences, with its command', () => {
    expect(statusOf([facts('users', held), waitingForOther]).decisions).toHaveLength(1);
    const { state, headline, decisions } = statusOf([versions], { areAbsencesLost: true });
    expect([state, headline]).toEqual(['needs-person', expect.stringContaining('ABSENCES_LOST')]);
    const command = 'rollcall state rebuild --tenant north --collection absences --anew --yes';
    expect(decisions[0]?.commands).toEqual([command]);
  });

  it('shows of a collection the last sync, the last complete full sync, what waits, derives or is not offered', () => {
    const rejecting = facts('users', { rejected: 1, rejectedSince: 4, isWaiting: true });
    const all = [rejecting, ...derived(notLoaded)];
    const { collections } = statusOf(all, { notOffered: ['absence-versions'] });
    expect(collections[0]).toMatchObject({
      rows: 598,
      rejected: 4,
      isWaiting: true,
      lastCompleteFull: new Date(NOW_MS - 4 * HOUR_MS).toISOString(),
      sync: { mode: 'INCREMENTAL', complete: true },
    });
    expect(collections.map(({ isNotOffered }) => isNotOffered)).toEqual([false, true, true, true]);
  });
});
