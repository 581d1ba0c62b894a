import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import type { HubEvent } from '../hub/events.ts';
import type { ChainTally } from '../pipeline/chains/chain-task.ts';
import type { PipelineEvent } from '../pipeline/events.ts';
import { commonestReasons } from '../pipeline/sync-stats.ts';

const DELETION_WORDS = {
  withheld: 'deletions wait for a person',
  approved: 'deletions that a person has approved are published',
  discarded: 'a person has discarded the deletions that waited; nothing was removed',
  waiting: 'deletions wait for a person since before this process began',
  unproven: 'a full pass proved nothing; nothing is removed',
  short: 'the hub counts more rows than it gave; it is read again',
  'second-pass': 'deletions wait for a second pass to miss the same rows',
} as const;

const MOST_REASONS = 3;
const LATE_ROWS =
  'the hub shows rows later behind their stamps than deltaOverlap: deltas missed them until this full pass; raise it';

const PUBLISHED_WHILE_OPEN =
  'absences were told by the best that is known: the hub did not say what became of versions that they refer to';

/** Null if nothing was counted, as where the collection has no chains. */
function nonZero(tally: Readonly<ChainTally>): Partial<ChainTally> | null {
  const counted = Object.entries(tally).filter(([, count]) => count > 0);
  return counted.length === 0 ? null : Object.fromEntries(counted);
}

/** Metrics for the usual, lines for the unusual. `isNews`: false for a failure that was told before. */
export function logEvent(logger: Logger, event: PipelineEvent, isNews: boolean): void {
  switch (event.type) {
    case 'owned':
      logger.info({ owner: event.owner }, 'the tenant is owned by this process');
      return;
    case 'caught-up': {
      const { collection, how, why, rows, rejects } = event;
      logger.info({ collection, how, why, rows, rejects }, 'the index equals the log');
      return;
    }
    case 'session-opened':
      logger.info('mirroring');
      return;
    case 'session-failed':
      logger[isNews ? 'warn' : 'debug'](
        { error: event.error, retryInMs: event.retryInMs },
        describeError(event.error),
      );
      return;
    case 'pass-ended': {
      const { collection, outcome, why, durationMs } = event;
      const { chains, late, rejectReasons, ...stats } = event.stats;
      const absences = nonZero(chains);
      const changed = absences !== null || stats.rowsCreated + stats.rowsUpdated + stats.rowsRemoved > 0;
      const level = outcome === 'suspect' ? 'warn' : stats.mode === 'FULL' || changed ? 'info' : 'debug';
      const told = {
        ...(absences === null ? {} : { absences }),
        ...(rejectReasons.size === 0 ? {} : { rejectReasons: commonestReasons(event.stats, MOST_REASONS) }),
      };
      logger[level]({ collection, outcome, why, durationMs, ...stats, ...told }, 'a pass ended');
      if (late !== null && late.rows > 0) logger.warn({ collection, ...late }, LATE_ROWS);
      return;
    }
    case 'chains-told':
      logger.debug(
        { absences: nonZero(event.tally), toldOpen: event.toldOpen },
        'changes of absences are committed',
      );
      if (event.toldOpen > 0) logger.warn({ toldOpen: event.toldOpen }, PUBLISHED_WHILE_OPEN);
      return;
    case 'pass-failed': {
      const { collection, mode, error, retryInMs } = event;
      logger[isNews ? 'warn' : 'debug']({ collection, mode, error, retryInMs }, describeError(error));
      return;
    }
    case 'not-offered':
      logger[event.isNews ? 'warn' : 'debug'](
        { collection: event.collection, error: event.error },
        'the hub does not offer this collection; the others go on',
      );
      return;
    case 'deletion':
      if (event.event.kind === 'waiting' && event.event.rows === 0) return;
      logger.warn(event.event, DELETION_WORDS[event.event.kind]);
      return;
    case 'purged': {
      const { collection, afterschool, rows, rejects } = event;
      logger.warn({ collection, afterschool, rows, rejects }, 'a person has purged what is not configured');
      return;
    }
    case 'hub':
      logHub(logger, event.event);
      return;
    default:
  }
}

function logHub(logger: Logger, event: HubEvent): void {
  switch (event.type) {
    case 'request-done':
    case 'request-failed':
    case 'request-retried':
    case 'token-obtained':
    // Rows that come and go while a list is read leave its total behind: usual on a living hub.
    case 'total-unreliable':
      logger.debug(event, 'hub');
      return;
    case 'circuit-closed':
      logger.info(event, 'the hub answers again');
      return;
    default:
      logger.warn(event, 'the hub is unlike its specification, or unwell');
  }
}
