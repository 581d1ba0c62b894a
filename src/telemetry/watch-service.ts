import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, hasCode, RollcallError, type ErrorCode } from '../errors.ts';
import type { Board } from './board.ts';

/**
 * With these intervals and the time-out of a request, an outage shows within a minute. An outage of Redis shows within
 * 15 s, because asking Redis costs little.
 */
const ASK_EVERY_MS = { kafka: 20_000, registry: 20_000, redis: 4_000 } as const;

/**
 * A service that is not asked for anything while nothing changes. Without a watch, its outage would show only at the
 * next change.
 */
export interface WatchedService {
  readonly part: keyof typeof ASK_EVERY_MS;
  /** The name of the service in the middle of a sentence. */
  readonly name: string;
  /** Rejects when the service does not answer. */
  readonly ping: () => Promise<void>;
  /** The code of a refusal that counts as an answer, because Rollcall does not need the right that `ping` needs. */
  readonly refusal?: ErrorCode;
  /** What follows from the outage, as a sentence; left out: nothing is published. */
  readonly meanwhile?: string;
}

/** Asks a service whether it answers, until the signal aborts, and reports it as a part of each tenant's health. */
export async function watchService(
  service: WatchedService,
  options: {
    readonly board: Pick<Board, 'report'>;
    readonly logger: Logger;
    readonly signal: AbortSignal;
    readonly sleep?: (ms: number) => Promise<void>;
  },
): Promise<void> {
  const { part, name, ping, refusal } = service;
  const { board, logger, signal } = options;
  const sleep = options.sleep ?? ((ms) => delay(ms, undefined, { signal }));
  let isAway = false;
  for (;;) {
    await sleep(ASK_EVERY_MS[part]).catch(() => undefined);
    if (signal.aborted) return;
    const error = await ping().then(
      () => null,
      (failure: unknown) => (refusal !== undefined && hasCode(failure, refusal) ? null : failure),
    );
    if (signal.aborted) return;
    if (error === null && isAway) {
      board.report(part, null);
      logger.info(`${name} answers again`);
    } else if (error !== null) {
      board.report(part, reasonOf(error, service));
      if (!isAway) logger.warn({ error }, describeError(error));
    }
    isAway = error !== null;
  }
}

function reasonOf(error: unknown, service: WatchedService): { why: string; remedy: string } {
  const {
    name,
    meanwhile = `Meanwhile no change is published; the changes follow once ${service.name} is back.`,
  } = service;
  const why = describeError(error);
  if (!(error instanceof RollcallError)) return { why, remedy: `Check ${name}. ${meanwhile}` };
  return { why, remedy: error.reaction === 'retry' ? `${error.remedy} ${meanwhile}` : error.remedy };
}
