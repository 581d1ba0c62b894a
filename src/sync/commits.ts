import { TURNS_UNTIL_SENT } from '../hub/scan.ts';
import type { Runtime } from '../runtime.ts';
import type { RunningSync } from './sync.ts';

/**
 * Commits staged changes while the next page is on its way: when `everyMs` have passed since the last commit. If
 * `everyMs` is 0, it commits whenever the next page has not arrived yet. In a sync of many short scans, this would give
 * each scan a small transaction of its own.
 */
export function commitsOf({ own, sync, options }: RunningSync, everyMs: number) {
  const { writer, tenant } = own;
  const { runtime } = tenant;
  let lastMs = runtime.now();
  const now = async (): Promise<void> => {
    await writer.flush(sync);
    lastMs = runtime.now();
  };
  /** Commits what becomes due until the next page, or the end of the scan, has arrived. */
  const until = async (next: Promise<unknown>): Promise<void> => {
    next.catch(() => undefined);
    while (writer.hasPending && !options.signal.aborted) {
      const restMs = lastMs + everyMs - runtime.now();
      const isDue = restMs <= 0;
      if ((!isDue || everyMs === 0) && (await arrives(next, restMs, runtime))) return;
      if (isDue) await now();
    }
  };
  return { now, until };
}

/** Whether the next page, or the end of the scan, arrives within this time; with no time, whether it has arrived already. */
async function arrives(next: Promise<unknown>, withinMs: number, runtime: Runtime): Promise<boolean> {
  const arrived = next.then(
    () => true,
    () => true,
  );
  if (withinMs <= 0) return Promise.race([arrived, turnsOfLoop(runtime).then(() => false)]);
  const ending = new AbortController();
  const late = runtime.sleep(withinMs, ending.signal).catch(() => undefined);
  try {
    return await Promise.race([arrived, late.then(() => false)]);
  } finally {
    ending.abort();
  }
}

/**
 * Waits for some turns of the event loop. Even a page that has arrived already takes this many turns until the sync gets
 * it, because its scan first sends the request for the next page.
 */
async function turnsOfLoop({ turn }: Pick<Runtime, 'turn'>): Promise<void> {
  for (let turns = 0; turns <= TURNS_UNTIL_SENT; turns += 1) await turn();
}
