import { describe, expect, it } from 'vitest';
import type { CollectionFacts, TenantFacts } from '../../../../src/core/health/tenant-facts.ts';
import { tenantStatus } from '../../../../src/core/health/tenant-status.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { Progress } from '../../../../src/model/progress.ts';

// It is 09:00 in Oslo, five hours after the daily full sync was due.
const NOW_MS = Date.parse('2026-11-20T08:00:00Z');
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

function progress(
  options: {
    fullAgoMs?: number | null;
    watermarkAgoMs?: number;
    withheld?: number;
    rejected?: number;
    rejectedSince?: number;
    complete?: boolean;
    startedAgoMs?: number;
    withheldSince?: number;
  } = {},
): Progress {
  const { fullAgoMs = 4 * HOUR_MS, watermarkAgoMs = 6 * MINUTE_MS, withheld = 0, rejected = 0 } = options;
  return {
    collection: 'users',
    sequence: 4,
    transactionId: 't4',
    syncId: 'p4',
    mode: 'INCREMENTAL',
    complete: options.complete ?? true,
    startedAtMs: NOW_MS - (options.startedAgoMs ?? MINUTE_MS),
    rowsSeen: 3,
    rowsPublished: 2,
    rowsRejected: options.rejectedSince ?? 0,
    rowsRemoved: 1,
    rowsWithheld: options.withheldSince ?? 0,
    totalAtStart: null,
    totalAtEnd: null,
    watermarkMs: NOW_MS - watermarkAgoMs,
    offsets: {},
    lastCompleteFull:
      fullAgoMs === null
        ? null
        : {
            syncId: 'p1',
            startedAtMs: NOW_MS - fullAgoMs,
            offsets: {},
            rows: 598,
            rowsRejected: rejected,
            rowsWithheld: withheld,
          },
  };
}

function heldWith(rows: number): Progress {
  return {
    ...progress({ withheldSince: rows }),
    deletions: {
      settledBy: 'p1',
      day: '2026-11-20',
      removed: 0,
      heldSinceMs: NOW_MS - HOUR_MS,
      why: 'too many',
      approval: null,
    },
  };
}

function facts(collection: CollectionName, options: Partial<CollectionFacts> = {}): CollectionFacts {
  return {
    collection,
    hasIncremental: true,
    deltaEveryMs: MINUTE_MS,
    fullPull: { at: '04:00', timeZone: 'Europe/Oslo' },
    progress: progress(),
    rowsLate: 0,
    isFilterMute: false,
    rowsInKafka: null,
    rowsAtHub: null,
    isWaiting: false,
    running: null,
    ...options,
  };
}

function statusOf(
  collections: readonly CollectionFacts[],
  isOwnerAlive: boolean | null = true,
  owner: string | null = 'vm-1',
  more: Partial<
    Pick<
      TenantFacts,
      'notOffered' | 'wrongTenant' | 'contradictions' | 'reported' | 'areAbsencesLost' | 'nowMs'
    >
  > = {},
) {
  return tenantStatus({
    tenant: 'north',
    deltaOverlapMs: 5 * MINUTE_MS,
    collections,
    owner: owner === null ? null : { owner, ownedSinceMs: NOW_MS - HOUR_MS },
    isOwnerAlive,
    notOffered: [],
    wrongTenant: [],
    contradictions: null,
    nowMs: NOW_MS,
    ...more,
  });
}

describe('the headline', () => {
  it('is "all well" when everything is as promised', () => {
    expect(statusOf([facts('users'), facts('orgs')])).toMatchObject({ state: 'well', headline: 'all well' });
  });

  it('is not "all well" when no process is running, and the reasons say so, too', () => {
    const ownerless = statusOf([facts('users')], false);
    expect(ownerless).toMatchObject({
      state: 'in-trouble',
      headline: 'owner: no process mirrors the tenant',
      reasons: [{ part: 'owner', why: 'no process mirrors the tenant' }],
    });
    expect(statusOf([facts('users')], null)).toMatchObject({ headline: 'all well', reasons: [] });
  });

  it('is the first reason, causes before consequences', () => {
    const reported = [
      { part: 'pipeline', why: 'not mirrored', remedy: '' },
      { part: 'kafka', why: 'Kafka is away', remedy: 'Start Kafka.' },
    ] as const;
    expect(statusOf([facts('users')], false, 'vm-1', { reported })).toMatchObject({
      state: 'in-trouble',
      headline: 'kafka: Kafka is away',
      reasons: [{ part: 'kafka' }, { part: 'pipeline' }],
    });
  });

  it('needs a person while deletions are withheld, before all other states', () => {
    const held = facts('users', { progress: { ...heldWith(51), watermarkMs: NOW_MS - 90 * HOUR_MS } });
    expect(statusOf([held, facts('orgs', { progress: null })])).toMatchObject({
      state: 'needs-person',
      headline: 'needs a decision: 51 deletions are withheld in users',
    });
  });

  it('needs a decision while absences are lost, and names the command for it', () => {
    const lost = statusOf([facts('absence-versions')], true, 'vm-1', { areAbsencesLost: true });
    expect(lost.state).toBe('needs-person');
    expect(lost.headline).toContain('ABSENCES_LOST');
    expect(lost.decisions[0]?.commands).toEqual([
      'rollcall state rebuild --tenant north --collection absences --anew --yes',
    ]);
  });

  it('needs a person while the hub gives another tenant’s rows, before even that', () => {
    const held = facts('users', { progress: heldWith(51) });
    expect(statusOf([held], true, 'vm-1', { wrongTenant: ['users', 'orgs'] })).toMatchObject({
      state: 'needs-person',
      headline:
        'needs a decision: almost none of the rows that the hub returns for users, orgs match the published ones',
    });
  });

  it('counts what waits because of another collection, as long as that one is held', () => {
    const waiting = facts('orgs', { progress: progress({ withheldSince: 2 }) });
    const both = statusOf([facts('users', { progress: heldWith(51) }), waiting]);
    expect(both.headline).toBe('needs a decision: 53 deletions are withheld in users, orgs');
    expect(both.decisions).toHaveLength(1);
    expect(statusOf([facts('users'), waiting])).toMatchObject({ state: 'well' });
  });

  it('is not "all well" for a collection that lost its last full sync', () => {
    const lost = facts('users', { progress: progress({ fullAgoMs: null, complete: false }) });
    expect(statusOf([lost, facts('orgs')])).toMatchObject({
      state: 'loading',
      headline: 'load: never loaded completely: users',
    });
    expect(statusOf([lost, facts('orgs')], false)).toMatchObject({ state: 'in-trouble' });
  });

  it('counts rejected rows', () => {
    const some = facts('users', { progress: progress({ rejected: 11 }) });
    const one = facts('orgs', { progress: progress({ rejectedSince: 1 }) });
    expect(statusOf([some, one])).toMatchObject({ state: 'well', headline: 'all well, 12 rows rejected' });
    expect(statusOf([one], false).headline).toBe('owner: no process mirrors the tenant, 1 row rejected');
  });

  it('names what the first load has still to read', () => {
    const status = statusOf([
      facts('users'),
      facts('orgs', { progress: progress({ fullAgoMs: null }) }),
      facts('classes', { progress: null }),
    ]);
    expect(status).toMatchObject({
      state: 'loading',
      headline: 'load: never loaded completely: orgs, classes',
    });
  });

  it('reports a full sync that waits for its turn only when it is late', () => {
    const waiting = facts('users', { isWaiting: true, progress: progress({ fullAgoMs: 28 * HOUR_MS }) });
    const inTime = statusOf([waiting], true, 'vm-1', { nowMs: NOW_MS - 3 * HOUR_MS });
    expect(inTime).toMatchObject({ headline: 'all well', collections: [{ isWaiting: true }] });
    expect(statusOf([waiting]).headline).toBe(
      'full: users: its daily full sync was due 5 h ago, and waits for its turn',
    );
  });

  it('reports a daily full sync that did not happen', () => {
    expect(statusOf([facts('users', { progress: progress({ fullAgoMs: 28 * HOUR_MS }) })])).toMatchObject({
      state: 'late',
      headline: 'full: users: its daily full sync was due 5 h ago',
    });
  });

  it('does not call a full sync late that began in the night', () => {
    expect(statusOf([facts('users', { progress: progress({ fullAgoMs: 5 * HOUR_MS }) })]).state).toBe('well');
  });

  it('reports incremental syncs that stopped', () => {
    const behind = progress({ watermarkAgoMs: 3 * HOUR_MS });
    expect(statusOf([facts('users', { progress: behind })]).headline).toBe(
      'watermark: users: changes of the last 3 h are not published',
    );
    expect(statusOf([facts('class-students', { progress: behind, hasIncremental: false })]).state).toBe(
      'well',
    );
  });
});

describe('contradictory absences', () => {
  it('are counted in the headline and need no person', () => {
    const three = statusOf([facts('users')], true, 'vm-1', { contradictions: 3 });
    expect(three).toMatchObject({ state: 'well', headline: 'all well, 3 contradictory absences' });
  });

  it('are not mentioned where there are none', () => {
    const none = statusOf([facts('users')], true, 'vm-1', { contradictions: 0 });
    expect(none.headline).toBe('all well');
  });
});

describe('a collection derived from absence-versions', () => {
  const derived = (options: Partial<CollectionFacts> = {}) => [
    facts('absence-versions', options),
    facts('absences', options),
    facts('absence-changes', options),
  ];

  it('is not reported a second time as late, withheld or rejected', () => {
    const late = statusOf(derived({ progress: progress({ fullAgoMs: 28 * HOUR_MS }) }));
    expect(late.headline).toBe('full: absence-versions: its daily full sync was due 5 h ago');
    const withheld = statusOf(derived({ progress: heldWith(51) }));
    expect(withheld.headline).toBe('needs a decision: 51 deletions are withheld in absence-versions');
    const rejected = statusOf(derived({ progress: progress({ rejected: 2 }) }));
    expect(rejected.headline).toBe('all well, 2 rows rejected');
  });

  it('is not listed beside its source in a first load', () => {
    expect(statusOf([facts('users'), ...derived({ progress: progress({ fullAgoMs: null }) })])).toMatchObject(
      {
        state: 'loading',
        headline: 'load: never loaded completely: absence-versions',
      },
    );
  });

  it('is still loading when it was only just switched on', () => {
    const lacking = derived({ progress: null }).slice(1);
    expect(statusOf([facts('absence-versions'), ...lacking])).toMatchObject({
      state: 'loading',
      headline: 'load: never loaded completely: absences, absence-changes',
    });
  });

  it('is not waited for where the hub has no absences', () => {
    const status = statusOf([facts('users'), ...derived({ progress: null })], true, 'vm-1', {
      notOffered: ['absence-versions'],
    });
    expect(status.headline).toBe('all well; the hub does not offer absence-versions');
    expect(status.collections.map(({ isNotOffered }) => isNotOffered)).toEqual([false, true, true, true]);
  });

  it('that is not offered is neither counted nor late', () => {
    const schedules = facts('schedules', {
      progress: progress({ fullAgoMs: 90 * HOUR_MS, complete: false }),
    });
    const notOffered = ['absence-versions', 'schedules'];
    const more = { notOffered };
    const collections = [facts('users'), facts('orgs', { progress: null }), ...derived({ progress: null })];
    expect(statusOf([...collections, schedules], true, 'vm-1', more).headline).toBe(
      'load: never loaded completely: orgs; the hub does not offer absence-versions, schedules',
    );
    expect(statusOf([facts('users'), schedules], false, 'vm-1', more).headline).toBe(
      'owner: no process mirrors the tenant; the hub does not offer absence-versions, schedules',
    );
  });

  it('that is the only one and not offered means that the address is wrong', () => {
    const status = statusOf([facts('users', { progress: null })], true, 'vm-1', { notOffered: ['users'] });
    expect(status).toMatchObject({
      headline: 'load: the hub offers none of the collections; the hub does not offer users',
      reasons: [{ remedy: 'Check hub.baseUrl.' }],
    });
  });
});

describe('a collection', () => {
  it('shows what the last sync did, and the rows of the last complete full sync', () => {
    const [users] = statusOf([facts('users')]).collections;
    expect(users).toMatchObject({
      rows: 598,
      lastCompleteFull: new Date(NOW_MS - 4 * HOUR_MS).toISOString(),
      sync: { mode: 'INCREMENTAL', complete: true },
    });
  });

  it('counts the rejects since the last full sync', () => {
    const [users] = statusOf([
      facts('users', { progress: progress({ rejected: 1, rejectedSince: 4 }) }),
    ]).collections;
    expect(users?.rejected).toBe(4);
  });
});
