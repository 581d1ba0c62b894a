import type { Logger } from 'pino';
import type { Board } from './board.ts';

const SAY_EVERY_MS = 30_000;

/**
 * Logs how far the first load of each tenant of this process has got, whenever it has made progress. Disposing of the
 * result stops this.
 */
export function logFirstLoads(board: Pick<Board, 'tenants'>, logger: Logger): Disposable {
  let said: ReadonlyMap<string, string | null> = new Map();
  const timer = setInterval(() => {
    const loads = new Map(board.tenants.map((monitor) => [monitor.tenant, monitor.status().firstLoad]));
    for (const [tenant, firstLoad] of loads)
      if (firstLoad !== null && said.get(tenant) !== firstLoad) logger.info({ tenant }, firstLoad);
    said = loads;
  }, SAY_EVERY_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
