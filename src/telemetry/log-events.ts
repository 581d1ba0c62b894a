import type { Logger } from 'pino';
import { COVERED_REMEDY, SHORT_REMEDY } from '../core/deletions/evidence.ts';
import { UNMET_REMEDY } from '../core/rows/unmet-settings.ts';
import { explainLate } from '../core/watermark.ts';
import { describeError, type RollcallError } from '../errors.ts';
import type { HubEvent } from '../core/hub-events.ts';
import { commonestReasons, type DerivedTally } from '../core/sync-stats.ts';
import type { DeletionEvent, PipelineEvent } from '../core/pipeline-events.ts';
import { INCONCLUSIVE_REMEDY } from './collection-monitor.ts';

const DELETION_WORDS = {
  hold: 'a person must decide about missing rows, and they are not removed until then',
  healed: 'all rows of this collection that were missing are back: its removals need no decision any more',
  missing: 'rows are missing: they are removed if another full sync does not find them either',
  approved: 'removals that a person approved are published',
  accepted: 'a person has accepted rows that do not match the published ones',
} as const;

const COVERED = 'removals wait, because the hub counts more rows than it returned';

const MOST_REASONS = 3;

const PUBLISHED_WHILE_OPEN =
  'absences are published although the hub did not answer when asked for versions that they refer to';

/** Returns the counts above zero; null if there is none, as for a collection without absences. */
function nonZero(tally: Readonly<DerivedTally>): Partial<DerivedTally> | null {
  const counted = Object.entries(tally).filter(([, count]) => count > 0);
  return counted.length === 0 ? null : Object.fromEntries(counted);
}

/** The effects of a hub that does not keep to its specification, by the names of their counts. */
const DEVIATIONS = [
  [
    'rowsRepeated',
    'the hub lists ids more than once with different content: the first row of each id counts, and the others are ignored',
  ],
  [
    'rowsOlder',
    'the hub returned rows that are older than the published ones, and Rollcall publishes them; a replica of the hub may be lagging',
  ],
  ['notShown', 'the hub does not show versions that absences refer to: such an absence may have two ids'],
  ['idsNotAsked', 'absences refer to more versions than the hub is asked for in one sync'],
] as const;

/**
 * Returns a function that logs events; usual events only count in metrics. `isNews`: false for a failure that is logged
 * already.
 */
export function createEventLog(
  logger: Logger,
): (tenant: string, event: PipelineEvent, isNews: boolean) => void {
  const said = new Set<string>();
  const recovered = new Map<string, CaughtUp[]>();
  /** The collections with a logged failure and no success since then, each as `<tenant>/<collection>`. */
  const failing = new Set<string>();
  return (tenant, event, isNews) => {
    const own = logger.child({ tenant });
    if (event.type === 'owned') recovered.set(tenant, []);
    if (event.type === 'caught-up') recovered.get(tenant)?.push(event);
    if (event.type === 'session-opened') {
      logRecovery(own, recovered.get(tenant) ?? []);
      recovered.delete(tenant);
    }
    if (event.type === 'deletion') logDeletion(own, event.event, tenant);
    else logEvent(own, event, isNews);
    if (isNews && 'collection' in event && isFailure(event)) failing.add(`${tenant}/${event.collection}`);
    if (event.type !== 'sync-ended') return;
    const { collection, stats, unmet = [] } = event;
    if (event.outcome === 'complete' && failing.delete(`${tenant}/${collection}`))
      own.info({ collection }, 'the syncs of this collection succeed again');
    const isNewOf = (what: string): boolean => said.size < said.add(`${tenant}/${collection}/${what}`).size;
    for (const sentence of unmet)
      if (isNewOf(sentence)) own.warn({ collection, error: { remedy: UNMET_REMEDY } }, sentence);
    const counts = { ...stats, ...stats.absences };
    // Such a hub does this at every sync: one line for each collection is enough. The line names no id.
    for (const [name, words] of DEVIATIONS)
      if (counts[name] > 0 && isNewOf(name)) own.warn({ collection, [name]: counts[name] }, words);
  };
}

/** Whether the syncs of one collection fail, or prove nothing. */
function isFailure(event: PipelineEvent): boolean {
  return event.type === 'sync-failed' || (event.type === 'sync-ended' && event.outcome === 'inconclusive');
}

type CaughtUp = Extract<PipelineEvent, { type: 'caught-up' }>;
type SyncEnded = Extract<PipelineEvent, { type: 'sync-ended' }>;

/** One line for all collections of a tenant. */
function logRecovery(logger: Logger, collections: readonly CaughtUp[]): void {
  const counts = { rebuilt: 0, resumed: 0, current: 0, rows: 0 };
  for (const { how, rows } of collections) {
    counts[how] += 1;
    counts.rows += rows;
  }
  const why = [...new Set(collections.flatMap((each) => each.why || []))].join('; ') || null;
  logger.info({ ...counts, why }, 'the index equals the log');
}

function logEvent(logger: Logger, event: PipelineEvent, isNews: boolean): void {
  switch (event.type) {
    case 'owned':
      logger.info({ owner: event.owner }, 'the tenant is owned by this process');
      return;
    case 'throttled':
      logger[isNews ? 'warn' : 'debug']({ waitedMs: event.ms }, 'throttled by the broker');
      return;
    case 'topics-compared':
      logCompared(logger, isNews, event.mismatch);
      return;
    case 'caught-up': {
      const { collection, how, why, rows, rejects } = event;
      logger.debug({ collection, how, why, rows, rejects }, 'the index of a collection equals the log');
      return;
    }
    case 'session-opened':
      logger.info('mirroring');
      return;
    case 'session-failed':
    case 'tenant-failed':
      logFailure(logger, isNews, { error: event.error, retryInMs: event.retryInMs });
      return;
    case 'sync-ended':
      logSyncEnd(logger, event, isNews);
      return;
    case 'absences-published':
      logger.debug(
        { absences: nonZero(event.tally), publishedOpen: event.publishedOpen },
        'changes of absences are committed',
      );
      if (event.publishedOpen > 0) logger.warn({ publishedOpen: event.publishedOpen }, PUBLISHED_WHILE_OPEN);
      return;
    case 'sync-failed': {
      const { collection, mode, error, retryInMs } = event;
      logFailure(logger, isNews, { collection, mode, error, retryInMs });
      return;
    }
    case 'not-offered':
      logger[event.isNews ? 'warn' : 'debug'](
        { collection: event.collection, error: event.error },
        'the hub does not offer this collection; the others continue',
      );
      return;
    case 'hub':
      logHub(logger, event.event);
      return;
    default:
  }
}

/** At level info what an operator reads, at level debug also the other counts. */
function logSyncEnd(logger: Logger, event: SyncEnded, isNews: boolean): void {
  const { collection, outcome, why, short, durationMs, progress } = event;
  const { absences: tally, rejectReasons, ...stats } = event.stats;
  const { mode, rowsSeen, rowsCreated, rowsUpdated, rowsRemoved, rowsRejected } = stats;
  const absences = nonZero(tally);
  const changed = absences !== null || rowsCreated + rowsUpdated + rowsRemoved + rowsRejected > 0;
  const level = changed || outcome === 'inconclusive' ? 'info' : 'debug';
  const line = {
    collection,
    outcome,
    why,
    mode,
    durationMs,
    rowsSeen,
    rowsCreated,
    rowsUpdated,
    rowsRemoved,
    rowsRejected,
    /** The number of the last transaction. */
    sequence: progress?.sequence ?? null,
    ...(absences === null ? {} : { absences }),
    ...(rejectReasons.size === 0 ? {} : { rejectReasons: commonestReasons(event.stats, MOST_REASONS) }),
    ...(logger.isLevelEnabled('debug') ? stats : {}),
  };
  logger[level](line, 'a sync ended');
  // The next sync often proves what the first one did not, because rows came and went meanwhile.
  if (outcome === 'inconclusive' && isNews) {
    const remedy = short === null ? INCONCLUSIVE_REMEDY : SHORT_REMEDY;
    logger.warn({ collection, ...short, error: { remedy } }, `two syncs in a row were inconclusive: ${why}`);
  }
  if (outcome === 'complete' && short !== null)
    logger.warn({ collection, ...short, error: { remedy: COVERED_REMEDY } }, COVERED);
  if (stats.rowsLate)
    logger.warn({ collection, rowsLate: stats.rowsLate }, explainLate(stats.filterSelectsNothing));
}

/** Only the record of the decision says who decided and why, because this may name a person. */
function logDeletion(logger: Logger, event: DeletionEvent, tenant: string): void {
  const nobody = { by: undefined, from: undefined, reason: undefined };
  const isGoodOrUsual = event.kind === 'healed' || event.kind === 'missing';
  const remedy = `Run "rollcall status --tenant ${tenant}": it says what to decide, and with which command. The hold ends by itself when a full sync finds all of these rows.`;
  const todo = event.kind === 'hold' ? { error: { remedy } } : {};
  logger[isGoodOrUsual ? 'info' : 'warn']({ ...event, ...nobody, ...todo }, DELETION_WORDS[event.kind]);
}

function logCompared(logger: Logger, isNews: boolean, mismatch: RollcallError | null): void {
  if (mismatch !== null) logFailure(logger, isNews, { error: mismatch });
  else if (isNews) logger.info('the topics match the contract, and no right is missing any more');
}

function logFailure(logger: Logger, isNews: boolean, failure: Readonly<Record<string, unknown>>): void {
  logger[isNews ? 'warn' : 'debug'](failure, describeError(failure['error']));
}

function logHub(logger: Logger, event: HubEvent): void {
  switch (event.type) {
    case 'circuit-closed':
      logger.info(event, 'the hub answers again');
      return;
    case 'request-done':
    case 'request-failed':
    case 'request-retried':
    case 'token-obtained':
      logger.debug(event, 'hub');
      return;
    case 'paging-decided':
      if (event.why === null) logger.debug(event, 'hub');
      else logger.warn(event, 'the hub does not page by afterSourcedId; Rollcall pages in another way');
      return;
    case 'circuit-opened':
      logger.warn(event, 'the hub is not reachable, or answers only with errors: it is asked less often');
      return;
  }
}
