import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, RollcallError } from '../errors.ts';
import type { Health } from './reported-reasons.ts';

/** With the time-outs of a request, an outage shows within a minute. */
const ASK_EVERY_MS = 20_000;

/**
 * Asks the schema registry whether it answers, until the signal aborts, and reports it as a part of each tenant's health.
 * Rollcall itself asks it only at a take-over: a mirror that runs would not notice that no consumer can read.
 */
export async function watchRegistry(options: {
  /** Rejects when the registry does not answer. */
  readonly ping: () => Promise<void>;
  readonly tenants: readonly string[];
  readonly health: Health;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly sleep?: (ms: number) => Promise<void>;
}): Promise<void> {
  const { ping, tenants, health, logger, signal } = options;
  const sleep = options.sleep ?? ((ms) => delay(ms, undefined, { signal }));
  let isAway = false;
  for (;;) {
    await sleep(ASK_EVERY_MS).catch(() => undefined);
    if (signal.aborted) return;
    const error = await ping().then(() => null, whyAway);
    if (error === null && isAway) {
      for (const tenant of tenants) health.ready('registry', tenant);
      logger.info('the schema registry answers again');
    } else if (error !== null) {
      for (const tenant of tenants) health.notReady({ part: 'registry', tenant, ...reasonOf(error) });
      if (!isAway) logger.warn({ error }, describeError(error));
    }
    isAway = error !== null;
  }
}

/** A registry that refuses the list of subjects answers; the rights that Rollcall needs are those of its own subjects. */
function whyAway(error: unknown): unknown {
  return error instanceof RollcallError && error.code === 'REGISTRY_REFUSED' ? null : error;
}

function reasonOf(error: unknown): { why: string; remedy: string } {
  const remedy = error instanceof RollcallError ? error.remedy : 'Check registry.url.';
  return {
    why: describeError(error),
    remedy: `${remedy} Meanwhile Rollcall publishes with the schemas that it knows; consumers may be unable to read.`,
  };
}
