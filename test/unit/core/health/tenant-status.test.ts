import { expect, it } from 'vitest';
import type { CollectionFacts, TenantFacts } from '../../../../src/core/health/tenant-facts.ts';
import { tenantStatus } from '../../../../src/core/health/tenant-status.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { DeletionState } from '../../../../src/model/progress.ts';
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
  readonly nameless?: number;
  readonly rowsOnHold?: number;
  readonly isOnHold?: boolean;
  readonly isForeign?: boolean;
  readonly short?: DeletionState['short'];
}

function facts(collection: CollectionName, options: Options = {}): CollectionFacts {
  const { fullAgoMs = 4 * HOUR_MS, watermarkAgoMs = 6 * MINUTE_MS, complete = true, ...given } = options;
  const {
    rejected = 0,
    rejectedSince = 0,
    nameless = 0,
    rowsOnHold = 0,
    isOnHold,
    isForeign,
    short = null,
    ...more
  } = given;
  const onHoldSinceMs = isOnHold ? NOW_MS - HOUR_MS : null;
  const foreignSinceMs = isForeign ? NOW_MS - 2 * HOUR_MS : null;
  const day = { settledBy: 'p1', day: '2026-11-20', removed: 0, why: 'too many' };
  const notFound = { rowsNotFound: nameless > 0 ? 1 : 0, rowsWithoutId: nameless, rowsOnHold: 0 };
  const full = { syncId: 'p1', offsets: {}, rows: 598, rowsRejected: rejected, ...notFound };
  const progress = madeProgress({
    mode: 'INCREMENTAL',
    complete,
    startedAtMs: NOW_MS - MINUTE_MS,
    rowsRejected: rejectedSince,
    rowsOnHold,
    watermarkMs: NOW_MS - watermarkAgoMs,
    lastCompleteFull: fullAgoMs === null ? null : { ...full, startedAtMs: NOW_MS - fullAgoMs },
    deletions: { ...day, onHoldSinceMs, foreignSinceMs, short },
  });
  const fullSync = { at: '04:00', timeZone: 'Europe/Oslo' };
  const counts = { rowsLate: 0, unmet: [], rowsNow: null, rejectsNow: null, failing: null };
  const sync = { filterSelectsNothing: false, isWaiting: false, running: null };
  const incremental = { hasIncremental: true, incrementalEveryMs: MINUTE_MS };
  return { collection, ...incremental, fullSync, progress, ...counts, ...sync, ...more };
}

function statusOf(collections: readonly CollectionFacts[], more: Partial<TenantFacts> = {}) {
  return tenantStatus({
    tenant: 'north',
    incrementalOverlapMs: 5 * MINUTE_MS,
    collections,
    owner: { owner: 'vm-1', ownedSinceMs: NOW_MS - HOUR_MS },
    isOwnerAlive: true,
    notOffered: [],
    contradictions: null,
    nowMs: NOW_MS,
    ...more,
  });
}

/** The collections of absences. */
const derived = (options: Options = {}) =>
  (['absence-versions', 'absences', 'absence-changes'] as const).map((name) => facts(name, options));

const users = facts('users');
const orgs = (options: Options) => facts('orgs', options);
const notLoaded = { progress: null };
const late = { fullAgoMs: 28 * HOUR_MS };
const onHold = { rowsOnHold: 51, isOnHold: true };
const noOwner = { isOwnerAlive: false };
const lost = { fullAgoMs: null, complete: false };
const behind = { watermarkAgoMs: 3 * HOUR_MS };
const without = (...notOffered: string[]) => ({ notOffered });
const schedules = facts('schedules', { fullAgoMs: 90 * HOUR_MS, complete: false });
const reported = [
  { part: 'pipeline', why: 'not mirrored', remedy: '' },
  { part: 'hub', why: 'not asked yet', remedy: '' },
  { part: 'kafka', why: 'Kafka is away', remedy: 'Start Kafka.' },
] as const;
const foreign = { isForeign: true };
const LATE = 'its daily full sync was due 5 h ago';
const NEVER = 'loading | load: not loaded completely:';
const DECISION = 'needs-person | needs a decision:';
const FOREIGN =
  'almost none of the rows that the hub returns for users, orgs match the published ones (HUB_FOREIGN_DATA), for 2 h';
const ON_HOLD = 'rows are on hold in users, orgs, for 60 min';
const KAFKA = 'in-trouble | kafka: Kafka is away';
const NOBODY = 'in-trouble | owner: no process mirrors the tenant';

type Case = [expected: string, of: CollectionFacts[], more?: Partial<TenantFacts>];

it.each<Case>([
  ['well | all well', [users, orgs({ fullAgoMs: 5 * HOUR_MS })], { isOwnerAlive: null, contradictions: 0 }],
  [NOBODY, [users], noOwner],
  // causes come before consequences, a decision before all of them, and what stops everything before a decision
  [`${KAFKA}; needs a decision: 51 rows are on hold in users`, [facts('users', onHold)], { reported }],
  [`${NOBODY}; needs a decision: 51 rows are on hold in users`, [facts('users', onHold)], noOwner],
  [KAFKA, [users], { reported, ...noOwner }],
  [
    `${DECISION} 51 rows are on hold in users, for 60 min`,
    [facts('users', { ...onHold, ...behind }), orgs(notLoaded)],
  ],
  [`${DECISION} ${FOREIGN}`, [facts('users', { ...onHold, ...foreign }), orgs(foreign)]],
  // deletions of others wait for those on hold, and for nothing else
  [`${DECISION} 53 ${ON_HOLD}`, [facts('users', onHold), orgs({ rowsOnHold: 2 })]],
  ['well | all well', [users, orgs({ rowsOnHold: 2 })]],
  ['well | all well, 12 rows rejected', [facts('users', { rejected: 11 }), orgs({ rejectedSince: 1 })]],
  [`${NOBODY}, 1 row rejected`, [orgs({ rejectedSince: 1 })], noOwner],
  // what removes nothing says so, until a full sync is whole
  [
    'late | removals: orgs: removals wait, because rows without a readable sourcedId may be the ones that are missing',
    [users, orgs({ nameless: 2 })],
  ],
  [
    'late | removals: users: removals wait, because the hub shows 289 of the 299 rows that it counts',
    [facts('users', { short: { rows: 289, total: 299, repeated: 0, isCovered: true } })],
  ],
  ['well | all well, 3 contradictory absences', [users], { contradictions: 3 }],
  [`${NEVER} orgs, classes`, [users, orgs(lost), facts('classes', notLoaded)]],
  [`late | full: users: ${LATE}`, [facts('users', late)]],
  [`late | full: users: ${LATE}, and waits for its turn`, [facts('users', { isWaiting: true, ...late })]],
  ['well | all well', [facts('users', { isWaiting: true, ...late })], { nowMs: NOW_MS - 3 * HOUR_MS }],
  ['late | watermark: users: changes of the last 3 h are not published', [facts('users', behind)]],
  ['well | all well', [facts('class-students', { ...behind, hasIncremental: false })]],
  // what derives is as the versions are, unless it was only just switched on
  [`late | full: absence-versions: ${LATE}`, derived(late)],
  [`${DECISION} 51 rows are on hold in absence-versions, for 60 min`, derived(onHold)],
  ['well | all well, 2 rows rejected', derived({ rejected: 2 })],
  [`${NEVER} absence-versions`, [users, ...derived({ fullAgoMs: null })]],
  [`${NEVER} absences, absence-changes`, [facts('absence-versions'), ...derived(notLoaded).slice(1)]],
  [
    `${NEVER} orgs; the hub does not offer absence-versions, schedules`,
    [users, orgs(notLoaded), ...derived(notLoaded), schedules],
    without('absence-versions', 'schedules'),
  ],
  [
    'loading | load: the hub offers none of the collections; the hub does not offer users',
    [facts('users', notLoaded)],
    without('users'),
  ],
])(
  'a headline names what stops the tenant, then decisions, then other troubles (case %#)',
  (expected, collections, more) => {
    const { state, headline, ready, reasons, needsPerson } = statusOf(collections, more);
    expect(`${state} | ${headline}`).toBe(expected);
    const isReady = reasons.every(({ part }) => part === 'removals');
    expect([ready, needsPerson]).toEqual([isReady, headline.includes('needs a decision: ')]);
  },
);

it('the status of a tenant has all reasons, causes first, each with its remedy', () => {
  expect(statusOf([users], { reported, ...noOwner }).reasons).toMatchObject([
    { part: 'kafka', remedy: 'Start Kafka.' },
    { part: 'pipeline' },
    { part: 'hub' },
  ]);
  const { reasons } = statusOf([facts('users', notLoaded)], without('users'));
  expect(reasons).toMatchObject([{ remedy: 'Check hub.baseUrl.' }]);
});

it('while rows of a collection may be another tenant’s, the status offers no approval of removals', () => {
  const offered = (isForeign: boolean) =>
    statusOf([facts('schedules', onHold), facts('users', { isForeign })]).decisions.at(-1);
  expect(offered(false)?.question).toContain('prints the command that approves each part');
  expect(offered(true)).toMatchObject({
    question: expect.stringContaining('First find out whose rows the hub returns for users') as string,
    commands: ['rollcall deletes list --tenant north'],
    since: new Date(NOW_MS - HOUR_MS).toISOString(),
  });
});

it('the status of a tenant has one decision for all rows on hold, and one for lost absences', () => {
  expect(statusOf([facts('users', onHold), orgs({ rowsOnHold: 2 })]).decisions).toHaveLength(1);
  const { headline, decisions } = statusOf([users], { areAbsencesLost: true });
  expect(headline).toContain('ABSENCES_LOST');
  const command = 'rollcall topics recreate absences --tenant north --yes';
  expect(decisions.map(({ commands }) => commands)).toEqual([[command]]);
});

it('the status of a tenant shows the last syncs of a collection, and whether a full sync waits', () => {
  const rejecting = facts('users', { rejected: 1, rejectedSince: 4, isWaiting: true });
  const { collections } = statusOf([rejecting, ...derived(notLoaded)], without('absence-versions'));
  expect(collections[0]).toMatchObject({
    rowsThen: 598,
    rejected: 4,
    isWaiting: true,
    sync: { mode: 'INCREMENTAL', complete: true },
    lastCompleteFull: new Date(NOW_MS - 4 * HOUR_MS).toISOString(),
  });
  expect(collections.map(({ isNotOffered }) => isNotOffered)).toEqual([false, true, true, true]);
});
