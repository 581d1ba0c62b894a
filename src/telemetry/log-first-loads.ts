import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Board } from './board.ts';

const SAY_EVERY_MS = 30_000;

/** Logs how far the first load of each tenant of this process is, whenever it has gone on, until the signal aborts. */
export async function logFirstLoads(
  board: Pick<Board, 'tenants'>,
  options: {
    readonly logger: Logger;
    readonly signal: AbortSignal;
    readonly sleep?: (ms: number) => Promise<void>;
  },
): Promise<void> {
  const { logger, signal } = options;
  const sleep = options.sleep ?? ((ms) => delay(ms, undefined, { signal }));
  let said: ReadonlyMap<string, string> = new Map();
  for (;;) {
    await sleep(SAY_EVERY_MS).catch(() => undefined);
    if (signal.aborted) return;
    const statuses = board.tenants.map((monitor) => monitor.status());
    const loads = statuses.flatMap(({ tenant, firstLoad }) =>
      firstLoad === null ? [] : [[tenant, firstLoad] as const],
    );
    for (const [tenant, firstLoad] of loads)
      if (said.get(tenant) !== firstLoad) logger.info({ tenant }, firstLoad);
    said = new Map(loads);
  }
}
